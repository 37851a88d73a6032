import SqlableCore

/// The end of a database's change log, and the last trimmed change, in one snapshot.
struct LogState {
  /// The position of the last logged change.
  let end: ChangePosition
  /// The number of the last change that was deleted from the log, or after which changes are missing; 0 if the log is
  /// complete.
  let trimmed: Int

  init(_ db: SqliteDatabase) throws {
    let sql: SQL = """
      SELECT h."id", h."trimmed", coalesce(l."seq", 0), coalesce(l."at", 0) FROM main."sqlable_change_history" AS h
      LEFT JOIN (SELECT "seq", "at" FROM main."sqlable_changes" ORDER BY "seq" DESC LIMIT 1) AS l
      """
    let rows = try LogState.withTables { try db.query(sql, as: String.self, Int.self, Int.self, Int.self) }
    guard let (history, trimmed, number, time) = rows.first else { throw LogState.missing }
    end = ChangePosition(history: history, number: number, time: time)
    self.trimmed = trimmed
  }

  /// The position before the first change that the log still has. Its change is gone, so it has no time.
  var start: ChangePosition { ChangePosition(history: end.history, number: trimmed, time: 0) }

  /// The number of the first change in the log; 1 for an empty log. Another program might have written smaller numbers.
  static func first(in db: SqliteDatabase) throws -> Int {
    try max(db.query("SELECT coalesce(min(\"seq\"), 1) FROM main.\"sqlable_changes\"", as: Int.self)[0], 1)
  }

  /// Runs statements on the log's tables. Throws an error that names the remedy if the database has no log.
  static func withTables<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as SqlError {
      guard case .schema(.missingTable) = error.kind else { throw error }
      throw LogState.missing
    }
  }

  private static var missing: SqlError {
    SqlError(
      .schema(.missingTable(ChangeTables.log)),
      message: "the database has no change log; create one with ChangeLog(…).create(db)", table: ChangeTables.log)
  }

  /// Throws `.changeLog` if the log does not have all changes after a position.
  func check(_ position: ChangePosition, in db: SqliteDatabase) throws {
    // A negative number was written by another program.
    guard position.history == end.history, position.number >= 0 else { throw LogState.otherHistory }
    if position == end || position == start { return }
    if position.number > trimmed {
      let times = try db.query(
        "SELECT \"at\" FROM main.\"sqlable_changes\" WHERE \"seq\" = \(position.number)", as: Int.self)
      guard times == [position.time] else { throw LogState.otherHistory }
      return
    }
    guard trimmed == 0 else {
      throw SqlError(
        .changeLog(.trimmed),
        message: "changes after the position were deleted from the change log; start again with all rows",
        table: ChangeTables.log)
    }
  }

  static var otherHistory: SqlError {
    SqlError(
      .changeLog(.otherHistory),
      message:
        "the position is not in the change log: it is from another database, or a restore has removed its change",
      table: ChangeTables.log)
  }
}

extension SqlDatabase {
  /// Returns the position of the last logged change in the snapshot of the call.
  ///
  /// ```swift
  /// let (bikes, position) = try db.read { db in (try Bicycle.read().run(db), try db.changePosition()) }
  /// ```
  ///
  /// In the same `read` as a query, the position belongs to the snapshot of the query. Throws `.schema(.missingTable)`
  /// if the database has no change log. Blocks the thread. In `async` code, use the overload for pools with `await`.
  public func changePosition(file: StaticString = #fileID, line: UInt = #line) throws -> ChangePosition {
    try withTransaction(.deferred, file: file, line: line) { try LogState($0).end }
  }
}
