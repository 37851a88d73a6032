import SqlableCore
import Synchronization

/// The receivers of the trace events of a handle and its descendants, of a cluster's client, or of the whole process.
package final class TraceHub: Sendable {
  package struct Receiver: Sendable {
    let token: TraceToken
    package let options: TraceOptions
    let body: @Sendable (TraceEvent) -> Void
  }

  private struct State {
    var receivers: [Receiver] = []
    /// The time of the last report of each statement shape to each receiver. Each kind of error has a separate entry.
    var reported: [Reported: ContinuousClock.Instant] = [:]
  }

  private struct Reported: Hashable {
    let token: TraceToken
    let sql: String
    let error: SqlError.Kind?
  }

  package static let process = TraceHub()
  private static let tokenCount = Atomic(0)
  /// The maximum number of entries in `reported`. When `reported` is full, all entries are removed, and the shapes can
  /// be reported again.
  private static let maximumReported = 10_000

  package static func newToken() -> TraceToken { TraceToken(number: tokenCount.add(1, ordering: .relaxed).newValue) }

  private let state = LockedValue(State())
  private let receiverCount = Atomic(0)
  private let valueReceivers = Atomic(0)

  package init() {}

  deinit { TraceCount.add(-receiverCount.load(ordering: .relaxed)) }

  package var isActive: Bool { receiverCount.load(ordering: .acquiring) > 0 }

  var wantsValues: Bool { valueReceivers.load(ordering: .relaxed) > 0 }

  /// Adds a receiver. Does nothing if the token already has a receiver.
  package func add(
    _ options: TraceOptions, as token: TraceToken = newToken(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    state.withLock { state in
      guard !state.receivers.contains(where: { $0.token == token }) else { return }
      state.receivers.append(Receiver(token: token, options: options, body: body))
      countReceivers(state)
    }
    return token
  }

  package func remove(_ token: TraceToken) {
    state.withLock { state in
      state.receivers.removeAll { $0.token == token }
      state.reported = state.reported.filter { $0.key.token != token }
      countReceivers(state)
    }
  }

  private func countReceivers(_ state: State) {
    let before = receiverCount.exchange(state.receivers.count, ordering: .acquiringAndReleasing)
    TraceCount.add(state.receivers.count - before)
    valueReceivers.store(state.receivers.count { !$0.options.values.isEmpty }, ordering: .relaxed)
  }

  func deliver(_ event: TraceEvent, with details: (any TraceDetails)? = nil) {
    TraceHub.deliver(event, to: receivers(of: event), with: details)
  }

  @inline(never)
  package static func deliver(_ event: TraceEvent, to receivers: [Receiver], with details: (any TraceDetails)? = nil) {
    var plan: [String]?
    for receiver in receivers {
      guard let details, event.error == nil || !receiver.options.values.isEmpty else {
        receiver.body(event)
        continue
      }
      var detailed = event
      detailed.values = details.values(of: receiver.options.values)
      let isExplained = event.error == nil && event.kind == .read
      if isExplained, receiver.options.explains {
        plan = plan ?? details.plan()
        detailed.plan = plan ?? []
      }
      if let advising = receiver.options.advising, event.error == nil, event.kind == .read || event.kind == .write {
        advising.source.advise(detailed, with: details, receiver.body)
      } else {
        receiver.body(detailed)
      }
    }
  }

  /// Returns the receivers of an event, and records the time of the event for each receiver with an `interval`. A
  /// receiver's options can exclude fast events, and shapes that were reported within the `interval`.
  package func receivers(of event: TraceEvent) -> [Receiver] {
    guard isActive else { return [] }
    let now = ContinuousClock.now
    return state.withLock { state in
      state.receivers.filter { receiver in
        guard receiver.options.wants(event) else { return false }
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

package protocol TraceDetails {
  func plan() -> [String]

  func values(of columns: [TracedColumns]) -> [TracedValue]
}

/// Details of a statement that another program ran. Index advice for the statement is tested on a copy of the schema.
package protocol RemoteTraceDetails: TraceDetails {
  /// The statement's SQL, with `?` for each value.
  var sql: String { get }

  /// A closure that returns a new in-memory database with the schema; nil if the schema can't be read. The caller
  /// closes the database.
  var schemaCopy: @Sendable () async -> SqliteDatabase? { get }
}

package protocol AdvisingEvents: Sendable {
  /// Calls `body` with the event. If the event gets advice, `body` runs later, on another thread or in another task.
  func advise(
    _ event: TraceEvent, with details: any TraceDetails, _ body: @escaping @Sendable (TraceEvent) -> Void)
}
