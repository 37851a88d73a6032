import SqlableCore
import SqlablePool

/// A monitor that adds the state of the consumers to the health check and the metrics of a pool.
enum ChangeMonitor {
  static func add(to pool: SqlitePool) {
    let monitor = PoolMonitor { db, limits in
      try consumers(db).flatMap { consumer in
        var problems: [SqlitePool.Health.Problem] = []
        if consumer.delay > limits.consumerDelay {
          problems.append(
            .consumerIsBehind(
              consumer.name, lag: consumer.lag, delay: consumer.delay, isNew: consumer.isNew, error: consumer.error))
        }
        if consumer.quarantined > limits.quarantinedChanges {
          problems.append(.changesInQuarantine(consumer.name, count: consumer.quarantined))
        }
        return problems
      }
    } gauges: { db in
      try consumers(db).flatMap { consumer in
        let numbers = [
          ("lag", Double(consumer.lag)), ("delay", consumer.delay / .seconds(1)),
          ("quarantined", Double(consumer.quarantined)),
        ]
        return numbers.map { name, value in
          PoolMonitor.Gauge(
            name: "sqlable.changes.\(name)", value: value, dimension: ("sqlable.changes.consumer", consumer.name))
        }
      }
    }
    pool.add(monitor, named: "changes")
  }

  /// Returns the consumers; empty if the log was dropped.
  private static func consumers(_ db: SqliteDatabase) throws -> [ChangeConsumer] {
    try db.tableExists(ChangeTables.consumers) ? db.changeConsumers() : []
  }
}
