import Dispatch
import SqlableCore
import SqlableTracing

extension TraceOptions {
  /// True if events of reads and writes get index advice. The advice proposes indexes that avoid full table scans.
  /// Default: false.
  ///
  /// The indexes are tested in a copy of the schema, on a separate thread and connection. For statements whose SQL
  /// differs only in values, the test runs at most once a minute. The event is delivered on the separate thread, some
  /// milliseconds late. In-memory databases get no advice.
  public var advises: Bool {
    get { advising != nil }
    set { advising = newValue ? Advising(IndexAdvisor.shared) : nil }
  }

  /// Creates options with or without index advice; see ``advises``.
  public init(
    slowerThan: Duration = .zero, interval: Duration? = nil, explains: Bool = false, advises: Bool,
    values: [TracedColumns] = []
  ) {
    self.init(slowerThan: slowerThan, interval: interval, explains: explains, values: values)
    self.advises = advises
  }

  /// Options for slow statements with their plans, with or without index advice. Statements whose SQL differs only in
  /// values are reported at most once a minute.
  public static func slow(_ duration: Duration = .milliseconds(100), advises: Bool) -> TraceOptions {
    TraceOptions(slowerThan: duration, interval: .seconds(60), explains: true, advises: advises)
  }
}

/// An advisor that adds index advice to events. The advisor has its own thread and connections, so no caller waits for
/// the advice.
final class IndexAdvisor: AdvisingEvents {
  private struct State {
    /// The time of the last advice for each SQL text; values in the text are replaced by `?`.
    var advised: [String: ContinuousClock.Instant] = [:]
    var waiting = 0
  }

  static let shared = IndexAdvisor()
  private static let interval = Duration.seconds(60)
  /// The maximum number of stored SQL texts. When the limit is reached, all entries are removed.
  private static let maximumShapes = 1_000
  /// The maximum number of waiting events. Further events get no advice.
  private static let maximumWaiting = 100

  private let queue = DispatchQueue(label: "sqlable.advice")
  private let state = LockedValue(State())

  func advise(
    _ event: TraceEvent, with details: any TraceDetails, _ body: @escaping @Sendable (TraceEvent) -> Void
  ) {
    switch details {
    case let details as RunDetails: advise(event, of: details.run, on: details.db, body)
    case let details as any RemoteTraceDetails: advise(event, of: details.sql, on: details.schemaCopy, body)
    default: body(event)
    }
  }

  /// Calls `body` with the event. If the event gets advice, `body` is called on the advisor's thread.
  private func advise(
    _ event: TraceEvent, of run: MeasuredRun, on db: SqliteDatabase, _ body: @escaping @Sendable (TraceEvent) -> Void
  ) {
    guard !db.isInMemory, takesTurn(event) else { return body(event) }
    queue.async { [state] in
      defer { state.withLock { $0.waiting -= 1 } }
      Tracing.$isReceiving.withValue(true) {
        var event = event
        event.advice = IndexAdvisor.advice(for: run.sql, on: db)
        run.task.restoring { body(event) }
      }
    }
  }

  /// Calls `body` with the event. If the event gets advice, `body` is called in a separate task.
  private func advise(
    _ event: TraceEvent, of sql: String, on schemaCopy: @escaping @Sendable () async -> SqliteDatabase?,
    _ body: @escaping @Sendable (TraceEvent) -> Void
  ) {
    guard takesTurn(event) else { return body(event) }
    Task { [state] in
      defer { state.withLock { $0.waiting -= 1 } }
      var event = event
      if let copy = await schemaCopy() {
        event.advice = (try? copy.advice(forText: sql)) ?? []
        try? copy.close()
      }
      body(event)
    }
  }

  private static func advice(for sql: String, on db: SqliteDatabase) -> [String] {
    // Calls such as `withClosed` close all connections to the file, but do not know the handle that `openApart`
    // returns. `begin` makes these calls wait until that handle is closed.
    guard (try? db.family.begin(.init(callSite: "index advice"), for: db, until: .now)) != nil else { return [] }
    defer { db.family.endClosing() }
    guard let handle = try? db.openApart() else { return [] }
    defer { try? handle.close() }
    return (try? handle.advice(forText: sql)) ?? []
  }

  private func takesTurn(_ event: TraceEvent) -> Bool {
    let now = ContinuousClock.now
    return state.withLock { state in
      if let last = state.advised[event.sql], now - last < IndexAdvisor.interval { return false }
      guard state.waiting < IndexAdvisor.maximumWaiting else { return false }
      if state.advised.count >= IndexAdvisor.maximumShapes { state.advised = [:] }
      state.advised[event.sql] = now
      state.waiting += 1
      return true
    }
  }
}
