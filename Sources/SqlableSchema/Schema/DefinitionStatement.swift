import SqlableCore

/// A statement that changes the schema: ``CreateStatement``, ``AlterStatement``, ``DropStatement`` or ``Trigger``.
///
/// ```swift
/// let steps: [any DefinitionStatement] = [
///   AlterStatement.renameTable("bike", to: "bicycle"), Bicycle.createIndex(Index(Bicycle.color)),
/// ]
/// try db.transaction { db in for step in steps { try step.run(db) } }
/// ```
///
/// `description` is the first SQL text of the statement, or a comment with the error if the statement can't be run. All
/// texts of a statement run in one transaction, on a handle, a pool or a remote database. Clients can't send these
/// statements as documents.
public protocol DefinitionStatement: Runnable, Hashable where Output == Void {}

/// The members of a definition statement that only the library uses. Every definition statement of the library
/// conforms.
package protocol WrittenDefinition: DefinitionStatement {
  /// Returns the SQL texts in the order in which they run. Throws if the statement can't be run.
  ///
  /// - Parameter db: The handle that runs the texts. Its SQLite version determines how numbers are written as exact
  ///   literals. If nil, numbers are written as the shortest literals.
  func texts(for db: SqliteDatabase?) throws -> [String]
}

extension WrittenDefinition {
  public var sql: String {
    do { return try texts(for: nil).first ?? "" } catch { return SqlError.comment(error) }
  }

  public var isReadOnly: Bool { false }

  public func requests() throws -> [SqlRequest] {
    try texts(for: nil).map { SqlRequest(sql: $0, values: [], isReadOnly: false) }
  }

  @_disfavoredOverload
  public func run(_ db: SqliteDatabase) throws {
    try db.transaction { db in
      for text in try texts(for: db) { try db.execute(SQL(verbatim: text)) }
    }
  }

  public func run(over transport: some SqlTransport) async throws {
    _ = try await transport.answers(to: requests())
  }
}

extension SqlError {
  static func checkName(_ name: String, of object: String) throws {
    guard name.isEmpty || name.utf8.contains(0) else { return }
    throw SqlError.misuse("the name of a \(object) can't be empty or contain a NUL byte")
  }
}
