import SqlableCore

/// Health checks and metrics that a module above the pool adds to the pool, such as the lag of consumers.
package struct PoolMonitor: Sendable {
  package struct Gauge: Sendable {
    package let name: String
    package let value: Double
    /// The metric's other dimension, in addition to the pool: for example the name of a consumer.
    package let dimension: (name: String, value: String)

    package init(name: String, value: Double, dimension: (name: String, value: String)) {
      (self.name, self.value, self.dimension) = (name, value, dimension)
    }
  }

  /// Returns the problems that the monitor finds. The health check calls this closure within its test read.
  package let problems: @Sendable (SqliteDatabase, SqlitePool.HealthLimits) throws -> [SqlitePool.Health.Problem]
  package let gauges: @Sendable (SqliteDatabase) throws -> [Gauge]

  package init(
    problems: @escaping @Sendable (SqliteDatabase, SqlitePool.HealthLimits) throws -> [SqlitePool.Health.Problem],
    gauges: @escaping @Sendable (SqliteDatabase) throws -> [Gauge]
  ) {
    (self.problems, self.gauges) = (problems, gauges)
  }
}

extension SqlitePool {
  package func add(_ monitor: PoolMonitor, named name: String) {
    monitors.withLock { monitors in
      if monitors[name] == nil { monitors[name] = monitor }
    }
  }

  private var allMonitors: [PoolMonitor] { monitors.withLock { $0.ordered { $0.key < $1.key }.map(\.value) } }

  /// Runs a test read for the health check, and returns the problems that the monitors find.
  func monitoredProblems(_ db: SqliteDatabase, _ limits: HealthLimits) throws -> [Health.Problem] {
    _ = try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
    return try allMonitors.flatMap { try $0.problems(db, limits) }
  }

  /// Returns the numbers of all monitors; empty if the numbers can't be read within a second.
  package func gauges() -> [PoolMonitor.Gauge] {
    let monitors = allMonitors
    guard !monitors.isEmpty, !areReadersBusy else { return [] }
    let gauges = try? withDeadline(.seconds(1)) {
      try read { db in try monitors.flatMap { try $0.gauges(db) } }
    }
    return gauges ?? []
  }
}
