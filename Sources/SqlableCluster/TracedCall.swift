#if Cluster
import Sqlable

/// A traced call on a cluster. The events are delivered after the call. Inside a transaction, the events are delivered
/// after the whole transaction.
final class TracedCall: Sendable {
  @TaskLocal static var site: CallSite?
  /// The maximum number of statements that are reported per transaction.
  private static let maximumStatements = 10_000

  private struct Traced {
    var event: TraceEvent
    let request: SqlRequest?
  }

  private struct State {
    var events: [Traced] = []
    var statements = 0
    var changes = 0
  }

  let times = CallTimes()
  private let cluster: SqliteCluster
  private let origin: TraceEvent.Origin
  private let state = LockedValue(State())

  /// Returns nil if no trace is active, or if a trace receiver makes the call.
  init?(on cluster: SqliteCluster) {
    guard cluster.traces.isActive || TraceHub.process.isActive, !Tracing.isReceiving else { return nil }
    self.cluster = cluster
    origin = TracedCall.origin(on: cluster)
  }

  private static func origin(on cluster: SqliteCluster) -> TraceEvent.Origin {
    let site = TracedCall.site.flatMap { $0.isInLibrary ? nil : $0.description }
    return TraceEvent.Origin(
      label: cluster.configuration.label, handle: cluster.number, callSite: site, context: Tracing.context)
  }

  /// Adds the events of requests that ran, up to the failed request. Requests that were sent together share the time
  /// equally. Inside a transaction the time comes from `requestTimes`, otherwise from the call.
  func add(_ requests: [SqlRequest], _ outcome: Result<[SqlAnswer], any Error>, _ requestTimes: CallTimes? = nil) {
    let origin = TracedCall.origin(on: cluster)
    let end = ContinuousClock.now
    let all = (requestTimes ?? times).parts(until: end)
    let isSingle = requests.count == 1
    let failed = isSingle ? 0 : (outcome.failure as? SqlError)?.batchIndex
    let answers = (try? outcome.get()) ?? []
    let count = outcome.failure == nil ? requests.count : failed.map { $0 + 1 } ?? 0
    let events = requests.prefix(min(count, TracedCall.maximumStatements)).enumerated().map { index, request in
      let shape = StatementShape.cache.value(of: request.sql)
      let answer = index < answers.count ? answers[index] : SqlAnswer()
      return Traced(
        event: TraceEvent(
          shape, origin, waiting: isSingle ? all.waiting : .zero,
          stepping: isSingle ? all.stepping : all.stepping / count, committing: isSingle ? all.committing : .zero,
          rowsRead: answer.rows.count, rowsChanged: answer.changes,
          error: index == failed ? outcome.failure?.tracedOfCluster : nil, end: end), request: request)
    }
    state.withLock { state in
      state.statements += count
      state.changes += answers.reduce(0) { $0 + $1.changes }
      state.events += events.prefix(max(0, TracedCall.maximumStatements - state.events.count))
    }
  }

  func add(_ request: SqlRequest, rows: Int, _ error: (any Error)?, _ requestTimes: CallTimes? = nil) {
    let end = ContinuousClock.now
    let all = (requestTimes ?? times).parts(until: end)
    let event = TraceEvent(
      StatementShape.cache.value(of: request.sql), TracedCall.origin(on: cluster), waiting: all.waiting,
      stepping: all.stepping + all.committing, committing: .zero, rowsRead: rows, rowsChanged: 0,
      error: error?.tracedOfCluster,
      end: end)
    state.withLock { state in
      state.statements += 1
      if state.events.count < TracedCall.maximumStatements {
        state.events.append(Traced(event: event, request: request))
      }
    }
  }

  /// Adds the event of an error that was thrown before a request was made, as for an invalid statement.
  func add(_ error: any Error) {
    let event = TraceEvent(
      StatementShape.cache.value(of: ""), TracedCall.origin(on: cluster), waiting: .zero, stepping: .zero,
      committing: .zero, rowsRead: 0, rowsChanged: 0, error: error.tracedOfCluster, end: ContinuousClock.now)
    state.withLock { $0.events.append(Traced(event: event, request: nil)) }
  }

  /// Adds the event of a transaction. The event covers the statements that were added after the last transaction event.
  func end(_ outcome: TraceEvent.Outcome, _ error: (any Error)? = nil) {
    let end = ContinuousClock.now
    let all = times.parts(until: end)
    state.withLock { state in
      var event = TraceEvent(
        transaction: outcome, origin, waiting: all.waiting, stepping: all.stepping, committing: all.committing,
        rowsChanged: outcome == .committed ? state.changes : 0, statements: state.statements,
        error: error?.tracedOfCluster,
        end: end)
      let failure = event.error?.ofStatement
      event.repeatsError = failure != nil && state.events.contains { $0.event.error?.ofStatement == failure }
      state.events.append(Traced(event: event, request: nil))
      (state.statements, state.changes) = (0, 0)
    }
  }

  func ended(_ outcome: TraceEvent.Outcome, _ error: (any Error)? = nil) async {
    end(outcome, error)
    await deliver()
  }

  /// Calls the trace receivers. Statements that receivers run are not traced.
  func deliver() async {
    let events = state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
    await Tracing.$isReceiving.withValue(true) {
      for traced in events {
        for hub in [cluster.traces, TraceHub.process] {
          let receivers = hub.receivers(of: traced.event)
          guard !receivers.isEmpty else { continue }
          let details = await cluster.details(of: traced.event, traced.request, for: receivers)
          TraceHub.deliver(traced.event, to: receivers, with: details)
        }
      }
    }
  }
}

extension TraceEvent.Outcome {
  init(_ error: any Error) { self = (error as? SqlError)?.kind == .outcomeUnknown ? .unknown : .rolledBack }
}

extension SqlError {
  /// The error without the parts that a transaction adds: the outcome of the transaction and the client's label.
  fileprivate var ofStatement: SqlError {
    var error = self
    (error.transaction, error.label) = (.none, nil)
    return error
  }
}

extension SqliteCluster {
  /// Reports an error of a call that made no request, if any trace is active. Returns the error for the caller.
  func reported(_ error: any Error) async -> any Error {
    guard !error.needsNoEvent, let call = TracedCall(on: self) else { return error }
    call.add(error)
    await call.deliver()
    return error.traced
  }
}

extension Error {
  fileprivate var tracedOfCluster: SqlError {
    if let error = ofCluster as? SqlError { return error }
    return SqlError(.interrupted, message: self is CancellationError ? "the task was cancelled" : "a closure threw")
  }
}

extension TraceEvent {
  fileprivate init(
    _ shape: StatementShape, _ origin: Origin, waiting: Duration, stepping: Duration, committing: Duration,
    rowsRead: Int, rowsChanged: Int, error: SqlError?, end: ContinuousClock.Instant
  ) {
    self.init(
      kind: Kind(shape), label: origin.label, handle: origin.handle, table: shape.table ?? error?.table,
      operation: shape.sql.isEmpty ? "CALL" : shape.verb, sql: shape.sql, waiting: waiting, compiling: .zero,
      stepping: stepping, committing: committing,
      rowsRead: rowsRead, rowsChanged: rowsChanged, rowsScanned: 0, sorts: 0, automaticIndexRows: 0, isCached: false,
      statements: 1, callSite: origin.callSite, context: origin.context, error: error, plan: [], end: end)
  }

  fileprivate init(
    transaction outcome: Outcome, _ origin: Origin, waiting: Duration, stepping: Duration, committing: Duration,
    rowsChanged: Int, statements: Int, error: SqlError?, end: ContinuousClock.Instant
  ) {
    self.init(
      kind: .transaction(outcome), label: origin.label, handle: origin.handle, table: nil, operation: "TRANSACTION",
      sql: "", waiting: waiting, compiling: .zero, stepping: stepping, committing: committing, rowsRead: 0,
      rowsChanged: rowsChanged, rowsScanned: 0, sorts: 0, automaticIndexRows: 0, isCached: false,
      statements: statements, callSite: origin.callSite, context: origin.context, error: error, plan: [], end: end)
  }
}
#endif
