import Dispatch
import Glibc
import SqlableCore

extension SqlitePool {
  /// The mutable state of a pool, guarded by the pool's lock.
  ///
  /// A state machine: each method is one critical section, and calls neither SQLite nor user code. Tests can run the
  /// methods in every order in which the threads of a pool call them.
  package struct State {
    enum Phase {
      case open, closing, closed
    }

    struct Work {
      let stop: @Sendable () -> Void
      /// The thread that runs the work's closures.
      var thread: pthread_t?
    }

    var phase = Phase.open
    package let writer: PooledHandle
    let resources: PoolResources?
    package internal(set) var readers: [PooledHandle] = []
    /// The numbers of the readers that no call holds and that `takeIdle` has not taken, in the order in which they
    /// became idle.
    package internal(set) var idleReaders: [Int] = []
    private var holders = HandleHolders()
    package internal(set) var writerIsIdle = true
    package internal(set) var waitingReads = PoolQueue()
    package internal(set) var waitingWrites = PoolQueue()
    var counts = Counts()
    var (readUses, writeUses) = (LatestUses(), LatestUses())
    /// The number of calls that have not ended.
    package internal(set) var calls = 0
    /// The running work, such as a backup, that has its own connections to the file; the keys are tokens. Each entry
    /// also counts as a call.
    var works: [Int: Work] = [:]
    private var lastWork = 0
    /// The semaphores that are signalled when the last call has ended.
    var closers: [DispatchSemaphore] = []
    /// Non-nil while new reads are held back; signalled when no call holds a reader.
    var readersEnd: DispatchSemaphore?
    private var nextCheck: ContinuousClock.Instant?
    /// The call that closes the files or blocks the database; nil if there is none. While this property is set, other
    /// calls get no handles.
    package var closeBarrier: FileCloseBarrier?

    var longCalls: LongReads?
    var isChecked = false

    package init(_ configuration: PoolConfiguration, _ resources: PoolResources?) {
      self.resources = resources
      writer = PooledHandle(configuration, resources, number: holders.add())
    }
  }

  /// The handle that a waiting call gives up when its wait ends, and the next call for this handle.
  package struct Refusal {
    /// The handle that the call already had while it waited for a thread; nil if the call waited for a handle.
    package let handle: PooledHandle?
    /// The call that gets this handle.
    package let next: PoolCall?
  }

  /// The decision of `enter` on a call.
  package enum Admission {
    /// The call was made inside another call, and uses the outer call's handle.
    case nested(PooledHandle)
    case granted(PooledHandle)
    case waits
  }
}

extension SqlitePool.State {
  package func checkIsOpen(_ label: @autoclosure () -> String?) throws {
    guard phase == .open else {
      throw SqlError(
        .closed, message: phase == .closed ? "the pool is closed" : "the pool is closing", label: label())
    }
  }

  /// The handle of this pool that the current thread holds; nil outside of the pool's closures.
  package var ownHandle: PooledHandle? { handle(of: pthread_self()) }

  /// Records the thread that holds a handle.
  mutating func setHolder(of handle: PooledHandle, _ thread: pthread_t) { holders[handle.number] = thread }

  private func handle(of thread: pthread_t) -> PooledHandle? {
    guard let number = holders.number(of: thread) else { return nil }
    return number == writer.number ? writer : reader(number)
  }

  /// Gives the call a handle, or queues the call. `thread` is the thread that runs the call; nil for a thread of the
  /// pool. `current` is the calling thread.
  package mutating func enter(
    _ call: PoolCall, _ configuration: PoolConfiguration, by thread: pthread_t?, on current: pthread_t = pthread_self()
  ) throws -> SqlitePool.Admission {
    if call.stopped != nil { throw CancellationError() }
    if let deadline = call.deadline, deadline <= call.begin {
      throw SqlError(
        .timeout, message: "the deadline had passed before the call at \(call.callSite) began",
        label: configuration.handles.label)
    }
    if let handle = handle(of: current) {
      guard call.kind.isRead || handle.isWriter else {
        throw SqlError.misuse(
          "can't write inside a read: the read would not see the change; write first, or read inside a transaction"
        )
        .labelled(configuration.handles.label)
      }
      return .nested(handle)
    }
    try checkIsOpen(configuration.handles.label)
    try checkIsNotBlockedHere(configuration.handles.label, on: current)
    if closeBarrier == nil, let handle = freeHandle(for: call, configuration, by: thread) {
      calls += 1
      give(handle, to: call, by: thread)
      return .granted(handle)
    }
    guard (call.kind.isRead ? waitingReads : waitingWrites).count < configuration.maximumWaiting else {
      throw SqlError(
        .busy,
        message: """
          the pool refused the call: \(configuration.maximumWaiting) calls (maximumWaiting) already wait for \
          \(call.kind.isRead ? "a reader" : "the writer")
          """,
        label: configuration.handles.label)
    }
    calls += 1
    call.state = .waiting
    if call.resume == nil { call.alarm = DispatchSemaphore(value: 0) }
    if call.kind.isRead { waitingReads.append(call) } else { waitingWrites.append(call) }
    return .waits
  }

  private mutating func freeHandle(
    for call: PoolCall, _ configuration: PoolConfiguration, by thread: pthread_t?
  ) -> PooledHandle? {
    if call.kind.isRead { freeReader(configuration, by: thread) } else { writerIsIdle ? writer : nil }
  }

  private mutating func freeReader(_ configuration: PoolConfiguration, by thread: pthread_t?) -> PooledHandle? {
    guard readersEnd == nil else { return nil }
    if let index = openReader(for: thread) { return takeIdleReader(at: index) }
    // No idle reader has an open connection, so take a closed reader.
    if let index = latestReader(of: thread) { return takeIdleReader(at: index) }
    if !idleReaders.isEmpty { return takeIdleReader(at: idleReaders.count - 1) }
    guard readers.count < configuration.readers else { return nil }
    let reader = PooledHandle(configuration, resources, number: holders.add())
    readers.append(reader)
    return reader
  }

  /// Returns the index of an open idle reader; nil if there is none. Prefers the reader of `latestReader`, because the
  /// thread's processor probably has the reader's memory in its cache.
  private func openReader(for thread: pthread_t?) -> Int? {
    if let latest = latestReader(of: thread), reader(idleReaders[latest]).isOpen { return latest }
    for index in idleReaders.indices.reversed() where reader(idleReaders[index]).isOpen { return index }
    return nil
  }

  /// Returns the index of the idle reader whose last user was the thread; nil if there is none.
  private func latestReader(of thread: pthread_t?) -> Int? {
    guard let thread else { return nil }
    // A loop, because a closure would copy the state.
    for index in idleReaders.indices.reversed() where holders.wasHeld(idleReaders[index], by: thread) { return index }
    return nil
  }

  private mutating func takeIdleReader(at index: Int) -> PooledHandle {
    let number = idleReaders[index]
    // `remove(at:)` is called only if needed, because it takes 250 instructions.
    if index == idleReaders.count - 1 { idleReaders.removeLast() } else { idleReaders.remove(at: index) }
    return reader(number)
  }

  private func reader(_ number: Int) -> PooledHandle { readers[number - 1] }

  /// Gives an idle reader to a call that does not wait; nil if no reader is idle and open.
  mutating func enterQuickly(_ call: PoolCall, _ label: @autoclosure () -> String?) throws -> PooledHandle? {
    try checkIsOpen(label())
    let thread = pthread_self()
    guard closeBarrier == nil, readersEnd == nil, handle(of: thread) == nil, let index = openReader(for: thread)
    else { return nil }
    let reader = takeIdleReader(at: index)
    calls += 1
    give(reader, to: call, by: thread)
    return reader
  }

  /// Takes the handles that no call holds. `giveBack` gives each handle back to the pool.
  package mutating func takeIdle(_ label: String?) throws -> [PooledHandle] {
    try checkIsOpen(label)
    try checkIsNotBlockedHere(label)
    guard closeBarrier == nil else { return [] }
    let handles = idleReaders.map(reader) + (writerIsIdle ? [writer] : [])
    (idleReaders, writerIsIdle) = ([], false)
    // Count the handles as calls, so that the pool is not closed while the handles are in use.
    calls += handles.count
    return handles
  }

  /// Gives a handle to a call. `thread` is the current thread if the current thread runs the call. `thread` is nil if
  /// another thread runs the call: a thread of the pool, or the thread that waits for a synchronous read.
  mutating func give(_ handle: PooledHandle, to call: PoolCall, by thread: pthread_t? = nil) {
    handle.call = call
    if handle.isWriter { writerIsIdle = false }
    if !isChecked {
      isChecked = true
      longCalls?.start()
    }
    if thread == nil, !call.callerRuns(on: handle) {
      call.state = .granted(handle)
    } else {
      start(call, handle, hasWaited: call.isWaiting, by: thread)
    }
  }

  private mutating func start(_ call: PoolCall, _ handle: PooledHandle, hasWaited: Bool, by thread: pthread_t?) {
    // Read the clock only for a call that waited or runs again. Any other call got the handle when it began.
    call.didGetHandle(at: hasWaited || call.hasHandle ? .now : call.begin)
    call.state = .running(handle)
    holders[handle.number] = thread
    if hasWaited { counts.waited(call) }
  }

  /// Starts a call on the thread that was asked to run the call; returns false if the call was stopped before.
  package mutating func begin(_ call: PoolCall, by thread: pthread_t = pthread_self()) -> Bool {
    guard case .granted(let handle) = call.state else { return false }
    start(call, handle, hasWaited: true, by: thread)
    return true
  }

  /// Records the thread of the handle's call, after this thread has woken up.
  package mutating func begin(_ handle: PooledHandle, by thread: pthread_t) { setHolder(of: handle, thread) }

  package mutating func take(
    _ handle: PooledHandle, from call: PoolCall, at time: ContinuousClock.Instant = .now
  ) {
    call.state = .ending
    handle.call = nil
    handle.interruption.reset()
    counts.ended(call, at: time)
    noteUse(by: call, until: time)
  }

  /// Gives a free handle to the next waiting call and returns this call. If no call waits, marks the handle as idle.
  package mutating func next(for handle: PooledHandle) -> PoolCall? {
    holders[handle.number] = nil
    let isHeldBack = closeBarrier != nil || (!handle.isWriter && readersEnd != nil)
    guard !isHeldBack, let next = handle.isWriter ? waitingWrites.popFirst() : waitingReads.popFirst() else {
      if handle.isWriter { writerIsIdle = true } else { idleReaders.append(handle.number) }
      if let closeBarrier, areAllIdle { closeBarrier.drained.signal() }
      if let readersEnd, !handle.isWriter, !isReading { readersEnd.signal() }
      return nil
    }
    give(handle, to: next)
    return next
  }

  /// Ends the use of a handle that `takeIdle` returned; returns the next call for the handle.
  package mutating func giveBack(_ handle: PooledHandle) -> PoolCall? {
    ended()
    return next(for: handle)
  }

  /// Ends a read; returns the next call for the reader.
  package mutating func endRead(
    _ call: PoolCall, _ reader: PooledHandle, at time: ContinuousClock.Instant = .now
  ) -> PoolCall? {
    take(reader, from: call, at: time)
    ended()
    return next(for: reader)
  }

  /// Ends `count` calls that used the writer. Returns the next call for the writer.
  package mutating func endWrites(_ count: Int, _ writer: PooledHandle) -> PoolCall? {
    ended(count)
    return next(for: writer)
  }

  /// Gives the writer to the next waiting call that can share the commit; nil if there is none.
  package mutating func nextMember(_ writer: PooledHandle, by thread: pthread_t = pthread_self()) -> PoolCall? {
    guard closeBarrier == nil, waitingWrites.first?.kind == .write, let call = waitingWrites.popFirst() else {
      return nil
    }
    give(writer, to: call, by: thread)
    return call
  }

  /// Gives the writer to a call that runs again after a failed group commit. Returns false if the call has failed
  /// because it was stopped.
  package mutating func giveAgain(
    _ writer: PooledHandle, to call: PoolCall, hasFailed: Bool, by thread: pthread_t = pthread_self()
  ) -> Bool {
    if hasFailed, call.stopped != nil { return false }
    give(writer, to: call, by: thread)
    return true
  }

  /// Gives readers to waiting reads; returns the started calls with their readers.
  mutating func beginReads(_ configuration: PoolConfiguration) -> [(PooledHandle, PoolCall)] {
    var started: [(PooledHandle, PoolCall)] = []
    while waitingReads.count > 0, let reader = freeReader(configuration, by: nil), let call = next(for: reader) {
      started.append((reader, call))
    }
    return started
  }

  /// Counts ended calls, and signals the closers after the last call.
  mutating func ended(_ count: Int = 1) {
    calls -= count
    guard calls == 0 else { return }
    for closer in closers { closer.signal() }
    closers = []
  }

  /// Adds work that opens separate connections to the file, such as a backup. Returns a token for `endWork`.
  mutating func beginWork(_ stop: @escaping @Sendable () -> Void, _ label: String?) throws -> Int {
    try checkIsOpen(label)
    calls += 1
    lastWork += 1
    works[lastWork] = Work(stop: stop)
    return lastWork
  }

  mutating func endWork(_ token: Int) {
    works[token] = nil
    ended()
  }

  // MARK: Stopping

  /// Ends the wait of a call for a handle or for a thread. Returns nil without a change if the call is not waiting.
  package mutating func refuse(_ call: PoolCall) -> SqlitePool.Refusal? {
    switch call.state {
    case .waiting:
      call.state = .ending
      if call.kind.isRead { waitingReads.forget() } else { waitingWrites.forget() }
      ended()
      return SqlitePool.Refusal(handle: nil, next: nil)
    case .granted(let handle):
      call.state = .ending
      handle.call = nil
      ended()
      return SqlitePool.Refusal(handle: handle, next: next(for: handle))
    case .created, .running, .ending: return nil
    }
  }

  /// Stops a call: ends its wait, or interrupts its statement. If the call was waiting, returns the result of ending
  /// the wait; otherwise nil.
  package mutating func stop(
    _ call: PoolCall, _ reason: PoolCall.Reason, now: @autoclosure () -> ContinuousClock.Instant = .now
  ) -> SqlitePool.Refusal? {
    if let refusal = refuse(call) { return refusal }
    guard call.stopped == nil else { return nil }
    switch call.state {
    case .created: call.stopped = reason
    case .running(let handle):
      // `.deadline` can also mean that the call has waited too long for a connection. This call has a connection, so
      // only the call's own deadline counts.
      if reason == .deadline, call.deadline.map({ $0 > now() }) ?? true { return nil }
      call.stopped = reason
      handle.interruption.request()
    case .waiting, .granted, .ending: break
    }
    return nil
  }

  package var unended: [PoolCall] {
    (readers + [writer]).compactMap(\.call) + waitingReads.waiting + waitingWrites.waiting
  }

  /// Returns the time at which the call times out. The caller must then schedule a check for this time. Nil if an
  /// earlier check is already scheduled, or if the call has no timeout.
  package mutating func scheduleCheck(of call: PoolCall) -> ContinuousClock.Instant? {
    guard let end = call.nextCheck, nextCheck.map({ end < $0 }) ?? true else { return nil }
    nextCheck = end
    return end
  }

  /// Returns the calls that have timed out, and the time of the next check.
  package mutating func takeLate(
    _ now: ContinuousClock.Instant
  ) -> (late: [PoolCall], next: ContinuousClock.Instant?) {
    let calls = unended
    let late = calls.filter { $0.nextCheck.map { $0 <= now } ?? false }
    nextCheck = calls.compactMap(\.nextCheck).filter { $0 > now }.min()
    return (late, nextCheck)
  }
}
