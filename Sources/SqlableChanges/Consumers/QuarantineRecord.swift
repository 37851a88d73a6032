import SqlableCore

/// A change for which the closure has failed, as a row of the table `sqlable_change_quarantine`.
///
/// The row has a copy of the change, so that the change survives the trimming of the log. While `isQuarantined` is 0,
/// the row counts the attempts of a change that the consumer retries. A row that remains because a process was killed
/// is removed when the consumer passes the change. The rows of a new consumer's snapshot have negative numbers, because
/// they are not in the log.
struct QuarantineRecord {
  let number: Int
  let attempts: Int
  /// The time of the last failed attempt in milliseconds since 1970.
  let failedAt: Int
  let isQuarantined: Bool

  /// Returns a consumer's failed changes.
  ///
  /// - Parameter bound: Only changes after this position are returned. The position's number is at least 0.
  static func changes(
    of consumer: String, after bound: ChangePosition, in db: SqliteDatabase
  ) throws -> [FailedAttempt.Subject: QuarantineRecord] {
    let rows = try db.query(
      """
      SELECT "seq", "at", "attempts", "failedAt", "isQuarantined" FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" > \(bound.number)
      """, as: Int.self, Int.self, Int.self, Int.self, Bool.self)
    let records = rows.map { number, time, attempts, failedAt, isQuarantined in
      (
        FailedAttempt.Subject.change(ChangePosition(history: bound.history, number: number, time: time)),
        QuarantineRecord(number: number, attempts: attempts, failedAt: failedAt, isQuarantined: isQuarantined)
      )
    }
    return Dictionary(records) { $1 }
  }

  /// Returns the failed rows of a consumer's first snapshot. Their numbers are negative.
  static func rows(
    of consumer: String, in db: SqliteDatabase
  ) throws -> [FailedAttempt.Subject: QuarantineRecord] {
    let counts = Dictionary(try LogEntry.all(in: db).map { ($0.id, $0.columns.count) }) { $1 }
    let columns = try db.running { try $0.valueColumns() }.filter { $0.begins(with: "v") }.map(\.quotedName).joined(
      separator: ", ")
    let sql: SQL = """
      SELECT "seq", "attempts", "failedAt", "isQuarantined", "table", \(sql: SQL(verbatim: columns))
      FROM main."sqlable_change_quarantine" WHERE "consumer" = \(consumer) AND "seq" < 0
      """
    var records: [FailedAttempt.Subject: QuarantineRecord] = [:]
    try db.query(sql) { row in
      let entry: Int = try row.get(at: 4)
      let values = KeptValues(entry: entry, values: try row.loggedValues(at: 5..<5 + (counts[entry] ?? 0)))
      records[.row(values)] = QuarantineRecord(
        number: try row.get(at: 0), attempts: try row.get(at: 1), failedAt: try row.get(at: 2),
        isQuarantined: try row.get(at: 3))
    }
    return records
  }

  /// Returns the remaining pause before the next attempt, in milliseconds.
  func pause(_ retries: ChangeRetries, now: Int) -> Int {
    let (length, elapsed) = (retries.milliseconds(after: attempts), now.subtractingReportingOverflow(failedAt))
    // The elapsed time can be negative or overflow: the clock might have been set back, or another program might have
    // stored any time.
    return elapsed.overflow || elapsed.partialValue < 0 ? length : max(length - elapsed.partialValue, 0)
  }

  /// Counts a failed attempt, and returns the record; nil if another call has meanwhile consumed the change, or if the
  /// log does not have the change anymore.
  ///
  /// - Parameter limit: The number of attempts after which the change is put into quarantine; nil for no limit.
  static func note(
    _ error: any Error, of subject: FailedAttempt.Subject, consumer: String, quarantiningAfter limit: Int?,
    in db: SqliteDatabase
  ) throws -> QuarantineRecord? {
    let (text, now) = (FailedAttempt.text(of: error), ConsumerRecord.now)
    guard let number = try number(of: subject, consumer: consumer, failedAt: now, in: db) else { return nil }
    try db.execute(
      """
      UPDATE main."sqlable_change_quarantine" SET "attempts" = "attempts" + 1, "error" = \(text), "failedAt" = \(now),
      "isQuarantined" = coalesce("attempts" + 1 >= \(limit), 0)
      WHERE "consumer" = \(consumer) AND "seq" = \(number)
      """)
    let rows = try db.query(
      """
      SELECT "attempts", "isQuarantined" FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" = \(number)
      """, as: Int.self, Bool.self)
    return rows.first.map { attempts, isQuarantined in
      QuarantineRecord(number: number, attempts: attempts, failedAt: now, isQuarantined: isQuarantined)
    }
  }

  /// Returns the `seq` of a failed change or row in the quarantine table. Adds the change or row if this is its first
  /// failure. Returns nil if another call has meanwhile consumed the change, or if the log does not have the change
  /// anymore.
  private static func number(
    of subject: FailedAttempt.Subject, consumer: String, failedAt now: Int, in db: SqliteDatabase
  ) throws -> Int? {
    switch subject {
    case .change(let position):
      let names = try ["table", "kind", "at"] + db.running { try $0.valueColumns() }
      let columns = SQL(verbatim: names.map(\.quotedName).joined(separator: ", "))
      try db.execute(
        """
        INSERT INTO main."sqlable_change_quarantine"
        ("consumer", "seq", "attempts", "error", "failedAt", "isQuarantined", \(sql: columns))
        SELECT \(consumer), "seq", 0, '', \(now), 0, \(sql: columns) FROM main."sqlable_changes"
        WHERE "seq" = \(position.number) AND "at" = \(position.time)
        AND "seq" > (SELECT "seq" FROM main."sqlable_change_consumers" WHERE "name" = \(consumer))
        ON CONFLICT ("consumer", "seq") DO NOTHING
        """)
      let isKnown = try db.query(
        """
        SELECT count(*) FROM main."sqlable_change_quarantine"
        WHERE "consumer" = \(consumer) AND "seq" = \(position.number) AND "at" = \(position.time)
        AND "seq" > (SELECT "seq" FROM main."sqlable_change_consumers" WHERE "name" = \(consumer))
        """, as: Int.self)
      return isKnown == [1] ? position.number : nil
    case .row(let row):
      guard try ConsumerRecord(named: consumer, in: db)?.isNew == true else { return nil }
      if let known = try number(of: row, consumer: consumer, in: db) { return known }
      try db.execute(
        """
        INSERT INTO main."sqlable_change_quarantine"
        ("consumer", "seq", "attempts", "error", "failedAt", "isQuarantined", "table", "kind", "at")
        SELECT \(consumer), min(coalesce(min("seq"), 0), 0) - 1, 0, '', \(now), 0, \(row.entry), 1, \(now)
        FROM main."sqlable_change_quarantine" WHERE "consumer" = \(consumer)
        """)
      let number = try db.query(
        "SELECT min(\"seq\") FROM main.\"sqlable_change_quarantine\" WHERE \"consumer\" = \(consumer)", as: Int.self)[0]
      for (position, value) in row.values.enumerated() {
        try db.execute(
          """
          UPDATE main."sqlable_change_quarantine" SET \(column: ChangeTables.value(position)) = \(sql: value.sql)
          WHERE "consumer" = \(consumer) AND "seq" = \(number)
          """)
      }
      return number
    }
  }

  /// Returns the number under which a failed row of the snapshot is recorded; nil if the row has not failed before.
  ///
  /// SQLite compares the values, because decoding all failed rows for each failure takes quadratic time. The types are
  /// compared too, because an integer equals a real number.
  private static func number(of row: KeptValues, consumer: String, in db: SqliteDatabase) throws -> Int? {
    var (columns, values): (SQL, SQL) = ("\"table\"", "\(row.entry)")
    for (position, value) in row.values.enumerated() {
      let column = ChangeTables.value(position)
      columns = "\(sql: columns), \(column: column), typeof(\(column: column))"
      values = "\(sql: values), \(sql: value.sql), typeof(\(sql: value.sql))"
    }
    let numbers = try db.query(
      """
      SELECT "seq" FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" < 0 AND (\(sql: columns)) IS (\(sql: values)) LIMIT 1
      """, as: Int.self)
    return numbers.first
  }

  /// Removes the record of a change or row that failed at first and has now succeeded.
  static func removeTried(of consumer: String, at number: Int, in db: SqliteDatabase) throws {
    try db.execute(
      """
      DELETE FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" = \(number) AND "isQuarantined" = 0
      """)
  }

  /// Removes the records of the changes and rows that a consumer has passed.
  static func removeTried(of consumer: String, upTo last: Int, in db: SqliteDatabase) throws {
    try db.execute(
      """
      DELETE FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" <= \(last) AND "isQuarantined" = 0
      """)
  }
}
