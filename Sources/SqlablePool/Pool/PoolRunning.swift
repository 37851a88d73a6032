import Dispatch
import Glibc
import SqlableCore

// The life of a call: acquiring a handle, waiting, running and ending.

extension SqlitePool {
  // MARK: On the caller's thread

  /// Runs `work` with a handle on this thread. A write that shares a commit can run on another caller's thread.
  @usableFromInline
  func perform(_ kind: PoolCall.Kind, _ callSite: CallSite, _ work: (SqliteDatabase) throws -> TransactionResult)
    throws
  {
    try reporting {
      try checkFork()
      try withoutActuallyEscaping(work) { work in
        let call = PoolCall(kind, configuration, callSite, work)
        defer { call.forgetWork() }
        switch try enter(call, by: pthread_self()) {
        case .nested(let handle): try runInside(call, handle)
        case .granted(let handle):
          if call.deadline != nil { inspect(call) }
          try runHere(call, handle)
        case .waits: try wait(call)
        }
      }
    }
  }

  private func enter(_ call: PoolCall, by thread: pthread_t?) throws -> Admission {
    // A write needs no reader, unless the write is made inside a read.
    if !call.kind.isRead, ThreadReads.current?.pointee.depth == 0 {
      return try withStateAndClaims { try $0.enter(call, configuration, by: thread) }
    }
    return try withState { try $0.enter(call, configuration, by: thread) }
  }

  /// Calls `body`, and reports errors of the pool itself, such as a timeout while waiting for a handle.
  private func reporting<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw root.reportedWithoutLock(error) }
  }

  /// Waits until the call gets a handle, or until another thread has run the work.
  private func wait(_ call: PoolCall) throws {
    guard let alarm = call.alarm else { return }
    // This thread can be one of the shared threads. While it waits, another thread must replace it, because the call
    // that holds the handle can need a shared thread.
    try SharedThreads.whileBlockedByCaller {
      let isInTime = call.waitEnd.map { end in
        alarm.wait(timeout: .now() + ContinuousClock.now.duration(to: end).dispatched)
      }
      if isInTime == nil { alarm.wait() }
      if isInTime == .timedOut {
        if let refusal = withState({ $0.refuse(call) }) {
          passOn(refusal)
          throw waitedTooLong(call, refusal)
        }
        // The call was started at the last moment, so the alarm will be signalled.
        alarm.wait()
      }
    }
    if let outcome = call.outcome { return try outcome.get() }
    guard case .running(let handle) = call.state else { return }
    withStateAndClaims { $0.begin(handle, by: pthread_self()) }
    if call.deadline != nil { inspect(call) }
    try runHere(call, handle)
  }

  /// Runs a call that was made inside another call, with the outer call's handle.
  private func runInside(_ call: PoolCall, _ handle: PooledHandle) throws {
    let db = try handle.open(by: root, feed)
    guard call.kind != .outsideTransaction || db.transactionLevel == 0 else {
      throw misuse("can't call withWriter inside a transaction of the pool")
    }
    if call.kind == .write { try db.transaction { db in try call.run(db) } } else { _ = try call.run(db) }
  }

  private func runHere(_ call: PoolCall, _ handle: PooledHandle) throws {
    let (outcome, next) = handle.isWriter ? runGroup(call, handle) : read(call, handle)
    if let next { handOn(handle, to: next) }
    try outcome.get()
  }

  // MARK: On threads of the pool

  func perform(
    _ kind: PoolCall.Kind, _ callSite: CallSite,
    _ work: @escaping @Sendable (SqliteDatabase) throws -> TransactionResult
  ) async throws {
    try checkFork()
    let holder = LockedValue<PoolCall?>(nil)
    do {
      try await perform(kind, callSite, holder, work)
    } catch { throw root.reportedWithoutLock(error) }
  }

  private func perform(
    _ kind: PoolCall.Kind, _ callSite: CallSite, _ holder: LockedValue<PoolCall?>,
    _ work: @escaping @Sendable (SqliteDatabase) throws -> TransactionResult
  ) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let call = PoolCall(kind, configuration, callSite, resume: { continuation.resume(with: $0) }, work)
        holder.withLock { $0 = call }
        // If the task was cancelled before `holder` had the call, the cancellation handler could not stop the call.
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        do {
          switch try enter(call, by: nil) {
          case .nested(let handle):
            // The calling thread is inside a closure of the pool. The closure can't `await`, but it can start a task on
            // its own thread, for example with `Task.immediate`.
            call.resume?(Result { try runInside(call, handle) })
          case .granted(let handle):
            handOn(handle, to: call)
            // Schedule a check, because the call can time out while all shared threads are busy. A handle's own thread
            // runs the call at once.
            if handle.thread.isShared { inspect(call) }
          case .waits: inspect(call)
          }
        } catch {
          continuation.resume(throwing: error)
        }
      }
    } onCancel: {
      if let call = holder.withLock({ $0 }) { stop(call, .cancelled) }
    }
  }

  /// Runs a read on the calling thread if a reader is free. Returns false, without effect, if no reader is free or the
  /// read takes too long.
  ///
  /// The normal path must wake two threads, which takes several times as long as most reads. The quick read is
  /// abandoned after about ten thousand SQLite steps (a fraction of a millisecond), or when SQLite would wait for a
  /// lock.
  func performQuickly(_ callSite: CallSite, _ work: @escaping (SqliteDatabase) throws -> Void) throws -> Bool {
    try checkFork()
    let call = PoolCall(.read, configuration, callSite) { db in
      try work(db)
      return .commit
    }
    guard call.deadline.map({ $0 > call.begin }) ?? true,
      let handle = try withState({ try $0.enterQuickly(call, configuration.handles.label) })
    else { return false }
    var isStopped = false
    let (outcome, next) = read(call, handle) { db in
      isStopped = try handle.interruption.withBudget(SqlitePool.quickThousands) { _ = try call.run(db) }
      // The read runs again as another call.
      call.isAbandoned = isStopped
    }
    if let next { handOn(handle, to: next) }
    try reporting { try outcome.get() }
    return !isStopped
  }

  /// The number of SQLite's steps, in thousands, after which a quick read is abandoned.
  static var quickThousands: Int { 10 }

  /// Starts a call that got a handle: wakes the call's thread, or runs the call on the handle's thread.
  func handOn(_ handle: PooledHandle, to call: PoolCall) {
    if call.callerRuns(on: handle) {
      call.alarm?.signal()
    } else {
      handle.thread.async { self.work(call, handle) }
    }
  }

  func giveBack(_ handle: PooledHandle) {
    let next = withState { $0.giveBack(handle) }
    if let next { handOn(handle, to: next) }
  }

  /// Runs a call, then the calls that wait for its handle.
  private func work(_ call: PoolCall, _ handle: PooledHandle) {
    var next: PoolCall? = call
    while let call = next {
      if call.callerRuns(on: handle) {
        call.alarm?.signal()
        return
      }
      // If the call was stopped before it began, the handle has already been passed on.
      guard withStateAndClaims({ $0.begin(call) }) else { return }
      if call.deadline != nil { inspect(call) }
      let outcome: Result<Void, any Error>
      (outcome, next) = handle.isWriter ? runGroup(call, handle) : read(call, handle)
      call.end(outcome)
      // Put the next call behind the calls of other pools that wait for the thread.
      if handle.thread.isShared, let next { return handOn(handle, to: next) }
    }
  }

  // MARK: Reading

  /// Runs a read; returns the outcome and the next call for the handle.
  private func read(
    _ call: PoolCall, _ handle: PooledHandle, _ work: ((SqliteDatabase) throws -> Void)? = nil
  ) -> (Result<Void, any Error>, next: PoolCall?) {
    let outcome: Result<Void, any Error>
    let thread = ThreadReads.current
    thread?.pointee.depth += 1
    do {
      let db = try handle.open(by: root, feed)
      if let work { try work(db) } else { _ = try call.run(db) }
      outcome = .success(())
    } catch {
      if (error as? SqlError)?.indicatesBrokenHandle == true { handle.discard() }
      outcome = .failure(call.error(error, label: configuration.handles.label))
    }
    handle.endLoan()
    handle.noteCacheUse()
    if handle.isUnusable { handle.discard() }
    let end = ContinuousClock.now
    let next = withStateAndClaims { state in
      let next = state.endRead(call, handle, at: end)
      state.freeIfIdle(handle)
      return next
    }
    if let thread {
      thread.pointee.depth -= 1
      (thread.pointee.pool, thread.pointee.reader) = (number, .passUnretained(handle))
    }
    reportEnd(of: call)
    return (outcome, next)
  }

  // MARK: Other processes

  /// Makes the writer check for commits of other connections as soon as the writer is free. Calls `answered` after the
  /// check, or immediately if the pool accepts no call.
  func haveWriterCheck(_ answered: @escaping @Sendable () -> Void) {
    guard !isForLiveResults else {
      try? root.detectOtherCommits()
      return answered()
    }
    let callSite = CallSite(file: #fileID, line: #line)
    func detect(_ db: SqliteDatabase) throws -> TransactionResult {
      try db.detectOtherCommits()
      return .commit
    }
    let call = PoolCall(.detection, configuration, callSite, resume: { _ in answered() }, detect)
    switch try? withState({ try $0.enter(call, configuration, by: nil) }) {
    case .granted(let handle): handOn(handle, to: call)
    case .waits: break
    // Nil: the pool accepts no call. If its queue is full, the next poll retries. If the pool is closing, it has no
    // subscribers left.
    case .nested, nil: answered()
    }
  }

  // MARK: Stopping

  /// Stops a call: ends the call's wait, or interrupts its statement.
  func stop(_ call: PoolCall, _ reason: PoolCall.Reason) {
    guard let refusal = withState({ $0.stop(call, reason) }) else { return }
    passOn(refusal)
    switch reason {
    case .cancelled: call.end(.failure(CancellationError()))
    case .deadline, .tooOld: call.end(.failure(waitedTooLong(call, refusal)))
    case .closing:
      call.end(
        .failure(
          SqlError(
            .closed, message: "the pool was closed while the call at \(call.callSite) was waiting",
            label: configuration.handles.label)))
    }
  }

  /// Passes the handle of a stopped call on to the next call.
  private func passOn(_ refusal: Refusal) {
    if let handle = refusal.handle, let next = refusal.next { handOn(handle, to: next) }
  }

  private func waitedTooLong(_ call: PoolCall, _ refusal: Refusal) -> SqlError {
    let what = refusal.handle != nil ? "a thread" : call.kind.isRead ? "a reader" : "the writer"
    let closeBarrier = withState { $0.closeBarrier }
    let now = ContinuousClock.now
    let uses = withState { $0.uses(during: call, until: now) }
    var message = "the call at \(call.callSite) waited for \(what) for \(call.begin.duration(to: now).seconds) s"
    if !uses.isEmpty {
      message += "; " + uses.prefix(3).map { $0.text(at: now) }.joined(separator: ", ")
    }
    if let closeBarrier {
      let time = closeBarrier.begin.duration(to: .now).seconds
      message += "; the call at \(closeBarrier.callSite) began to \(closeBarrier.action) \(time) s ago"
    }
    if !call.kind.isRead { message += otherHolder(than: withState { $0.writer.call }) }
    let error = SqlError(.timeout, message: message, label: configuration.handles.label)
    events.send(.timedOut(error))
    return error
  }

  // MARK: Timeouts

  /// Schedules a check at the call's timeout, unless an earlier check is scheduled.
  func inspect(_ call: PoolCall) {
    if let next = withState({ $0.scheduleCheck(of: call) }) { schedule(next) }
  }

  private func schedule(_ time: ContinuousClock.Instant) {
    SqlitePool.clock.asyncAfter(deadline: .now() + ContinuousClock.now.duration(to: time).dispatched) { [weak self] in
      self?.inspectAll()
    }
  }

  private static let clock = DispatchQueue(label: "sqlable.pool.clock")

  private func inspectAll() {
    let (late, next) = withState { $0.takeLate(.now) }
    for call in late { stop(call, .deadline) }
    if let next { schedule(next) }
  }
}

extension SqlError {
  /// True if an error of this kind makes the handle unusable.
  var indicatesBrokenHandle: Bool { [.io, .corrupt, .notADatabase, .wrongKey].contains(kind) }
}
