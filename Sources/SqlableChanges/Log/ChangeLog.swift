import SqlableCore
import SqlablePool
import SqlableSchema

/// A log of all changes of some tables, in the database itself.
///
/// ```swift
/// try ChangeLog(Bicycle.self, Person.self).create(db)
/// // CREATE TABLE "sqlable_changes" …; CREATE TRIGGER "sqlable_changes_bicycle_insert" AFTER INSERT ON "bicycle" …
/// for try await change in pool.changes(since: position) { … }
/// ```
///
/// Triggers record the changes in the transaction of the writer. The log therefore contains the commits of all
/// processes, such as the `sqlite3` shell and Python, and nothing of a transaction or savepoint that was rolled back.
/// Cascades, upserts, changed keys and rows that REPLACE deletes are recorded too. The order of the log is the order of
/// commits.
///
/// A change log is a value; threads can share it.
public struct ChangeLog: Sendable, Hashable {
  /// The values that the log keeps of each changed row.
  public struct Values: Sendable, Hashable {
    enum Storage: Hashable {
      case rows, keys
      case columns(Set<Column>)
    }

    let storage: Storage

    /// All columns, before and after the change.
    public static let rows = Values(storage: .rows)

    /// The columns of the primary key, before and after the change. A table without a primary key has its rowid.
    public static let keys = Values(storage: .keys)

    /// These columns and the primary key, before and after the change.
    ///
    /// ```swift
    /// try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.name, Bicycle.color)).create(db)
    /// ```
    ///
    /// An update of other columns is logged, too. A log of several models needs at least one column of each model.
    /// ``ChangeLog/create(_:file:line:)-(SqlDatabase,_,_)`` throws `.misuse` for a column of another model, and
    /// `.schema(.missingColumn)` for a column that the table does not have.
    public static func columns(_ columns: any ColumnConvertible...) -> Values {
      Values(storage: .columns(Set(columns.map(\.column))))
    }
  }

  let tables: [TableInfo]
  public let values: Values

  /// Makes a log of the models' tables. Two logs can record different tables of one database, each with its own
  /// `values`.
  public init(_ models: any Sqlable.Type..., keeping values: Values = .rows) { self.init(models, keeping: values) }

  public init(_ models: [any Sqlable.Type], keeping values: Values = .rows) {
    func info(_ model: (some Sqlable).Type) -> TableInfo { .unchecked(model).declared }
    self.init(tables: models.map { info($0) }, values: values)
  }

  private init(tables: [TableInfo], values: Values) { (self.tables, self.values) = (tables, values) }

  /// Returns the log with another table that has a model's layout.
  public func adding(_ model: (some Sqlable).Type, named name: String) -> ChangeLog {
    ChangeLog(tables: tables + [TableInfo.unchecked(model).named(name).declared], values: values)
  }

  public static func == (left: ChangeLog, right: ChangeLog) -> Bool {
    left.values == right.values && left.tables.elementsEqual(right.tables, by: ===)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(values)
    for table in tables { hasher.combine(ObjectIdentifier(table)) }
  }
}

extension ChangeLog {
  /// Creates the log's tables and triggers, or replaces triggers that are out of date, in one transaction.
  ///
  /// ```swift
  /// try db.transaction { db in
  ///   try db.createTables(Person.self, Bicycle.self)
  ///   try ChangeLog(Person.self, Bicycle.self).create(db)
  /// }
  /// ```
  ///
  /// The tables must exist in the database's own file, not in an attached file. Plans, migrations and `createTable`
  /// keep the log up to date. After other changes of the schema, call `create` in their transaction: a trigger logs
  /// only the columns that the table had at the last `create`. A call that finds everything up to date changes nothing.
  /// A call with other ``Values`` replaces the triggers; earlier changes and positions stay valid.
  ///
  /// A trigger of the program that changes rows of its own table must be older than the log's triggers. Otherwise, the
  /// log has the changes of a row in the wrong order. `create` therefore also recreates the log's triggers if another
  /// trigger of the table is newer.
  ///
  /// In two cases, the log can lack changes of a table. First, SQL text has dropped and recreated the table, and with
  /// the table its triggers. Second, a unique index was created outside of a plan or migration, so the triggers miss
  /// deletes by REPLACE. In both cases, `create`, a plan or a migration marks the table's earlier changes as trimmed.
  /// Consumers and loops that read the table from an earlier position then throw `.changeLog(.trimmed)`. `create` after
  /// `drop` has the same effect.
  ///
  /// Throws `.schema(.missingTable)` for a missing table. Throws `.misuse` for a view, a virtual or full-text table, a
  /// temporary table, a table of an attached file or of the log itself, and a table with columns named `rowid`, `oid`
  /// and `_rowid_`, which hide the rowid. For chosen columns, also throws the errors of ``Values/columns(_:)``. An
  /// error leaves the database unchanged. Blocks the thread. In `async` code, use the overload for pools with `await`.
  public func create(_ db: some SqlDatabase, file: StaticString = #fileID, line: UInt = #line) throws {
    try db.withTransaction(.immediate, file: file, line: line) { try createTriggers($0) }
  }

  /// Creates the log's tables and triggers on a pool without blocking the thread; see
  /// ``create(_:file:line:)-(SqlDatabase,_,_)``.
  public func create(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await pool.transaction(file: file, line: line) { db in try createTriggers(db) }
  }

  /// Drops the triggers of the log's tables. If no logged table remains, the log itself is dropped with all its
  /// changes.
  ///
  /// ```swift
  /// try ChangeLog(Bicycle.self).drop(db)     // DROP TRIGGER "sqlable_changes_bicycle_insert"; …
  /// ```
  ///
  /// Changes that are already logged stay while another table is logged. Tables without triggers of the log are
  /// ignored. Blocks the thread. In `async` code, use the overload for pools with `await`.
  public func drop(_ db: some SqlDatabase, file: StaticString = #fileID, line: UInt = #line) throws {
    try db.withTransaction(.immediate, file: file, line: line) { try dropTriggers($0) }
  }

  /// Drops the triggers of the log's tables on a pool without blocking the thread; see
  /// ``drop(_:file:line:)-(SqlDatabase,_,_)``.
  public func drop(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await pool.transaction(file: file, line: line) { db in try dropTriggers(db) }
  }

  /// - Parameter note: Called with each statement. A cluster collects the statements and runs them itself.
  func createTriggers(_ db: SqliteDatabase, note: (SQL) -> Void = { _ in }) throws {
    try checkColumns()
    for definition in ChangeTables.definitions { try run(definition, in: db, note) }
    let renamed = try db.running { try $0.logRenames() }
    let names = tables.map(\.name) + renamed.map(\.table)
    try run(db.running { try $0.lossUpdates(of: names, includingDropped: true) }, in: db, note)
    try rename(renamed, in: db, note)
    for table in tables {
      let updates = try db.running { connection in
        let table = try table.loggedTable(on: connection)
        return try table.updates(keptColumns(of: table), on: connection)
      }
      try run(updates, in: db, note)
    }
  }

  /// Renames the tables in the log that ALTER TABLE has renamed.
  private func rename(
    _ renamed: [(table: String, updates: [String])], in db: SqliteDatabase, _ note: (SQL) -> Void
  ) throws {
    try run(renamed.flatMap(\.updates), in: db, note)
    for (table, _) in renamed { try run(db.running { try $0.logUpdates(of: table) }, in: db, note) }
  }

  private func run(_ statements: [String], in db: SqliteDatabase, _ note: (SQL) -> Void) throws {
    for statement in statements { try run(SQL(verbatim: statement), in: db, note) }
  }

  private func run(_ statement: SQL, in db: SqliteDatabase, _ note: (SQL) -> Void) throws {
    try db.execute(statement)
    note(statement)
  }

  /// - Parameter note: Called with each statement. A cluster collects the statements and runs them itself.
  func dropTriggers(_ db: SqliteDatabase, note: (SQL) -> Void = { _ in }) throws {
    for table in tables { try table.checkDeclarations() }
    try rename(db.running { try $0.logRenames() }, in: db, note)
    for table in tables {
      try run(db.running { try $0.columnRenames(of: table.name) }, in: db, note)
      for trigger in try db.running({ try $0.triggers(of: table.name) }) where trigger.isOfLog {
        try run("DROP TRIGGER main.\(table: trigger.name)", in: db, note)
      }
    }
    let triggers = try db.running { try $0.rows("SELECT name FROM main.sqlite_schema WHERE type = 'trigger'") }
    guard triggers.contains(where: { $0[0].isChangeTrigger }) else {
      for name in ChangeTables.all { try run("DROP TABLE IF EXISTS main.\(table: name)", in: db, note) }
      return
    }
    for table in tables {
      try run(
        "UPDATE main.\"sqlable_change_tables\" SET \"isLogged\" = 0 WHERE \"name\" = \(table.name) COLLATE NOCASE",
        in: db, note)
    }
  }
}

extension TableInfo {
  /// Returns the table as the database defines it. Throws if the log can't record its changes.
  fileprivate func loggedTable(on connection: Connection) throws -> LoggedTable {
    try checkDeclarations()
    func refused(_ reason: String) -> SqlError {
      SqlError.misuse("a change log can't record table \(name): \(reason)").at(table: name)
    }
    guard view == nil else { throw refused("it is a view") }
    guard fullText?.isExternal != false else { throw refused("it is a full-text table") }
    guard !name.foldedName.starts(with: "sqlable_change".utf8) else { throw refused("it belongs to the change log") }
    let found = try connection.rows("SELECT type, name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view')")
      .first { $0[1].isSameName(as: name) }
    guard let found else {
      if let other = try connection.otherDatabase(ofTable: name) { throw refused("it is in \(other)") }
      throw SqlError(
        .schema(.missingTable(name)), message: "the database has no table \(name); create it before its change log",
        table: name)
    }
    guard found[0] == "table" else { throw refused("it is a view") }
    guard found[2].virtualTableModule == nil else { throw refused("it is a virtual table") }
    let table = try LoggedTable(named: found[1], on: connection)
    guard table.isIdentifiable else {
      throw refused("it has columns named rowid, oid and _rowid_, so its rowid can't be read")
    }
    return table
  }
}

extension Connection {
  /// Returns a description of another database that has a table: an attached file, or the temporary database. Nil if no
  /// other database has the table.
  fileprivate func otherDatabase(ofTable table: String) throws -> String? {
    for database in try rows("PRAGMA database_list").map({ $0[1] }) where database != "main" {
      let tables = try rows("SELECT name FROM \(database.quotedName).sqlite_schema WHERE type = 'table'")
      guard tables.contains(where: { $0[0].isSameName(as: table) }) else { continue }
      return database == "temp" ? "the temporary database" : "the attached file \(database)"
    }
    return nil
  }
}
