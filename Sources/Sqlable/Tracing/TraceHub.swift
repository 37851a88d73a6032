import Synchronization

/// Those who receive the events of a handle, its children and their children, or of the whole process.
final class TraceHub: Sendable {
  struct Receiver: Sendable {
    let token: TraceToken
    let options: TraceOptions
    let body: @Sendable (TraceEvent) -> Void
  }

  private struct State {
    var receivers: [Receiver] = []
    /// When each shape was last reported, by receiver; one that fails is another than one that is slow.
    var reported: [Reported: ContinuousClock.Instant] = [:]
  }

  private struct Reported: Hashable {
    let token: TraceToken
    let sql: String
    let error: SqlError.Kind?
  }

  /// The receivers of all handles' events.
  static let process = TraceHub()
  private static let tokenCount = Atomic(0)
  /// The most shapes whose last report is known; after more, all may be reported again.
  private static let maximumReported = 10_000

  static func newToken() -> TraceToken { TraceToken(number: tokenCount.add(1, ordering: .relaxed).newValue) }

  private let state = Guarded(State())
  private let receiverCount = Atomic(0)
  /// The number of receivers in the process.
  private static let allReceivers = Atomic(0)

  /// Whether anything in the process is traced.
  static var isAnyActive: Bool { allReceivers.load(ordering: .relaxed) > 0 }

  deinit { TraceHub.allReceivers.subtract(receiverCount.load(ordering: .relaxed), ordering: .relaxed) }

  var isActive: Bool { receiverCount.load(ordering: .acquiring) > 0 }

  func add(_ options: TraceOptions, _ body: @escaping @Sendable (TraceEvent) -> Void) -> TraceToken {
    let token = TraceHub.newToken()
    state.withLock { state in
      state.receivers.append(Receiver(token: token, options: options, body: body))
      countReceivers(state)
    }
    return token
  }

  func remove(_ token: TraceToken) {
    state.withLock { state in
      state.receivers.removeAll { $0.token == token }
      state.reported = state.reported.filter { $0.key.token != token }
      countReceivers(state)
    }
  }

  private func countReceivers(_ state: State) {
    let before = receiverCount.exchange(state.receivers.count, ordering: .acquiringAndReleasing)
    TraceHub.allReceivers.add(state.receivers.count - before, ordering: .relaxed)
  }

  /// Calls the receivers that want an event; `plan` is called at most once.
  func deliver(_ event: TraceEvent, plan: () -> [String]) {
    var explained: TraceEvent?
    for receiver in receivers(of: event) {
      guard receiver.options.explains, case .read = event.kind, event.error == nil else {
        receiver.body(event)
        continue
      }
      if explained == nil {
        explained = event
        explained?.plan = plan()
      }
      receiver.body(explained ?? event)
    }
  }

  private func receivers(of event: TraceEvent) -> [Receiver] {
    guard isActive else { return [] }
    let now = ContinuousClock.now
    return state.withLock { state in
      state.receivers.filter { receiver in
        guard event.error != nil || event.duration >= receiver.options.slowerThan else { return false }
        guard let interval = receiver.options.interval else { return true }
        let key = Reported(token: receiver.token, sql: event.sql, error: event.error?.kind)
        if let last = state.reported[key], now - last < interval { return false }
        if state.reported.count >= TraceHub.maximumReported { state.reported = [:] }
        state.reported[key] = now
        return true
      }
    }
  }
}

/// Which statements and transactions a trace reports.
public struct TraceOptions: Sendable, Hashable {
  /// Reports what took at least this long, and what failed. Default: zero, which reports all.
  public var slowerThan: Duration

  /// Reports a statement of one shape at most once in this time. Default: nil, always.
  public var interval: Duration?

  /// Attaches the query plan to reads, at the cost of one `EXPLAIN QUERY PLAN` for each that is reported. Default:
  /// false.
  public var explains: Bool

  public init(slowerThan: Duration = .zero, interval: Duration? = nil, explains: Bool = false) {
    (self.slowerThan, self.interval, self.explains) = (slowerThan, interval, explains)
  }

  /// Slow statements with their plans, each shape at most once a minute.
  public static func slow(_ duration: Duration = .milliseconds(100)) -> TraceOptions {
    TraceOptions(slowerThan: duration, interval: .seconds(60), explains: true)
  }
}

/// The shapes of SQL texts that were traced lately.
final class ShapeCache: Sendable {
  static let shared = ShapeCache()
  private static let maximumCount = 1_000
  private let shapes = Guarded<[String: StatementShape]>([:])

  func shape(of sql: String) -> StatementShape {
    if let known = shapes.withLock({ $0[sql] }) { return known }
    let shape = StatementShape(of: sql)
    // A text that is cut for its length would keep megabytes.
    guard sql.utf8.count <= StatementShape.maximumLength else { return shape }
    shapes.withLock { shapes in
      if shapes.count >= ShapeCache.maximumCount { shapes = [:] }
      shapes[sql] = shape
    }
    return shape
  }
}
