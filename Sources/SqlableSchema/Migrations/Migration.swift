import SqlableCore

/// A change of a database from one release of a program to the next: a name, and work that runs once.
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
/// Never change a migration that has run anywhere: the database stores a checksum of the migration's content. The
/// checksum covers the text of SQL, the encoded form of statements, or the `revision` of Swift code.
public struct Migration: Sendable {
  public let name: String
  /// The SHA-256 of the migration's kind and content, in hexadecimal digits.
  public let checksum: String
  let isCode: Bool
  let work: Work
  /// The work on a database without a handle, such as a cluster; nil if the work needs a handle.
  package let remoteWork: RemoteWork?

  package enum Work: Sendable {
    /// Runs once, in a transaction that also records the migration.
    case whole(@Sendable (SqliteDatabase) throws -> Void)
    /// Runs in batches. The closure receives the result of the previous batch, and returns nil after the last batch.
    case batches(@Sendable (SqliteDatabase, Int?) throws -> Int?)
  }

  package enum RemoteWork: Sendable {
    case whole(@Sendable (any AsyncSqlExecutor) async throws -> Void)
    case batches(@Sendable (any AsyncSqlExecutor, Int?) async throws -> Int?)
  }

  package init(_ name: String, kind: String, content: String, _ work: Work, _ remoteWork: RemoteWork? = nil) {
    self.name = name
    isCode = kind == "code"
    self.work = work
    self.remoteWork = remoteWork
    checksum = SHA256.hex(Array(kind.utf8) + [0] + Array(content.utf8))
  }

  /// Creates a migration from SQL text, which can contain several statements.
  public init(_ name: String, sql: String) {
    self.init(
      name, kind: "sql", content: sql, .whole { try $0.execute(sql) },
      .whole { db in for statement in sql.statementTexts { try await db.execute(SQL(verbatim: statement)) } })
  }

  /// Creates a migration from Swift code.
  ///
  /// Changing `revision` makes a different migration: the program then rejects databases that have run the old
  /// revision.
  public init(_ name: String, revision: Int = 1, _ body: @escaping @Sendable (SqliteDatabase) throws -> Void) {
    self.init(name, kind: "code", content: "\(revision)", .whole(body))
  }

  /// Creates a migration that runs in batches, each in a separate transaction, so that other connections can read and
  /// write between batches.
  ///
  /// ```swift
  /// Migration(batches: "lower names") { db, last in
  ///   let ids = try db.query("SELECT id FROM bicycle WHERE id > \(last ?? 0) ORDER BY id LIMIT 1000", as: Int.self)
  ///   guard let end = ids.last else { return nil }
  ///   try db.execute("UPDATE bicycle SET name = lower(name) WHERE id > \(last ?? 0) AND id <= \(end)")
  ///   return end
  /// }
  /// ```
  ///
  /// `body` receives the result of the previous batch, or nil for the first batch, and returns nil after the last
  /// batch. Each batch stores its result in the same transaction. A migration that was stopped or killed continues
  /// after its last committed batch.
  public init(
    batches name: String, revision: Int = 1, _ body: @escaping @Sendable (SqliteDatabase, Int?) throws -> Int?
  ) {
    self.init(name, kind: "batches", content: "\(revision)", .batches(body))
  }
}

package struct MigrationRecord: Sqlable, Equatable {
  package static let tableName = Migrations.tableName
  package static let position = column("position", Int.self, PrimaryKey())
  static let name = column("name", String.self, Unique())
  static let checksum = column("checksum", String.self)
  static let isDone = column("is_done", Bool.self)
  /// The last number that a batch returned; NULL if no batch has returned a number.
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
