#if Metrics
import Dispatch
import Metrics
import Sqlable
import SqlableCluster
import SqlableTenants

extension SqlitePool {
  /// Reports durations, rows, waits and errors of statements, and the state of the pool, as metrics. The names follow
  /// OpenTelemetry's conventions for databases.
  ///
  /// ```swift
  /// pool.reportMetrics()                                  // to MetricsSystem.factory
  /// // db.client.operation.duration{db.operation.name=SELECT, db.collection.name=bicycle, …} 0.000084
  /// ```
  ///
  /// This method needs the package trait `Metrics`. Durations are in seconds, sizes in bytes. A metric has at most
  /// 1,000 series. Further statements share a series whose operation and table are `_OTHER`. Without a bootstrapped
  /// `MetricsSystem` nothing is measured.
  ///
  /// The factory and its metrics are called on a separate thread, without a lock of the library. The factory can block
  /// or use the pool. While the factory blocks, up to 10,000 events wait. Further events are dropped, and counted as
  /// `sqlable.events.dropped`.
  ///
  /// - Parameters:
  ///   - factory: The back end; by default `MetricsSystem.factory`, which must be bootstrapped before this call.
  ///   - interval: The time between two reports of the pool's state: its handles, the waiting calls, the size of the
  ///     WAL, and the hit rate of the statement caches.
  /// - Returns: A token for `removeTrace(_:)`, which stops the report.
  @discardableResult
  public func reportMetrics(
    to factory: (any MetricsFactory)? = nil, every interval: Duration = .seconds(10)
  ) -> TraceToken {
    guard let report = MetricsReport(factory, configuration.handles.label ?? root.filename) else {
      return TraceHub.newToken()
    }
    report.sample(every: interval) { [weak self] in
      self.flatMap { $0.isOpen ? .pool($0.statistics, $0.gauges()) : nil }
    }
    let token = trace { event in report.add(.statement(event)) }
    events.add(token) { event in report.add(.call(event)) }
    return token
  }
}

extension SqliteDatabase {
  /// Reports durations, rows and errors of the statements of this handle and its family as metrics; see
  /// ``SqlitePool/reportMetrics(to:every:)``.
  @discardableResult
  public func reportMetrics(to factory: (any MetricsFactory)? = nil) -> TraceToken {
    guard let report = MetricsReport(factory, configuration.label ?? filename) else { return TraceHub.newToken() }
    return trace { event in report.add(.statement(event)) }
  }
}

extension SqliteTenants {
  /// Reports durations, rows, waits and errors of the statements of all tenants in total, the state of the tenants, and
  /// the tenants with the slowest calls; see ``SqlitePool/reportMetrics(to:every:)``.
  ///
  /// ```swift
  /// tenants.reportMetrics(every: .seconds(10), slowest: 5)
  /// // sqlable.tenants.slowest_call.duration{sqlable.tenant=acme} 0.412
  /// ```
  ///
  /// One metric has the tenant's name as a dimension. At any time, this metric has series for at most `slowest`
  /// tenants: the tenants with the calls that held a handle for the longest time since the previous report. The series
  /// of other tenants are removed from the back end. `removeTrace(_:)` ends the report.
  @discardableResult
  public func reportMetrics(
    to factory: (any MetricsFactory)? = nil, every interval: Duration = .seconds(10), slowest: Int = 10
  ) -> TraceToken {
    guard let report = MetricsReport(factory, configuration.pool.handles.label ?? "tenants") else {
      return TraceHub.newToken()
    }
    let calls = SlowestCalls()
    let counts = LockedValue(statistics)
    report.sample(every: interval) { [weak self] in
      guard let self else { return nil }
      let health = health(slowest: .max)
      return counts.withLock { last in
        defer { last = health.statistics }
        return .tenants(health, since: last, calls.take(slowest))
      }
    }
    return observe { name, pool, token in
      pool.trace(TraceOptions(), as: token) { event in report.add(.statement(event)) }
      pool.events.add(token) { event in
        if case .ended(_, let used) = event { calls.add(name, used) }
        report.add(.call(event))
      }
    }
  }
}

/// The longest call of each tenant since the last report of the metrics.
private final class SlowestCalls: Sendable {
  private let longest = LockedValue<[String: Duration]>([:])

  func add(_ name: String, _ duration: Duration) {
    longest.withLock { $0[name] = max($0[name] ?? .zero, duration) }
  }

  /// Returns the tenants with the longest calls, and discards all recorded calls.
  func take(_ count: Int) -> [String: Duration] {
    let all = longest.withLock { longest in
      defer { longest = [:] }
      return longest
    }
    let sorted = all.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    return Dictionary(uniqueKeysWithValues: sorted.prefix(max(0, count)).map { ($0.key, $0.value) })
  }
}

#if Cluster
extension SqliteCluster {
  /// Reports durations, rows and errors of the statements of this client as metrics, and the number of leader changes;
  /// see ``SqlitePool/reportMetrics(to:every:)``.
  @discardableResult
  public func reportMetrics(
    to factory: (any MetricsFactory)? = nil, every interval: Duration = .seconds(10)
  ) -> TraceToken {
    guard let report = MetricsReport(factory, configuration.label ?? configuration.database) else {
      return TraceHub.newToken()
    }
    let last = LockedValue(statistics)
    report.sample(every: interval) { [weak self] in
      guard let now = self?.statistics else { return nil }
      return last.withLock { last in
        defer { last = now }
        return .cluster(
          leaderChanges: now.leaderChanges - last.leaderChanges, writes: now.writes - last.writes,
          commits: now.commits - last.commits)
      }
    }
    return trace { event in report.add(.statement(event)) }
  }
}
#endif

/// A report that turns events into metrics.
///
/// Safe as `Sendable`, because the timer is set before the report is shared, and Dispatch synchronizes the timer.
private final class MetricsReport: @unchecked Sendable {
  enum Item: Sendable {
    case statement(TraceEvent)
    case call(PoolEvent)
    case pool(SqlitePool.Statistics, [PoolMonitor.Gauge])
    /// The state of all tenants, the counts at the previous report, and the longest calls since then.
    case tenants(TenantsHealth, since: TenantsStatistics, [String: Duration])
    /// The changes of the cluster client's counters since the previous report.
    case cluster(leaderChanges: Int, writes: Int, commits: Int)
  }

  private let queue: EventQueue<Item>
  private var timer: (any DispatchSourceTimer)?

  /// Creates a report; returns nil without a back end.
  init?(_ factory: (any MetricsFactory)?, _ namespace: String) {
    let factory = factory ?? MetricsSystem.factory
    guard !(factory is NOOPMetricsHandler) else { return nil }
    let metrics = DatabaseMetrics(factory, namespace)
    queue = EventQueue { items, dropped in
      for item in items {
        switch item {
        case .statement(let event): metrics.record(event)
        case .call(let event): metrics.record(event)
        case .pool(let statistics, let gauges):
          metrics.record(statistics)
          metrics.record(gauges)
        case .tenants(let health, let last, let slowest): metrics.record(health, since: last, slowest)
        case .cluster(let changes, let writes, let commits): metrics.record(changes, writes, commits)
        }
      }
      if dropped > 0 { metrics.recordDropped(dropped) }
    }
  }

  deinit { timer?.cancel() }

  func add(_ item: Item) { queue.add(item) }

  /// Reports a state immediately, and then repeatedly until this object is released.
  func sample(every interval: Duration, _ state: @escaping @Sendable () -> Item?) {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "sqlable.metrics"))
    timer.setEventHandler { [queue] in
      if let state = state() { queue.add(state) }
    }
    timer.schedule(deadline: .now(), repeating: max(interval, .milliseconds(10)).dispatched)
    timer.resume()
    self.timer = timer
  }
}

/// The metrics of one database. One thread at a time uses this object.
private final class DatabaseMetrics: Sendable {
  private let series: MetricSeries
  private let namespace: String

  init(_ factory: any MetricsFactory, _ namespace: String) {
    series = MetricSeries(factory)
    self.namespace = namespace
  }

  private var database: [MetricDimension] {
    [MetricDimension("db.system.name", "sqlite"), MetricDimension("db.namespace", namespace)]
  }

  private var pool: [MetricDimension] { [MetricDimension("db.client.connection.pool.name", namespace)] }

  func record(_ event: TraceEvent) {
    let seconds = event.duration.inSeconds
    if case .transaction(let outcome) = event.kind {
      series.record(
        seconds, "sqlable.transaction.duration", database + [MetricDimension("sqlable.outcome", outcome.name)])
      return
    }
    // A back end may require the same dimensions in all series of a metric, so a missing value becomes an empty text.
    let statement = [
      MetricDimension("db.operation.name", event.operation, isUnbounded: true),
      MetricDimension("db.collection.name", event.table ?? "", isUnbounded: true),
      MetricDimension("db.query.summary", event.summary, isUnbounded: true),
    ]
    let error = MetricDimension("error.type", event.error?.kindName ?? "")
    series.record(seconds, "db.client.operation.duration", database + statement + [error])
    if event.kind == .read, event.error == nil {
      series.record(Double(event.rowsRead), "db.client.response.returned_rows", database + statement)
    }
  }

  func record(_ event: PoolEvent) {
    switch event {
    case .ended(let waited, let used):
      series.record(waited.inSeconds, "db.client.connection.wait_time", pool)
      series.record(used.inSeconds, "db.client.connection.use_time", pool)
    case .timedOut: series.count(1, "db.client.connection.timeouts", pool)
    case .longRead, .closed: break
    }
  }

  func record(_ statistics: SqlitePool.Statistics) {
    let used = statistics.openReaders - statistics.idleReaders + (statistics.isWriting ? 1 : 0)
    for (state, count) in [("used", used), ("idle", statistics.openReaders + 1 - used)] {
      series.set(
        Double(count), "db.client.connection.count", pool + [MetricDimension("db.client.connection.state", state)])
    }
    series.set(
      Double(statistics.waitingReads + statistics.waitingWrites), "db.client.connection.pending_requests", pool)
    series.set(Double(statistics.walSize), "sqlable.wal.size", pool)
    series.set(statistics.statementCache.hitRate, "sqlable.statement_cache.hit_rate", pool)
    series.set(statistics.oldestRead?.age.inSeconds ?? 0, "sqlable.oldest_read.duration", pool)
  }

  func record(_ gauges: [PoolMonitor.Gauge]) {
    for gauge in gauges {
      let dimension = MetricDimension(gauge.dimension.name, gauge.dimension.value, isUnbounded: true)
      series.set(gauge.value, gauge.name, pool + [dimension])
    }
  }

  func record(_ health: TenantsHealth, since last: TenantsStatistics, _ slowest: [String: Duration]) {
    let (now, pools) = (health.statistics, health.slowest.map(\.statistics))
    let readers = pools.reduce(0) { $0 + $1.openReaders }
    let used = pools.reduce(0) { $0 + $1.openReaders - $1.idleReaders + ($1.isWriting ? 1 : 0) }
    for (state, count) in [("used", used), ("idle", readers + pools.count - used)] {
      series.set(
        Double(count), "db.client.connection.count", pool + [MetricDimension("db.client.connection.state", state)])
    }
    let pending = pools.reduce(now.waiting) { $0 + $1.waitingReads + $1.waitingWrites }
    series.set(Double(pending), "db.client.connection.pending_requests", pool)
    series.set(Double(health.walSize), "sqlable.wal.size", pool)
    let oldest = pools.compactMap(\.oldestRead?.age).max() ?? .zero
    series.set(oldest.inSeconds, "sqlable.oldest_read.duration", pool)
    for (state, count) in [("used", now.open - now.idle), ("idle", now.idle)] {
      series.set(Double(count), "sqlable.tenants.open", pool + [MetricDimension("sqlable.tenants.state", state)])
    }
    series.set(Double(now.waiting), "sqlable.tenants.pending_requests", pool)
    series.set(health.oldestWait.inSeconds, "sqlable.tenants.oldest_wait.duration", pool)
    series.set(Double(now.threads), "sqlable.tenants.threads", pool)
    for (name, count) in [
      ("opened", now.opened - last.opened), ("closed", now.closed - last.closed), ("failed", now.failed - last.failed),
    ] {
      series.count(count, "sqlable.tenants.\(name)", pool)
    }
    let durations = slowest.map { (pool + [MetricDimension("sqlable.tenant", $0.key)], $0.value.inSeconds) }
    series.setOnly(durations, "sqlable.tenants.slowest_call.duration")
  }

  func record(_ leaderChanges: Int, _ writes: Int, _ commits: Int) {
    let counts = [("leader_changes", leaderChanges), ("writes", writes), ("commits", commits)]
    for (name, count) in counts { series.count(count, "sqlable.cluster.\(name)", database) }
  }

  func recordDropped(_ count: Int) { series.count(count, "sqlable.events.dropped", pool) }
}
#endif
