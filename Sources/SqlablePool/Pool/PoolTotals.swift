import SqlableCore
import SqlableTracing

extension SqlitePool {
  /// The pool's most expensive statements by shape, each with the number of runs, total time, p50 and p99.
  ///
  /// ```swift
  /// var configuration = PoolConfiguration()
  /// configuration.keepsTotals = true
  /// let pool = try SqlitePool(filepath: path, configuration: configuration)
  /// for statement in pool.topStatements(10) { print(statement) }
  /// // 5120 runs, 61.440 ms, p50 0.011 ms, p99 0.040 ms: SELECT "id", "name" FROM "bicycle" WHERE "color" = ?
  /// ```
  ///
  /// The result is empty without ``PoolConfiguration/keepsTotals``. The pool counts up to a thousand shapes separately,
  /// in at most two megabytes; see ``StatementTotals``. Never waits for a call.
  public func topStatements(_ count: Int = 100, by order: StatementTotals.Order = .total) -> [StatementTotals.Total] {
    totals?.top(count, by: order) ?? []
  }

  /// Resets ``topStatements(_:by:)`` and the calls, commits and times of ``statistics``.
  ///
  /// The counters of SQLite and of the statement caches continue.
  public func resetStatistics() {
    totals?.reset()
    withState { $0.resetCounts() }
  }
}
