import SqlableCore

/// A change whose closure has failed, in the table `sqlable_change_quarantine`.
///
/// The table has a copy of the change, so that the change survives the trimming of the log. A row whose `isQuarantined`
/// is 0 counts the attempts of a change that its consumer tries again.
struct QuarantineRecord {
  let number: Int
  let attempts: Int
  /// The time of the last failed attempt in milliseconds since 1970.
  let failedAt: Int
  let isQuarantined: Bool

  /// Returns the changes of a consumer that have failed, by their numbers.
  ///
  /// - Parameter bound: The number before the first change.
  static func all(of consumer: String, after bound: Int, in db: SqliteDatabase) throws -> [Int: QuarantineRecord] {
    let rows = try db.query(
      """
      SELECT "seq", "attempts", "failedAt", "isQuarantined" FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" > \(bound)
      """, as: Int.self, Int.self, Int.self, Bool.self)
    return Dictionary(
      rows.map { ($0.0, QuarantineRecord(number: $0.0, attempts: $0.1, failedAt: $0.2, isQuarantined: $0.3)) }
    ) { $1 }
  }

  /// Returns the rest of the pause before the next attempt, in milliseconds.
  func pause(_ retries: ChangeRetries, now: Int) -> Int {
    let (length, elapsed) = (retries.milliseconds(after: attempts), now.subtractingReportingOverflow(failedAt))
    // The clock might have been set, and another program might have written any time.
    return elapsed.overflow || elapsed.partialValue < 0 ? length : max(length - elapsed.partialValue, 0)
  }

  /// Counts a failed attempt, and returns the number of attempts; 0 if another call has meanwhile consumed the change.
  ///
  /// - Parameter limit: The number of attempts after which the change is put into quarantine; nil for no limit.
  @discardableResult
  static func note(
    _ error: any Error, of number: Int, consumer: String, quarantiningAfter limit: Int?, in db: SqliteDatabase
  ) throws -> Int {
    let columns = try db.running { connection in
      try connection.rows("PRAGMA main.table_info(\(ChangeTables.log.quotedName))").map { $0[1] }
    }.filter { !$0.isExactly("seq") }.map(\.quotedName).joined(separator: ", ")
    let (text, now) = (FailedAttempt.text(of: error), try ConsumerRecord.now(db))
    try db.execute(
      """
      INSERT INTO main."sqlable_change_quarantine"
      ("consumer", "seq", "attempts", "error", "failedAt", "isQuarantined", \(sql: SQL(verbatim: columns)))
      SELECT \(consumer), "seq", 1, \(text), \(now), 0, \(sql: SQL(verbatim: columns)) FROM main."sqlable_changes"
      WHERE "seq" = \(number)
      AND "seq" > (SELECT "seq" FROM main."sqlable_change_consumers" WHERE "name" = \(consumer))
      ON CONFLICT ("consumer", "seq") DO UPDATE SET "attempts" = "attempts" + 1, "error" = excluded."error",
      "failedAt" = excluded."failedAt"
      """)
    guard try db.query("SELECT changes()", as: Int.self) == [1] else { return 0 }
    if let limit {
      try db.execute(
        """
        UPDATE main."sqlable_change_quarantine" SET "isQuarantined" = 1
        WHERE "consumer" = \(consumer) AND "seq" = \(number) AND "attempts" >= \(limit)
        """)
    }
    return try all(of: consumer, after: number - 1, in: db)[number]?.attempts ?? 1
  }

  /// Removes the changes that have succeeded after a failed attempt.
  static func removeTried(of consumer: String, upTo last: Int, in db: SqliteDatabase) throws {
    try db.execute(
      """
      DELETE FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" <= \(last) AND "isQuarantined" = 0
      """)
  }
}
