import Dispatch
import SqlableCore

extension TraceOptions {
  /// Attaches index advice to reads and writes: indexes for tables that they scan completely to find some rows.
  /// Default: false.
  ///
  /// The indexes are tested in a copy of the schema, on a thread and a connection of their own, once in a minute for a
  /// shape; the event is delivered on that thread, some milliseconds late. A database in memory has none.
  public var advises: Bool {
    get { advising != nil }
    set { advising = newValue ? Advising(IndexAdvisor.shared) : nil }
  }

  /// Options with or without index advice; see ``advises``.
  public init(
    slowerThan: Duration = .zero, interval: Duration? = nil, explains: Bool = false, advises: Bool,
    values: [TracedColumns] = []
  ) {
    self.init(slowerThan: slowerThan, interval: interval, explains: explains, values: values)
    self.advises = advises
  }

  /// Slow statements with their plans, each shape at most once a minute, with or without index advice.
  public static func slow(_ duration: Duration = .milliseconds(100), advises: Bool) -> TraceOptions {
    TraceOptions(slowerThan: duration, interval: .seconds(60), explains: true, advises: advises)
  }
}

/// Details of a statement for which another side finds the advice.
package protocol FindingAdvice: TraceDetails {
  /// `CREATE INDEX` statements; none where they can't be found.
  var findAdvice: @Sendable () async -> [String] { get }
}

/// Adds index advice to events, on a thread and connections of its own, so that no caller waits for it.
final class IndexAdvisor: AdvisingEvents {
  private struct State {
    /// When each shape was last advised.
    var advised: [String: ContinuousClock.Instant] = [:]
    /// The number of events that wait for their advice.
    var waiting = 0
  }

  static let shared = IndexAdvisor()
  private static let interval = Duration.seconds(60)
  /// The most shapes that are remembered; after more, all may be advised again.
  private static let maximumShapes = 1_000
  /// Beyond this many, events get no advice.
  private static let maximumWaiting = 100

  private let queue = DispatchQueue(label: "sqlable.advice")
  private let state = LockedValue(State())

  func advise(
    _ event: TraceEvent, with details: any TraceDetails, _ body: @escaping @Sendable (TraceEvent) -> Void
  ) {
    switch details {
    case let details as RunDetails: advise(event, of: details.run, on: details.db, body)
    case let details as any FindingAdvice: advise(event, body, details.findAdvice)
    default: body(event)
    }
  }

  /// Calls `body` with the event, on the advisor's thread if it is to get advice, otherwise at once.
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

  /// Calls `body` with the event, in a task of its own if it is to get advice, otherwise at once.
  private func advise(
    _ event: TraceEvent, _ body: @escaping @Sendable (TraceEvent) -> Void,
    _ find: @escaping @Sendable () async -> [String]
  ) {
    guard takesTurn(event) else { return body(event) }
    Task { [state] in
      defer { state.withLock { $0.waiting -= 1 } }
      var event = event
      event.advice = await find()
      body(event)
    }
  }

  private static func advice(for sql: String, on db: SqliteDatabase) -> [String] {
    // A call that closes the file waits for the connection, which it could not close.
    guard (try? db.family.begin(.init(callSite: "index advice"), until: .now)) != nil else { return [] }
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
