import SqlableCore

/// The end of a database's change log, and the last deleted change, in one snapshot.
package struct LogState {
  /// The position of the last logged change.
  package let end: ChangePosition
  /// The number of the last change that was deleted from the log; 0 if none was deleted.
  let trimmed: Int

  package init(_ db: SqliteDatabase) throws {
    let sql: SQL = """
      SELECT h."id", h."trimmed", coalesce(l."seq", 0), coalesce(l."at", 0) FROM main."sqlable_change_history" AS h
      LEFT JOIN (SELECT "seq", "at" FROM main."sqlable_changes" ORDER BY "seq" DESC LIMIT 1) AS l
      """
    let rows = try LogState.withTables { try db.query(sql, as: String.self, Int.self, Int.self, Int.self) }
    guard let (history, trimmed, number, time) = rows.first else { throw LogState.missing }
    end = ChangePosition(history: history, number: number, time: time)
    self.trimmed = trimmed
  }

  /// The position before the first change in the log. The time is 0, because the change at this position was deleted.
  private var start: ChangePosition { ChangePosition(history: end.history, number: trimmed, time: 0) }

  /// Returns the position after which the log has all changes of a table, or of all tables if `table` is nil.
  func start(of table: String?, in db: SqliteDatabase) throws -> ChangePosition {
    let missing = try missing(of: table, in: db)
    return missing.map { $0.number > trimmed ? $0 : start } ?? start
  }

  /// Returns the position of the last change that is missing from the log: a change of the table, or of any table if
  /// `table` is nil. If changes were not logged at all, returns the position of the row of kind 0 that records this
  /// loss. Nil if the log has all changes since its creation.
  func missing(of table: String?, in db: SqliteDatabase) throws -> ChangePosition? {
    let sql: SQL = """
      SELECT m."seq", m."at" FROM main."sqlable_change_missing" AS m WHERE \(table) IS NULL OR m."table" IN
      (SELECT t."id" FROM main."sqlable_change_tables" AS t WHERE t."name" = \(table) COLLATE NOCASE)
      ORDER BY m."seq" DESC LIMIT 1
      """
    let rows = try LogState.withTables { try db.query(sql, as: Int.self, Int.self) }
    return rows.first.map { ChangePosition(history: end.history, number: $0, time: $1) }
  }

  /// The number of the first change in the log; 1 for an empty log. Another program might have written smaller numbers.
  static func first(in db: SqliteDatabase) throws -> Int { max(try db.query(firstQuery, as: Int.self)[0], 1) }

  static let firstQuery: SQL = "SELECT coalesce(min(\"seq\"), 1) FROM main.\"sqlable_changes\""

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

  /// Throws `.changeLog` if the log does not have all changes of a table, or of all tables, after a position.
  ///
  /// - Parameter isStored: True for the position of a consumer, which the same database contains, and for a position
  ///   that was read in the same transaction. If the position's change was deleted, a position from elsewhere can't be
  ///   distinguished from a position that a restore has undone.
  func check(_ position: ChangePosition, of table: String?, isStored: Bool = false, in db: SqliteDatabase) throws {
    // Only another program can have written a negative number.
    guard position.history == end.history, position.number >= 0 else { throw LogState.otherHistory }
    let missing = try missing(of: table, in: db)
    if position.number > trimmed {
      guard try has(position, in: db) else { throw LogState.otherHistory }
    } else if !isStored, position.number > 0, position != start, position != missing {
      throw LogState.changesWereDeleted
    }
    guard position.number >= missing?.number ?? 0 else { throw LogState.changesWereDeleted }
  }

  /// Throws `.changeLog` if a consumer of a table, or of all tables, can't store a position. This is the case if a
  /// restore has undone changes up to the position, or if later changes of the table were deleted.
  ///
  /// If the change at the position was deleted, the method compares the table's last deleted change with `last`. If
  /// they are the same change, no restore has undone it, and the log has all later changes of the table.
  ///
  /// - Parameters:
  ///   - origin: The origin of the position. If this transaction has read the position, no restore can have undone its
  ///     change, but the program can have trimmed the log afterwards.
  ///   - last: The last change of the table up to the position that the consumer has received; nil for none.
  func checkEnd(
    _ position: ChangePosition, _ origin: PositionOrigin, last: ChangePosition?, of table: String?,
    in db: SqliteDatabase
  ) throws {
    guard origin == .caller, position.number <= trimmed, position.history == end.history else {
      return try check(position, of: table, isStored: origin != .caller, in: db)
    }
    let missing = try missing(of: table, in: db)
    guard missing != last else { return }
    // Without a restore, the change at `last` was deleted too, so `missing` is at `last` or later. An earlier `missing`
    // shows that a restore has undone the change at `last`.
    throw missing?.number ?? 0 > last?.number ?? 0 ? LogState.changesWereDeleted : LogState.otherHistory
  }

  /// True if the log still has the change at a position.
  func has(_ position: ChangePosition, in db: SqliteDatabase) throws -> Bool {
    if position == end { return true }
    let times = try db.query(
      "SELECT \"at\" FROM main.\"sqlable_changes\" WHERE \"seq\" = \(position.number)", as: Int.self)
    return position.history == end.history && times == [position.time]
  }

  /// Returns the error for a change that a loop has read, but that the log does not have anymore. `position` is nil for
  /// a row of a snapshot.
  func lossError(ofChangeAt position: ChangePosition?) -> SqlError {
    position.map { $0.number <= trimmed } == true ? LogState.changesWereDeleted : LogState.otherHistory
  }

  private static var changesWereDeleted: SqlError {
    SqlError(
      .changeLog(.trimmed),
      message: "changes after the position were deleted from the change log; start again with all rows",
      table: ChangeTables.log)
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
