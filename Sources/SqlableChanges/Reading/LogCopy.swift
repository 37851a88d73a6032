import SqlableCore
import SqlableSchema

/// An in-memory copy of a remote database's schema, and of those rows of its change log that describe the log's state.
///
/// Code that checks positions and the schema runs on the copy. The copy does not contain the logged changes, so queries
/// of changes run on the remote database; see ``LogQuery``.
package struct LogCopy: Sendable {
  package let db: SqliteDatabase
  /// The version of the remote schema.
  private let version: Int

  /// True if the remote schema has not changed since it was copied.
  package func isCurrent(of remote: some AsyncSqlExecutor) async throws -> Bool {
    try await LogCopy.version(of: remote) == version
  }

  /// Copies the schema. All queries must belong to one transaction.
  package init(of remote: some AsyncSqlExecutor) async throws {
    version = try await LogCopy.version(of: remote)
    db = try await .inMemory(schemaOf: remote)
  }

  private static func version(of remote: some AsyncSqlExecutor) async throws -> Int {
    try await remote.query("SELECT \"schema_version\" FROM pragma_schema_version", as: Int.self).first ?? 0
  }

  private func has(_ table: String) throws -> Bool { try db.running { try $0.hasTable(named: table) } }

  /// Replaces the rows of the copied log with the rows that a step reads.
  package func fill(_ part: LogPart, from remote: some AsyncSqlExecutor) async throws {
    guard try has(ChangeTables.history) else { return }
    // Copy these tables even if the schema is unchanged: after ALTER TABLE has renamed a column, the log renames the
    // column later, without a change of the schema.
    for table in [ChangeTables.tables, ChangeTables.history, ChangeTables.missing] {
      try await copy(table, from: remote)
    }
    if let consumer = part.consumer {
      try await copy(ChangeTables.consumers, where: "WHERE \"name\" = \(consumer)", from: remote)
    }
    try await copy(
      ChangeTables.log, "\"seq\", \"at\"",
      where: """
        WHERE "seq" IN (\(part.positions.map(\.number))) OR "seq" = (SELECT max("seq") FROM main."sqlable_changes")
        OR "seq" = (SELECT "seq" FROM main."sqlable_change_consumers" WHERE "name" = \(part.consumer))
        """,
      from: remote)
  }

  /// Calls `body`, which can change the row of a consumer. Returns the value of `body`, and the statement that stores
  /// the changed row. The statement is nil if the row is unchanged.
  package func storing<Value>(
    _ consumer: String?, _ body: (SqliteDatabase) throws -> Value
  ) throws -> (value: Value, statement: SQL?) {
    let sql: SQL = "SELECT * FROM main.\"sqlable_change_consumers\" WHERE \"name\" = \(consumer)"
    // If there is no log, `body` throws an error that names the remedy.
    let hasLog = try has(ChangeTables.consumers)
    let before = hasLog ? try db.query(sql, as: DynamicRow.self) : []
    let value = try db.transaction { try body($0) }
    guard hasLog, let row = try db.query(sql, as: DynamicRow.self).first, row != before.first else {
      return (value, nil)
    }
    let names = SQL(verbatim: row.columns.map(\.quotedName).joined(separator: ", "))
    return (
      value, "INSERT OR REPLACE INTO main.\"sqlable_change_consumers\" (\(sql: names)) VALUES (\(row.values))"
    )
  }

  private func copy(
    _ table: String, _ columns: String = "*", where condition: SQL = "", from remote: some AsyncSqlExecutor
  ) async throws {
    let columns = SQL(verbatim: columns)
    let rows = try await remote.query(
      "SELECT \(sql: columns) FROM main.\(table: table) \(sql: condition)", as: DynamicRow.self)
    try db.execute("DELETE FROM main.\(table: table)")
    for row in rows {
      let names = SQL(verbatim: row.columns.map(\.quotedName).joined(separator: ", "))
      try db.execute("INSERT INTO main.\(table: table) (\(sql: names)) VALUES (\(row.values))")
    }
  }
}

extension ChangeLog {
  /// Runs `create` on a copy of the remote database, and returns the statements that were run. Returns none if the log
  /// is up to date.
  package func creation(on copy: LogCopy) throws -> [SQL] { try copy.changes { try createTriggers($0, note: $1) } }

  /// Runs `drop` on a copy of the remote database, and returns the statements that were run.
  package func removal(on copy: LogCopy) throws -> [SQL] { try copy.changes { try dropTriggers($0, note: $1) } }
}

extension LogCopy {
  /// Returns the statements that invalidate earlier positions for each table whose changes the log might lack. Call
  /// this method before changes of the schema.
  package func losses() throws -> [SQL] { try db.running { try $0.lossUpdates() }.map { SQL(verbatim: $0) } }

  /// Returns the statements that bring the log up to date after changes of the schema.
  package func updates() throws -> [SQL] {
    try changes { db, note in
      func run(_ statements: [String]) throws {
        for statement in statements.map(SQL.init(verbatim:)) {
          try db.execute(statement)
          note(statement)
        }
      }
      let renames = try db.running { try $0.logRenames() }
      let lossy = try (loggedTables() + renames.map(\.table)).filter { table in
        try db.running { try $0.triggers(of: table).filter(\.isOfLog).count } < ChangeTriggers.count
      }
      if !lossy.isEmpty { try run(db.running { try $0.lossUpdates(of: lossy) }) }
      for (_, updates) in renames { try run(updates) }
      for table in try loggedTables() { try run(db.running { try $0.logUpdates(of: table) }) }
    }
  }

  private func loggedTables() throws -> [String] {
    try LogEntry.all(in: db).current.filter(\.isLogged).map(\.table).filter(has)
  }

  /// Calls a closure that changes the schema. The closure calls its second argument with each statement. Returns the
  /// statements; empty if they changed nothing.
  fileprivate func changes(_ body: (SqliteDatabase, (SQL) -> Void) throws -> Void) throws -> [SQL] {
    var statements: [SQL] = []
    let before = try state
    try db.transaction { try body($0) { statements.append($0) } }
    return try state == before ? [] : statements
  }

  private var state: [Int64] {
    get throws {
      let changes = try db.query("SELECT total_changes()", as: Int.self)
      return try [db.running { try $0.schemaVersion() }] + changes.map(Int64.init)
    }
  }
}
