import SqlableCore
import SqlablePool

/// A rule for the changes that stay in a log; see ``ChangeLog/trim(_:keeping:file:line:)-(SqlDatabase,_,_,_)``.
public enum ChangeRetention: Sendable, Hashable {
  /// Changes that at least one consumer has not acknowledged.
  case unacknowledged
  /// Changes that are not older than this, by the clock of their writers.
  case age(Duration)
  /// The last changes.
  case count(Int)
  /// The last changes that together need at most this many bytes of the file. The bytes are estimated from the lengths
  /// of about 1,000 changes, which are spread over the whole log.
  case bytes(Int)
}

extension ChangeLog {
  /// Deletes the changes that no rule keeps, and returns the number of deleted changes.
  ///
  /// ```swift
  /// try ChangeLog.trim(db, keeping: .unacknowledged)                           // by the slowest consumer
  /// try ChangeLog.trim(db, keeping: .unacknowledged, .age(.seconds(86_400)))   // and all changes of the last day
  /// try ChangeLog.trim(db, keeping: .count(1_000_000))                         // whatever consumers need
  /// try ChangeLog.trim(db, keeping: .bytes(500_000_000))                       // at most about 500 MB
  /// // DELETE FROM main."sqlable_changes" WHERE "seq" < ?
  /// ```
  ///
  /// The log keeps every change that one of the rules keeps, and the last change. Without `.unacknowledged`, a slow
  /// consumer can miss changes: its next read throws `.changeLog(.trimmed)`. A consumer of one table does not throw if
  /// only changes of other tables were deleted. A `changes(since:)` loop also throws `.changeLog(.trimmed)` if the
  /// change at its start position was deleted. Later changes reuse the space in the file.
  ///
  /// Throws `.misuse` without a rule, and for a negative age, count or size. Runs in one transaction and blocks the
  /// thread. In `async` code, use the overload for pools, which deletes in short transactions.
  @discardableResult
  public static func trim(
    _ db: some SqlDatabase, keeping rules: ChangeRetention..., file: StaticString = #fileID, line: UInt = #line
  ) throws -> Int {
    try db.withTransaction(.immediate, file: file, line: line) { try trim($0, rules, atMost: .max) }
  }

  /// Deletes the changes that no rule keeps, in transactions of at most 10,000 changes; see
  /// ``trim(_:keeping:file:line:)-(SqlDatabase,_,_,_)``. An error does not undo earlier transactions.
  @discardableResult
  public static func trim(
    _ pool: SqlitePool, keeping rules: ChangeRetention..., file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Int {
    var total = 0
    while true {
      let count = try await pool.transaction(file: file, line: line) { db in try trim(db, rules, atMost: 10_000) }
      total += count
      if count < 10_000 { return total }
    }
  }

  private static func trim(_ db: SqliteDatabase, _ rules: [ChangeRetention], atMost limit: Int) throws -> Int {
    try rules.check()
    var trim = try LogTrim(
      end: LogState(db).end, first: LogState.first(in: db), columns: db.running { try $0.valueColumns() }, rules,
      atMost: limit)
    while let query = try trim.nextQuery() { trim.add(try query.rows(as: DynamicRow.self).run(db)) }
    guard let statements = trim.statements else { return 0 }
    try LogState.withTables { try db.execute(statements.losses) }
    try db.execute(statements.delete)
    let count = try db.query("SELECT changes()", as: Int.self)[0]
    try db.execute(statements.end)
    return count
  }
}
