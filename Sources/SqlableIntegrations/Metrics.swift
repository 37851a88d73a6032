#if Metrics
import Dispatch
import Metrics
import Sqlable
import SqlableCluster

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

  func record(_ leaderChanges: Int, _ writes: Int, _ commits: Int) {
    let counts = [("leader_changes", leaderChanges), ("writes", writes), ("commits", commits)]
    for (name, count) in counts { series.count(count, "sqlable.cluster.\(name)", database) }
  }

  func recordDropped(_ count: Int) { series.count(count, "sqlable.events.dropped", pool) }
}
#endif
