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
  /// consumer can miss changes: its next read throws `.changeLog(.trimmed)`. If only changes of other tables were
  /// deleted, a consumer of a table misses none. But ``ChangeBatch/acknowledge()`` can throw the same error for a
  /// snapshot and for a batch that was not read to its end; the next loop delivers the batch again. A loop from a
  /// position whose change was deleted throws the same error. Later changes reuse the space in the file.
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
    guard !rules.isEmpty else {
      throw SqlError.misuse("trim(_:keeping:) needs at least one rule that says which changes to keep")
    }
    let state = try LogState(db)
    let least = try LogState.first(in: db)
    let (bound, isTooFar) = least.addingReportingOverflow(limit)
    // The last change stays, because a position at the end of the log refers to this change.
    var first = isTooFar ? state.end.number : min(state.end.number, bound)
    for rule in rules { first = min(first, try rule.firstKept(state, before: first, in: db)) }
    guard first > least else { return 0 }
    // A loss that is not deleted yet has a larger number.
    let losses: SQL = """
      INSERT INTO main."sqlable_change_missing" AS m ("table", "seq", "at")
      SELECT "table", max("seq"), "at" FROM main."sqlable_changes"
      WHERE "seq" < \(first) AND "table" IN (SELECT "id" FROM main."sqlable_change_tables") GROUP BY "table"
      ON CONFLICT ("table") DO UPDATE SET "seq" = excluded."seq", "at" = excluded."at" WHERE excluded."seq" > m."seq"
      """
    try LogState.withTables { try db.execute(losses) }
    try db.execute("DELETE FROM main.\"sqlable_changes\" WHERE \"seq\" < \(first)")
    let count = try db.query("SELECT changes()", as: Int.self)[0]
    try db.execute(
      "UPDATE main.\"sqlable_change_history\" SET \"trimmed\" = max(\"trimmed\", \(first - 1))")
    return count
  }
}

extension ChangeRetention {
  /// Returns the number of the first change that the rule keeps; `bound` or more if this change is not before `bound`.
  fileprivate func firstKept(_ state: LogState, before bound: Int, in db: SqliteDatabase) throws -> Int {
    switch self {
    case .unacknowledged:
      // The change at a consumer's position stays, because it shows that the position belongs to this history.
      return try db.query("SELECT min(\"seq\") FROM main.\"sqlable_change_consumers\"", as: Int?.self)[0]
        ?? state.end.number
    case .age(let age):
      guard age >= .zero else { throw SqlError.misuse("the age of the changes to keep can't be negative") }
      let milliseconds = min(age / .milliseconds(1), 1e15)
      let time = ConsumerRecord.now - Int(milliseconds)
      // Changes after the first match stay even if their times are earlier, because the clock might have been set back.
      // The bound limits the changes that each of many short transactions reads.
      let first = try db.query(
        """
        SELECT "seq" FROM main."sqlable_changes" WHERE "seq" < \(bound) AND "at" >= \(time) ORDER BY "seq" LIMIT 1
        """, as: Int.self)
      return first.first ?? bound
    case .count(let count):
      guard count >= 0 else { throw SqlError.misuse("the number of the changes to keep can't be negative") }
      return count < state.end.number ? state.end.number - max(count, 1) + 1 : 0
    case .bytes(let bytes):
      guard bytes >= 0 else { throw SqlError.misuse("the size of the changes to keep can't be negative") }
      return try LogSizes(db).firstKept(bytes, upTo: state.end.number)
    }
  }
}

/// An estimate of the bytes that the log's rows need in the file.
///
/// For an exact number, each writer would have to store another column, or `trim` would have to read the whole log.
/// SQLite's table `dbstat` also reads the whole log, and is missing in many builds.
private struct LogSizes {
  /// The log is divided into this many blocks.
  private static let blocks = 64
  /// The number of rows of each block whose lengths are read. In a short log, all rows are read.
  private static let sample = 16

  private let db: SqliteDatabase
  private let lengths: SQL
  /// The bytes of a row with empty values: its number, its first three columns, and a byte for the type of each column.
  private let emptyLength: Double

  init(_ db: SqliteDatabase) throws {
    self.db = db
    let columns = try db.running { try $0.valueColumns() }
    // `typeof` and the length of a blob need no read of the value. SQLite stores an integer in up to eight bytes; four
    // are assumed.
    let totals = columns.map { column in
      let name = column.quotedName
      return "total(CASE typeof(\(name)) WHEN 'null' THEN 0 WHEN 'blob' THEN length(\(name)) "
        + "WHEN 'text' THEN length(CAST(\(name) AS BLOB)) WHEN 'integer' THEN 4 ELSE 8 END)"
    }
    lengths = SQL(verbatim: totals.map { ", \($0)" }.joined())
    emptyLength = Double(20 + columns.count)
  }

  /// Returns the number of the first change to keep, so that the kept changes need at most this many bytes.
  func firstKept(_ bytes: Int, upTo last: Int) throws -> Int {
    let first = try LogState.first(in: db)
    guard last >= first else { return last }
    let length = (last - first) / LogSizes.blocks + 1
    var (rest, end) = (Double(bytes), last)
    while end >= first {
      let begin = max(end - length + 1, first)
      let (row, count) = (try rowLength(from: begin, to: end), end - begin + 1)
      // At least the last change is kept.
      if row * Double(count) > rest { return end - max(Int(rest / row), end == last ? 1 : 0) + 1 }
      rest -= row * Double(count)
      end = begin - 1
    }
    return 0
  }

  /// The mean length of the rows of a block.
  private func rowLength(from begin: Int, to end: Int) throws -> Double {
    let rows = try db.query(
      """
      SELECT count(*)\(sql: lengths) FROM (SELECT * FROM main."sqlable_changes"
      WHERE "seq" BETWEEN \(begin) AND \(end) ORDER BY "seq" LIMIT \(LogSizes.sample))
      """, as: Int.self, DynamicRow.self)
    guard let (count, totals) = rows.first, count > 0 else { return 0 }
    let bytes = totals.values.reduce(0.0) { sum, value in
      if case .real(let total) = value { sum + total } else { sum }
    }
    return emptyLength + bytes / Double(count)
  }
}
