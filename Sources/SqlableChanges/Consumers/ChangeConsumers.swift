import SqlableCore
import SqlablePool

/// The state of a named consumer of a change log.
public struct ChangeConsumer: Sendable, Hashable {
  public let name: String
  /// The position after the last acknowledged change.
  public let position: ChangePosition
  /// True if the consumer started with ``ConsumerStart/rows`` and has not acknowledged the snapshot of the rows.
  public let isNew: Bool
  /// True if a loop owns the consumer. Stays true if the loop's process is killed.
  public let isOwned: Bool
  /// The id of the owner's process, on its machine; nil without an owner.
  public let ownerProcess: Int?
  /// The number of logged changes after the position, of all tables.
  public let lag: Int
  /// The age of the first unacknowledged change of the consumer's table. For a new consumer, the time since it started.
  /// Zero if all changes are acknowledged. If more than 10,000 changes of other tables follow the position, the age is
  /// that of the next change of any table. A running consumer never falls so far behind, because it stores its position
  /// after at most 1,000 such changes.
  public let delay: Duration
  /// The number of changes in quarantine.
  public let quarantined: Int
  /// The last error of the change or row that the consumer retries; nil if it retries none.
  public let error: String?
}

extension SqlDatabase {
  /// Returns the consumers of the change log, in the order of their names, with the number of changes that each has not
  /// acknowledged.
  ///
  /// ```swift
  /// for consumer in try db.changeConsumers() { print(consumer.name, consumer.lag, consumer.delay) }
  /// ```
  ///
  /// Throws `.schema(.missingTable)` if the database has no change log. Blocks the thread. In `async` code, use the
  /// overload for pools with `await`.
  public func changeConsumers(file: StaticString = #fileID, line: UInt = #line) throws -> [ChangeConsumer] {
    try withTransaction(.deferred, file: file, line: line) { try ChangeConsumer.all(in: $0) }
  }
}

extension SqlitePool {
  /// Includes the consumers of the change log, also those of other processes, in the pool's `health()` and metrics.
  ///
  /// ```swift
  /// pool.monitorChangeConsumers()
  /// ```
  ///
  /// A pool that starts a consumer calls this method itself. Further calls do nothing.
  public func monitorChangeConsumers() { ChangeMonitor.add(to: self) }

  /// Returns the consumers of the change log without blocking the thread; see
  /// ``SqlDatabase/changeConsumers(file:line:)``.
  public func changeConsumers(file: StaticString = #fileID, line: UInt = #line) async throws -> [ChangeConsumer] {
    try await read(file: file, line: line) { db in try ChangeConsumer.all(in: db) }
  }

  /// Removes a consumer with its position and its quarantine. A running loop with this name starts again as a new
  /// consumer.
  ///
  /// Does nothing if no consumer has the name. Throws `.schema(.missingTable)` if the database has no change log.
  public func removeChangeConsumer(_ name: String, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await transaction(file: file, line: line) { db in
      _ = try LogState(db)
      for statement in ChangeConsumer.removal(of: name) { try db.execute(statement) }
    }
  }
}

extension ChangeConsumer {
  /// The maximum number of changes in which a query searches for the next change of a consumer's table. The query reads
  /// each of these changes.
  private static let longestSearch = 10 * ConsumerRecord.longestGap

  fileprivate static func all(in db: SqliteDatabase) throws -> [ChangeConsumer] {
    let (end, first) = (try LogState(db).end, try LogState.first(in: db))
    return all(try query(first: first).run(db), first: first, end: end)
  }

  /// Returns the consumers of a remote database. All queries must belong to one transaction.
  package static func all(in remote: some AsyncSqlExecutor, _ copy: LogCopy) async throws -> [ChangeConsumer] {
    let end = try LogState(copy.db).end
    let first = max(try await LogState.firstQuery.rows(as: Int.self).run(remote)[0], 1)
    return all(try await query(first: first).run(remote), first: first, end: end)
  }

  /// The values of a consumer: its name; the history, number and time of its position; `isNew`; its owner; the start
  /// time of a new consumer; the time of its next change; the number of its quarantined changes; its error.
  private typealias Row = (String, String, Int, Int, Bool, String?, Int?, Int?, Int, String?)

  /// - Parameter first: The number of the first change in the log.
  private static func query(first: Int) -> SqlRows<Row> {
    let sql: SQL = """
      SELECT c."name", c."history", c."seq", c."at", c."isNew", c."owner", CASE WHEN c."isNew" THEN c."startedAt" END,
      (SELECT l."at" FROM main."sqlable_changes" AS l WHERE l."seq" > c."seq" AND (c."table" IS NULL
      OR l."seq" > max(c."seq", \(first - 1)) + \(longestSearch) OR l."table" IN
      (SELECT t."id" FROM main."sqlable_change_tables" AS t WHERE t."name" = c."table" COLLATE NOCASE))
      ORDER BY l."seq" LIMIT 1) AS next,
      (SELECT count(*) FROM main."sqlable_change_quarantine" AS q
      WHERE q."consumer" = c."name" AND q."isQuarantined" = 1) AS quarantined,
      (SELECT q."error" FROM main."sqlable_change_quarantine" AS q
      WHERE q."consumer" = c."name" AND q."isQuarantined" = 0 ORDER BY q."failedAt" DESC, q."seq" DESC LIMIT 1) AS error
      FROM main."sqlable_change_consumers" AS c ORDER BY c."name"
      """
    return sql.rows(
      as: String.self, String.self, Int.self, Int.self, Bool.self, String?.self, Int?.self, Int?.self, Int.self,
      String?.self)
  }

  private static func all(_ rows: [Row], first: Int, end: ChangePosition) -> [ChangeConsumer] {
    let now = ConsumerRecord.now
    return rows.map { name, history, number, time, isNew, owner, start, next, quarantined, error in
      // The log has no gaps, but its first changes might be deleted. Another program might have stored any number as a
      // position.
      let lag = max(max(end.number, 0) - max(number, first - 1), 0)
      return ChangeConsumer(
        name: name, position: ChangePosition(history: history, number: number, time: time), isNew: isNew,
        isOwned: owner != nil,
        ownerProcess: owner.flatMap { Int($0.prefix { $0 != "-" }) }, lag: lag,
        delay: .milliseconds([start, next].compactMap(\.self).min().map { max(now - max($0, 0), 0) } ?? 0),
        quarantined: quarantined, error: error)
    }
  }

  /// Returns the statements that remove a consumer.
  package static func removal(of name: String) -> [SQL] {
    [
      "DELETE FROM main.\"sqlable_change_consumers\" WHERE \"name\" = \(name)",
      "DELETE FROM main.\"sqlable_change_quarantine\" WHERE \"consumer\" = \(name)",
    ]
  }
}
