import SqlableCore

/// A change of a database from one release of a program to the next: a name, and what is done once.
///
/// ```swift
/// let migrations = Migrations([
///   Migration("bicycles", sql: "CREATE TABLE bicycle (id INTEGER PRIMARY KEY, colour TEXT)"),
///   Migration("color", sql: "ALTER TABLE bicycle RENAME COLUMN colour TO color"),
///   Migration("lower case", revision: 1) { db in
///     try db.execute("UPDATE bicycle SET color = lower(color)")
///   },
/// ])
/// try migrations.apply(db)
/// ```
///
/// Once it has run somewhere it must stay as it is: what it is gives it a checksum, which the database keeps. SQL has
/// that of its text, statements that of their data; Swift code has that of its `revision`.
public struct Migration: Sendable {
  public let name: String
  /// A SHA-256 of what it does, in hexadecimal digits.
  public let checksum: String
  let work: Work
  /// What it does where no handle is; nil for what needs one.
  package let remoteWork: RemoteWork?

  package enum Work: Sendable {
    /// Runs in a transaction with the record that it has run.
    case whole(@Sendable (SqliteDatabase) throws -> Void)
    /// Gets what the batch before it returned, and returns nil after the last one.
    case batches(@Sendable (SqliteDatabase, Int?) throws -> Int?)
  }

  package enum RemoteWork: Sendable {
    case whole(@Sendable (any AsyncSqlExecutor) async throws -> Void)
    case batches(@Sendable (any AsyncSqlExecutor, Int?) async throws -> Int?)
  }

  package init(_ name: String, kind: String, content: String, _ work: Work, _ remoteWork: RemoteWork? = nil) {
    self.name = name
    self.work = work
    self.remoteWork = remoteWork
    checksum = SHA256.hex(Array(kind.utf8) + [0] + Array(content.utf8))
  }

  /// A migration of SQL text, which may hold several statements.
  public init(_ name: String, sql: String) {
    self.init(
      name, kind: "sql", content: sql, .whole { try $0.execute(sql) },
      .whole { db in for statement in sql.statementTexts { try await db.execute(SQL(verbatim: statement)) } })
  }

  /// A migration in Swift. Another `revision` makes it another migration: a program that has it refuses databases that
  /// have run the first.
  public init(_ name: String, revision: Int = 1, _ body: @escaping @Sendable (SqliteDatabase) throws -> Void) {
    self.init(name, kind: "code", content: "\(revision)", .whole(body))
  }

  /// A migration in batches, each in a transaction of its own, so that readers and other writers go on.
  ///
  /// ```swift
  /// Migration(batches: "totals") { db, last in
  ///   let rest = Bicycle.select(Bicycle.id).filter(Bicycle.id > (last ?? 0))
  ///   let ids = try rest.orderBy(Bicycle.id).limit(1_000).run(db)
  ///   try Bicycle.update(Bicycle.total.set(to: Bicycle.price * 2)).filter(Bicycle.id.in(ids)).run(db)
  ///   return ids.last
  /// }
  /// ```
  ///
  /// `body` gets what the batch before it returned, nil for the first, and returns nil after the last one. That number
  /// is stored with each batch: a migration that was stopped, or killed, goes on where it was.
  public init(
    batches name: String, revision: Int = 1, _ body: @escaping @Sendable (SqliteDatabase, Int?) throws -> Int?
  ) {
    self.init(name, kind: "batches", content: "\(revision)", .batches(body))
  }
}

/// The record of a migration in the database.
package struct MigrationRecord: Sqlable, Equatable {
  package static let tableName = Migrations.tableName
  package static let position = column("position", Int.self, PrimaryKey())
  static let name = column("name", String.self, Unique())
  static let checksum = column("checksum", String.self)
  static let isDone = column("is_done", Bool.self)
  /// What the last batch returned.
  static let progress = column("progress", Int?.self)
  package static let tableLayout = [position.column, name.column, checksum.column, isDone.column, progress.column]

  var position: Int
  var name: String
  var checksum: String
  var isDone: Bool
  package var progress: Int?
}

extension MigrationRecord {
  package init(row: ReadRow) throws {
    position = try row.get(MigrationRecord.position)
    name = try row.get(MigrationRecord.name)
    checksum = try row.get(MigrationRecord.checksum)
    isDone = try row.get(MigrationRecord.isDone)
    progress = try row.get(MigrationRecord.progress)
  }

  package func write(to row: inout RowWriter) throws {
    row.set(MigrationRecord.position, position)
    row.set(MigrationRecord.name, name)
    row.set(MigrationRecord.checksum, checksum)
    row.set(MigrationRecord.isDone, isDone)
    row.set(MigrationRecord.progress, progress)
  }
}
