import SqlableCore

/// A statement about a whole database: VACUUM, ANALYZE, REINDEX, ATTACH or DETACH.
///
/// ```swift
/// try await DatabaseStatement.vacuum().run(pool)                 // VACUUM
/// try DatabaseStatement.vacuum(into: path).run(db)               // VACUUM INTO ?
/// try DatabaseStatement.analyze("bicycle").run(db)               // ANALYZE main."bicycle"
/// try DatabaseStatement.attach(path, as: "archive").run(db)      // ATTACH ? AS "archive"
/// ```
///
/// SQLite refuses VACUUM and DETACH inside a transaction; a pool runs them outside of a transaction. On a pool, ATTACH
/// throws `.misuse`: list the file in ``Configuration/attached``, or use `withWriter`. A cluster refuses VACUUM, ATTACH
/// and DETACH. Running the statement throws the errors of its SQL. An empty name or path throws `.misuse`, and so does
/// a name or path with a NUL byte.
public struct DatabaseStatement: Sendable, Hashable, Codable {
  private enum Form: Hashable, Codable {
    case vacuum
    case vacuumInto(String)
    case analyze(String?)
    case reindex(String?)
    case attach(String, name: String)
    case detach(String)
  }

  private let form: Form

  /// Rebuilds the database file without free pages. The rowids of a table that declares no integer key can change.
  public static func vacuum() -> DatabaseStatement { DatabaseStatement(form: .vacuum) }

  /// Writes a copy without free pages into a new file. Running the statement throws `.other` if a file with content
  /// exists at the path.
  public static func vacuum(into path: String) -> DatabaseStatement { DatabaseStatement(form: .vacuumInto(path)) }

  /// Collects statistics of a table or index, or of all tables. SQLite uses the statistics to choose indexes.
  public static func analyze(_ name: String? = nil) -> DatabaseStatement { DatabaseStatement(form: .analyze(name)) }

  /// Rebuilds an index, the indexes of a table, or all indexes: for example after a change of a ``Collation``.
  public static func reindex(_ name: String? = nil) -> DatabaseStatement { DatabaseStatement(form: .reindex(name)) }

  /// Attaches another file to the handle. In SQL, the prefix `name` refers to the tables of the attached file.
  public static func attach(_ path: String, as name: String) -> DatabaseStatement {
    DatabaseStatement(form: .attach(path, name: name))
  }

  /// Detaches a file from the handle.
  public static func detach(_ name: String) -> DatabaseStatement { DatabaseStatement(form: .detach(name)) }

  private var text: SQL {
    switch form {
    case .vacuum: "VACUUM"
    case .vacuumInto(let path): "VACUUM INTO \(path)"
    case .analyze(nil): "ANALYZE"
    case .analyze(let name?): "ANALYZE main.\(table: name)"
    case .reindex(nil): "REINDEX"
    case .reindex(let name?): "REINDEX main.\(table: name)"
    case .attach(let path, let name): "ATTACH \(path) AS \(table: name)"
    case .detach(let name): "DETACH \(table: name)"
    }
  }

  private var names: [String] {
    switch form {
    case .vacuum, .analyze(nil), .reindex(nil): []
    case .vacuumInto(let name), .analyze(let name?), .reindex(let name?), .detach(let name): [name]
    case .attach(let path, let name): [path, name]
    }
  }

  private func checked() throws -> SQL {
    guard names.allSatisfy({ !$0.isEmpty && !$0.utf8.contains(0) }) else {
      throw SqlError.misuse("the name or path in \(text.text) can't be empty or contain a NUL byte")
    }
    return text
  }
}

extension DatabaseStatement: Runnable, WrappingWork {
  package var wrapped: SQL { text }

  public func requests() throws -> [SqlRequest] { try checked().requests() }

  @_disfavoredOverload
  public func run(_ db: SqliteDatabase) throws { try db.execute(checked()) }

  public func run(over transport: some SqlTransport) async throws { try await checked().run(over: transport) }
}
