import Dispatch
import SqlableCore
import SqlableTracing

/// One call on a pool, which waits, runs and ends once.
///
/// `PoolCall` is safe as `@unchecked Sendable`:
/// 1. The pool's lock guards mutable state.
/// 2. One thread at a time calls `work`, while the caller waits.
/// 3. `outcome` is written before `alarm` is signalled, and read afterwards.
@usableFromInline
package final class PoolCall: @unchecked Sendable {
  package enum State {
    case created
    case waiting
    /// The call has a handle, and waits for one of the pool's threads.
    case granted(PooledHandle)
    case running(PooledHandle)
    /// The work is committed or rolled back, and can no longer be stopped.
    case ending
  }

  package enum Reason {
    case cancelled, deadline, closing
    /// A read that has run for longer than `maximumRead`.
    case tooOld
  }

  @usableFromInline
  package enum Kind {
    case read
    /// A transaction or a single statement, which can share its commit with other calls.
    case write
    case outsideTransaction
    /// A statement that SQLite refuses in a transaction, such as VACUUM. Inside a closure of the pool, the statement
    /// runs on the closure's handle, and SQLite throws if that handle is in a transaction.
    case standalone
    /// Work without a transaction or caller: the writer checks for commits of other connections.
    case detection

    @usableFromInline var isRead: Bool { self == .read }
    var isOutsideTransaction: Bool { self != .read && self != .write }
  }

  package let kind: Kind
  let callSite: CallSite
  let begin: ContinuousClock.Instant
  /// The caller to which traces attribute the call's statements; nil if the pool has no trace.
  let caller: TraceCaller?
  package let deadline: ContinuousClock.Instant?
  private let waitTimeout: Duration?
  /// The closure to run with a handle; nil after the call, because the caller's closure can be nonescaping.
  private var work: ((SqliteDatabase) throws -> TransactionResult)?
  /// The closure that receives the outcome; nil if a thread waits for the outcome.
  package let resume: (@Sendable (Result<Void, any Error>) -> Void)?

  // The pool's lock guards these properties. The thread that runs the call may read `hasHandle` and `handleTime`
  // without the lock, and is the only thread that writes `isAbandoned`. Without `@exclusivity(unchecked)`, Swift would
  // check each access at run time.
  @exclusivity(unchecked) package internal(set) var state = State.created
  @exclusivity(unchecked) package internal(set) var stopped: Reason?
  /// True once the call has got a handle.
  @exclusivity(unchecked) private(set) var hasHandle = false
  /// The time at which the call got its handle; before that, the time at which the call began. Not an optional value,
  /// because the size of an `Instant` is known only at run time: each use of an optional instant takes some fifty
  /// instructions.
  @exclusivity(unchecked) private(set) var handleTime: ContinuousClock.Instant
  /// True if a quick read on the caller's thread was interrupted. The work then runs again as another call.
  @exclusivity(unchecked) var isAbandoned = false
  /// True if the pool's counts include the call: a read with a claim counts itself.
  @exclusivity(unchecked) var isCounted = false
  /// True if the call was reported as a long read.
  @exclusivity(unchecked) var isReported = false
  @exclusivity(unchecked) package internal(set) var alarm: DispatchSemaphore?
  @exclusivity(unchecked) package private(set) var outcome: Result<Void, any Error>?

  // The configuration is borrowed, because copying it takes 300 instructions per call.
  package init(
    _ kind: Kind, _ configuration: borrowing PoolConfiguration, _ callSite: CallSite,
    at begin: ContinuousClock.Instant = .now, resume: (@Sendable (Result<Void, any Error>) -> Void)? = nil,
    _ work: @escaping (SqliteDatabase) throws -> TransactionResult
  ) {
    self.kind = kind
    self.callSite = callSite
    (self.begin, handleTime) = (begin, begin)
    caller = TraceCount.isPositive ? TraceCaller(at: callSite) : nil
    self.work = work
    self.resume = resume
    // The earlier of two optional deadlines. Finding it with an array would cost an allocation in every call.
    let outer = Deadline.current
    deadline = configuration.deadline.map { min(begin.advanced(by: $0), outer ?? begin.advanced(by: $0)) } ?? outer
    waitTimeout = configuration.waitTimeout
  }

  /// Creates the running call of a read whose claim on the reader was revoked.
  init(of read: ThreadReads.Read, on reader: PooledHandle) {
    kind = .read
    callSite = read.callSite
    begin = ClockTime.instant(read.begin)
    handleTime = begin
    hasHandle = true
    state = .running(reader)
    (caller, deadline, waitTimeout, resume) = (nil, nil, nil, nil)
  }

  /// The time at which the wait for a handle and a thread times out.
  package var waitEnd: ContinuousClock.Instant? {
    guard let waitTimeout else { return deadline }
    let end = begin.advanced(by: waitTimeout)
    return min(end, deadline ?? end)
  }

  /// The time at which the call got its handle; nil until then.
  var gotHandle: ContinuousClock.Instant? { hasHandle ? handleTime : nil }

  func didGetHandle(at time: ContinuousClock.Instant) { (hasHandle, handleTime) = (true, time) }

  /// Runs the work. Called again if another call's failure rolled back the shared transaction.
  func run(_ db: SqliteDatabase) throws -> TransactionResult {
    guard let work else { throw SqlError.misuse("can't run a pool call that has ended") }
    guard caller != nil else { return try work(db) }
    return try db.traced(as: caller) { () throws(any Error) in try work(db) }
  }

  /// Releases the closure. Call this method before the caller resumes.
  func forgetWork() { work = nil }

  /// True if the caller's thread, which waits for a handle, is woken to run the call. Otherwise, the handle's thread
  /// runs the call.
  package func callerRuns(on handle: PooledHandle) -> Bool { alarm != nil && !handle.isWriter }

  /// Resumes the caller, or wakes the caller's thread.
  package func end(_ outcome: Result<Void, any Error>) {
    forgetWork()
    if let resume { return resume(outcome) }
    self.outcome = outcome
    alarm?.signal()
  }

  package var isWaiting: Bool { if case .waiting = state { true } else { false } }

  /// The time at which the call times out in its current state.
  var nextCheck: ContinuousClock.Instant? {
    switch state {
    // Without `resume`, the caller's thread waits and handles the timeout itself.
    case .waiting, .granted: resume == nil ? nil : waitEnd
    case .running: deadline
    case .created, .ending: nil
    }
  }

  /// True if the error comes from a write that was stopped before its transaction began.
  private func waitsToBegin(_ error: SqlError) -> Bool {
    // A write that waits for its turn has run no statement.
    kind == .write && error.sql.map { $0.hasPrefix("BEGIN") } ?? (error.transaction == .none)
  }

  /// Returns the error that the caller gets. If the call failed because it was stopped, the caller gets a
  /// `CancellationError`, `.timeout` or `.closed`. Otherwise the caller gets `error`.
  ///
  /// - Parameter holder: Returns the text about the write lock's holder, for a call that was stopped while waiting for
  ///   the lock.
  package func error(_ error: any Error, label: String?, holder: () -> String = { "" }) -> any Error {
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

/// A first-in, first-out queue of calls. Calls that no longer wait stay until `popFirst` or `forget` removes them.
package struct PoolQueue {
  private var calls: [PoolCall] = []
  private var head = 0
  package private(set) var count = 0

  mutating func append(_ call: PoolCall) {
    calls.append(call)
    count += 1
  }

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

  var first: PoolCall? { calls[head...].first(where: \.isWaiting) }

  /// Counts a call that has stopped waiting. Removes such calls when the queue contains many of them.
  mutating func forget() {
    count -= 1
    // As long as no call returns a handle, `popFirst` does not run. So remove ended calls here, before they fill the
    // queue.
    guard calls.count - head > 64, (calls.count - head) / 2 > count else { return }
    calls = waiting
    head = 0
  }

  package var waiting: [PoolCall] { calls[head...].filter(\.isWaiting) }
}
