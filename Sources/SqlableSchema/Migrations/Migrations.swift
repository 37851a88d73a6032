import SqlableCore

/// The ordered migrations of a program.
///
/// ```swift
/// let migrations = Migrations(all, fresh: Schema(Person.self, Bicycle.self))
/// try migrations.apply(pool) { print("\($0.name): batch \($0.batch)") }
/// ```
///
/// The database stores the names and checksums of completed migrations in the table `sqlable_migration`. `Migrations`
/// is a value; threads can share it.
public struct Migrations: Sendable {
  /// The table that records which migrations a database has run.
  public static let tableName = "sqlable_migration"

  public let all: [Migration]
  /// The content that a new file gets instead of the migrations; nil if a new file runs all migrations.
  package let fresh: Fresh?

  package enum Fresh: Sendable {
    case schema(Schema)
    case code(@Sendable (SqliteDatabase) throws -> Void)
  }

  /// Creates the list from all migrations since the first release, oldest first. Add new migrations at the end.
  ///
  /// A new file gets the tables of the models in `fresh`, and skips the migrations.
  /// ``checkFreshSchema(configuration:)`` verifies that `fresh` and the migrations give the same schema.
  public init(_ migrations: [Migration], fresh schema: Schema? = nil) {
    (all, fresh) = (migrations, schema.map(Fresh.schema))
  }

  /// Creates the list from all migrations since the first release, oldest first.
  ///
  /// A new file runs `fresh` instead of the migrations.
  public init(_ migrations: [Migration], fresh: @escaping @Sendable (SqliteDatabase) throws -> Void) {
    (all, self.fresh) = (migrations, .code(fresh))
  }

  /// The state of the migrations in a database.
  public enum Status: Sendable, Hashable {
    /// All migrations have run.
    case current
    /// The named migrations have not run, or have run only in part.
    case pending([String])
    /// All migrations of the list have run. A newer program has also run the named migrations, which the list does not
    /// contain. This program can read the database if the program still understands the tables.
    case newer([String])
  }

  /// A progress report of running migrations.
  public struct Progress: Sendable, Hashable {
    public let name: String
    /// The migration's index among all migrations, from 0.
    public let position: Int
    /// The number of this migration's batches that the current call of `apply` has committed; 0 when a migration starts
    /// or resumes.
    public let batch: Int

    package init(name: String, position: Int, batch: Int) {
      (self.name, self.position, self.batch) = (name, position, batch)
    }
  }

  /// Runs the pending migrations in order. Each migration and its record share a transaction.
  ///
  /// Returns the names of the migrations that this call has run. Concurrent processes and threads run each migration
  /// only once: the second caller waits for the first. A new file without tables gets `fresh`, if `fresh` is set.
  /// `apply` accepts a handle or a pool.
  ///
  /// Throws `.schema(.mismatch)` if a completed migration was changed or removed, or if the database belongs to a newer
  /// program. Throws `.misuse` if two migrations have the same name. If a migration throws, `apply` rolls back the
  /// changes of this migration and throws the error; earlier migrations stay.
  ///
  /// Foreign keys are not enforced while a migration runs, unless the migration runs in batches. A migration without
  /// batches can therefore drop and recreate a table without deleting the rows that reference it. Before its commit,
  /// all foreign keys are checked: a row that references a missing row throws `.constraint(.foreignKey)`, unless the
  /// handle enforces no foreign keys.
  ///
  /// While another connection writes, such as a process that runs the same migrations, `apply` waits for up to `limit`.
  /// Without a limit, `apply` waits until the other connection finishes or the task is cancelled. After each busy
  /// timeout, `apply` calls `waiting` with the `.busy` error that names the writing process. Past the limit, `apply`
  /// throws this error. Inside a closure that holds the file's write lock with another handle, `apply` throws `.misuse`
  /// immediately. A deadline or `waitTimeout` of a pool applies as for other calls. Blocks the thread. In `async` code,
  /// use the overload for pools with `await`.
  ///
  /// `apply` calls `progress` when a migration starts, and after each batch.
  @discardableResult
  @inline(never)
  public func apply(
    _ db: some SqlDatabase, waitingAtMost limit: Duration? = nil, file: StaticString = #fileID, line: UInt = #line,
    progress: (Progress) -> Void = { _ in }, waiting: (SqlError) -> Void = { _ in }
  ) throws -> [String] {
    try checkNames()
    var run = Run()
    while true {
      let step = try db.withTransactionAfterOthers(waitingAtMost: limit, file: file, line: line, waiting) { db in
        try next(db, batches: run.batches, progress)
      }
      if run.isDone(after: step, progress) { return run.names }
    }
  }

  package struct Run {
    package private(set) var names: [String] = []
    /// The number of completed batches of the current migration.
    package private(set) var batches = 0

    package init(names: [String] = [], batches: Int = 0) {
      (self.names, self.batches) = (names, batches)
    }

    /// Records a committed step. Returns true if all steps are done.
    package mutating func isDone(after step: Step, _ progress: (Progress) -> Void) -> Bool {
      switch step {
      case .done: return true
      case .batch(let name, let position):
        batches += 1
        progress(Progress(name: name, position: position, batch: batches))
      case .whole(let name):
        batches = 0
        names.append(name)
      }
      return false
    }
  }

  /// Returns the state of the migrations in a database, without changing the database.
  ///
  /// Throws `.schema(.mismatch)` if a completed migration was changed or removed.
  public func status(
    _ db: some SqlDatabase, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Status {
    try checkNames()
    return try db.withTransaction(.deferred, file: file, line: line) { db in
      try status(of: db.tableExists(MigrationRecord.self) ? MigrationRecord.stored(db) : [])
    }
  }

  package func status(of records: [MigrationRecord]) throws -> Status {
    try check(records)
    if records.count > all.count { return .newer(records[all.count...].map(\.name)) }
    let pending = pending(after: records)
    return pending.isEmpty ? .current : .pending(pending.map { all[$0].name })
  }

  /// Returns the indexes of the migrations that a database with these records has not completed.
  package func pending(after records: [MigrationRecord]) -> [Int] {
    all.indices.filter { $0 >= records.count || !records[$0].isDone }
  }

  package enum Step: Sendable {
    case done
    case whole(name: String)
    case batch(name: String, position: Int)
  }

  /// Runs the next step in the open transaction: a migration, a batch, or `fresh` for a new file.
  package func next(_ db: SqliteDatabase, batches: Int, _ progress: (Progress) -> Void) throws -> Step {
    if try !db.tableExists(MigrationRecord.self) {
      let isNew = try db.schema() == DatabaseSchema()
      try db.createTable(MigrationRecord.self)
      if isNew, let fresh {
        switch fresh {
        case .schema(let schema): try db.createTables(of: schema)
        case .code(let body): try body(db)
        }
        try MigrationRecord.insert(all.indices.map { record($0, isDone: true) }).run(db)
        return .done
      }
    }
    let records = try MigrationRecord.stored(db)
    try checkIsNotNewer(records)
    guard let position = pending(after: records).first else { return .done }
    let migration = all[position]
    let last = position < records.count ? records[position].progress : nil
    if batches == 0 { progress(Progress(name: migration.name, position: position, batch: 0)) }
    do {
      try db.running { connection in
        for statement in try connection.changeLogLosses() { try connection.pragma(statement) }
      }
      switch migration.work {
      case .whole(let body):
        // If foreign keys were enforced, DROP TABLE would first delete the table's rows. ON DELETE CASCADE would then
        // delete the rows that reference these rows.
        let isEnforcing = try db.running { $0 }.withoutForeignKeys { try body(db) }
        try db.running { try $0.updateChangeLog(after: $0.changeLogLossesByMigration()) }
        if isEnforcing { try db.running { try $0.checkForeignKeys() } }
        try record(position, isDone: true).insert().run(db)
        return .whole(name: migration.name)
      case .batches(let body):
        let result = try body(db, last)
        try db.running { try $0.updateChangeLog(after: $0.changeLogLossesByMigration()) }
        try record(position, isDone: result == nil, progress: result ?? last).save().run(db)
        return result == nil ? .whole(name: migration.name) : .batch(name: migration.name, position: position)
      }
    } catch { throw migration.failure(error, after: all[..<position]) }
  }

  package func record(_ position: Int, isDone: Bool, progress: Int? = nil) -> MigrationRecord {
    MigrationRecord(
      position: position, name: all[position].name, checksum: all[position].checksum, isDone: isDone,
      progress: progress)
  }

  /// Throws `.schema(.mismatch)` if the database has run migrations that this list does not contain, or has run them in
  /// another order.
  package func checkIsNotNewer(_ records: [MigrationRecord]) throws {
    try check(records)
    guard records.count > all.count else { return }
    throw Migrations.mismatch(
      "the database has run migration \(records[all.count].name), which this program does not have; deploy the newer "
        + "program, or restore a backup")
  }

  /// Throws `.schema(.mismatch)` unless the migrations that the database has run are the first migrations of this list,
  /// with the same names, contents and order. The database is allowed to have run additional migrations after all
  /// migrations of this list.
  private func check(_ records: [MigrationRecord]) throws {
    for (record, migration) in zip(records, all) {
      guard record.name.isExactly(migration.name) else {
        throw Migrations.mismatch(
          "expected migration \(record.name), which the database has run, but the program has migration "
            + "\(migration.name) at this position; keep the order of old migrations, and append new migrations"
        )
      }
      guard record.checksum == migration.checksum else {
        throw Migrations.mismatch(
          "migration \(migration.name) was changed after the database had run it; undo the change, and add a new "
            + "migration"
        )
      }
    }
  }

  package func checkNames() throws {
    var names: Set<[UInt8]> = []
    for migration in all where !names.insert(Array(migration.name.utf8)).inserted {
      throw SqlError.misuse("two migrations are named \(migration.name)")
    }
  }

  static func mismatch(_ message: String) -> SqlError {
    SqlError(.schema(.mismatch(message)), message: message, table: MigrationRecord.tableName)
  }
}

extension Migration {
  /// Returns the error with the migration's name in its message. If Swift code of an earlier migration might have
  /// created the column or table that the error names, the message says so.
  package func failure(_ error: any Error, after earlier: ArraySlice<Migration> = []) -> any Error {
    guard var error = error as? SqlError else { return error }
    error.message = "migration \(name): \(error.message)"
    let exists = error.message.contains("duplicate column name: ") || error.message.hasSuffix(" already exists")
    if exists, let code = earlier.last(where: \.isCode) {
      error.message +=
        "; createTable and plans use the models of this release; if migration \(code.name) calls createTable or "
        + "applies a plan, write the migration as SQL, or create new files with `fresh:`"
    }
    return error
  }
}

extension MigrationRecord {
  fileprivate static func stored(_ db: SqliteDatabase) throws -> [MigrationRecord] {
    try read().orderBy(position).run(db)
  }
}

// MARK: Checks for tests

extension Migrations {
  /// Throws `.schema(.mismatch)` unless `fresh` and the migrations give a new file the same schema and rows. Call
  /// `checkFreshSchema` in a test of the program; the check uses in-memory databases.
  public func checkFreshSchema(configuration: Configuration = Configuration()) throws {
    let (short, long) = (
      try SqliteDatabase.inMemory(configuration: configuration),
      try SqliteDatabase.inMemory(configuration: configuration)
    )
    try apply(short)
    try Migrations(all).apply(long)
    let differences = try short.schema().differences(from: long.schema())
    guard differences.isEmpty else {
      throw Migrations.mismatch(
        "`fresh` and the migrations create different schemas: "
          + differences.map(\.description).joined(separator: "; "))
    }
    for table in try long.schema().tables where table.module == nil {
      let columns = table.columns.map(\.name.quotedName).joined(separator: ", ")
      let rows = SQL(verbatim: "SELECT \(columns) FROM \(table.name.quotedName) ORDER BY \(columns)")
      let (left, right) = (try short.query(rows, as: DynamicRow.self), try long.query(rows, as: DynamicRow.self))
      guard left.map(\.values) == right.map(\.values) else {
        throw Migrations.mismatch("`fresh` and the migrations store different rows in table \(table.name)")
      }
    }
  }

  /// Returns an in-memory copy of the schema after the pending migrations, with the handle's functions but no rows.
  package func migratedScratch(of db: SqliteDatabase) throws -> SqliteDatabase {
    let copy = try db.scratch()
    for text in try db.schema().statements { try copy.execute(SQL(verbatim: text)) }
    if try db.tableExists(MigrationRecord.self) {
      try MigrationRecord.insert(MigrationRecord.stored(db)).run(copy)
      try apply(copy)
    } else {
      try Migrations(all).apply(copy)
    }
    return copy
  }
}
