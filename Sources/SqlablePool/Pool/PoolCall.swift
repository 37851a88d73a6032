import Dispatch
import SqlableCore

/// One call on a pool: it waits, runs, and ends once.
///
/// Sound as `Sendable`:
/// 1. Mutable state is guarded by the pool's lock.
/// 2. `work` is called by one thread at a time, while the caller waits.
/// 3. `outcome` is written before `alarm` is signalled, and read after.
@usableFromInline
package final class PoolCall: @unchecked Sendable {
  package enum State {
    case created
    case waiting
    case running(PooledHandle)
    /// Its work is done or rolled back: it can no longer be stopped.
    case ending
  }

  /// Why a call is stopped.
  enum Reason {
    case cancelled, deadline, closing
    /// A read that has run for longer than `maximumRead`.
    case tooOld
  }

  @usableFromInline
  package enum Kind {
    case read
    /// A transaction or a single statement, which may share its commit with others.
    case write
    /// Work outside of a transaction of the pool.
    case outsideTransaction
    /// Work outside of a transaction, without a caller: the writer checks for commits of other connections.
    case detection

    var isRead: Bool { self == .read }
    var isOutsideTransaction: Bool { self == .outsideTransaction || self == .detection }
  }

  let kind: Kind
  let callSite: CallSite
  let begin = ContinuousClock.now
  /// The caller to which traces attribute the call's statements; nil if nothing is traced.
  let caller: TraceCaller?
  let deadline: ContinuousClock.Instant?
  /// The time at which the wait for a handle times out.
  let waitEnd: ContinuousClock.Instant?
  /// The closure to run with a handle; nil once the call has ended, since a nonescaping closure dies with its caller.
  private var work: ((SqliteDatabase) throws -> TransactionResult)?
  /// Called with the outcome; nil if a thread waits for it.
  let resume: (@Sendable (Result<Void, any Error>) -> Void)?

  var state = State.created
  var stopped: Reason?
  var gotHandle: ContinuousClock.Instant?
  /// Whether the call was tried on the thread of its caller, and runs again as another call.
  var isAbandoned = false
  /// Whether the call was reported as a long read.
  var isReported = false
  /// Wakes the waiting thread.
  var alarm: DispatchSemaphore?
  /// The outcome, for that thread.
  var outcome: Result<Void, any Error>?

  // Borrowed: a copy of the configuration for every call takes 300 instructions.
  init(
    _ kind: Kind, _ configuration: borrowing PoolConfiguration, _ callSite: CallSite,
    resume: (@Sendable (Result<Void, any Error>) -> Void)? = nil,
    _ work: @escaping (SqliteDatabase) throws -> TransactionResult
  ) {
    self.kind = kind
    self.callSite = callSite
    caller = TraceHub.isAnyActive ? TraceCaller(at: callSite) : nil
    self.work = work
    self.resume = resume
    let deadline = configuration.deadline.map(Deadline.after) ?? Deadline.current
    let waitEnd = configuration.waitTimeout.map { [begin] in begin.advanced(by: $0) } ?? deadline
    self.deadline = deadline
    // Without an array, which every call would pay for.
    self.waitEnd = waitEnd.map { min($0, deadline ?? $0) }
  }

  /// Runs the work; called again if a shared transaction was rolled back by another call's failure.
  func run(_ db: SqliteDatabase) throws -> TransactionResult {
    guard let work else { throw SqlError.misuse("can't run a pool call that has ended") }
    guard caller != nil else { return try work(db) }
    return try db.traced(as: caller) { () throws(any Error) in try work(db) }
  }

  /// To be called before the caller resumes.
  func forgetWork() { work = nil }

  var isWaiting: Bool { if case .waiting = state { true } else { false } }

  /// When the call times out in its present state.
  var nextCheck: ContinuousClock.Instant? {
    switch state {
    // A waiting thread times out by itself.
    case .waiting: resume == nil ? nil : waitEnd
    case .running: deadline
    case .created, .ending: nil
    }
  }

  /// Whether the error comes from a write that was stopped before its transaction had begun.
  private func waitsToBegin(_ error: SqlError) -> Bool {
    // A write that waits for the gate has run nothing.
    kind == .write && error.sql.map { $0.hasPrefix("BEGIN") } ?? (error.transaction == .none)
  }

  /// The error for the caller: cancellation, timeout or closing, if stopping the call has caused it.
  ///
  /// - Parameter holder: What to say of who holds the write lock, if the call was stopped while it waited for that.
  func error(_ error: any Error, label: String?, holder: () -> String = { "" }) -> any Error {
    guard let stopped, let cause = error as? SqlError, cause.kind == .interrupted || cause.kind == .busy else {
      return error
    }
    switch stopped {
    case .cancelled: return CancellationError()
    case .deadline:
      return SqlError(
        .timeout,
        message: "the deadline passed while the call at \(callSite) was running"
          + (waitsToBegin(cause) ? holder() : ""),
        sql: cause.sql,
        transaction: cause.transaction, label: label)
    case .tooOld:
      return SqlError(
        .timeout, message: "the read at \(callSite) has run for longer than maximumRead", sql: cause.sql,
        transaction: cause.transaction, label: label)
    case .closing:
      return SqlError(
        .closed, message: "the pool was closed while the call at \(callSite) was running",
        transaction: cause.transaction, label: label)
    }
  }
}

extension TraceCaller {
  fileprivate convenience init(at callSite: CallSite) {
    self.init(
      site: callSite, context: Tracing.context, task: TaskLocalSnapshot.current, isReceiver: Tracing.isReceiving)
  }
}

/// A first-in, first-out queue of calls. Calls that no longer wait stay in it until they are skipped.
struct PoolQueue {
  private var calls: [PoolCall] = []
  private var head = 0
  /// The number of calls that wait.
  private(set) var count = 0

  mutating func append(_ call: PoolCall) {
    calls.append(call)
    count += 1
  }

  /// Removes and returns the first call that waits.
  mutating func popFirst() -> PoolCall? {
    while head < calls.count {
      let call = calls[head]
      head += 1
      if head >= 64, head * 2 >= calls.count {
        calls.removeFirst(head)
        head = 0
      }
      guard call.isWaiting else { continue }
      count -= 1
      return call
    }
    return nil
  }

  /// The first call that waits.
  var first: PoolCall? { calls[head...].first(where: \.isWaiting) }

  /// To be called when a call stops waiting.
  mutating func forget() {
    count -= 1
    // While a handle is never returned, nothing skips them: they would pile up.
    guard calls.count - head > 64, (calls.count - head) / 2 > count else { return }
    calls = waiting
    head = 0
  }

  /// All calls that wait.
  var waiting: [PoolCall] { calls[head...].filter(\.isWaiting) }
}
