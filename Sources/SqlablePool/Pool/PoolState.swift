import Dispatch
import Glibc
import SqlableCore

extension SqlitePool {
  /// The mutable state of a pool, guarded by the pool's lock.
  package struct State {
    enum Phase {
      case open, closing, closed
    }

    var phase = Phase.open
    let writer: PooledHandle
    let resources: PoolResources?
    var readers: [PooledHandle] = []
    var idleReaders: [PooledHandle] = []
    var writerIsIdle = true
    var waitingReads = PoolQueue()
    var waitingWrites = PoolQueue()
    var counts = Counts()
    var (readUses, writeUses) = (LatestUses(), LatestUses())
    /// The number of calls that have not ended.
    var calls = 0
    /// Signalled when the last call has ended.
    var closers: [DispatchSemaphore] = []
    /// Signalled when no call holds a reader, while new reads are held back.
    var readersEnd: DispatchSemaphore?
    /// The time of the next check for timeouts.
    var nextCheck: ContinuousClock.Instant?
    /// The call that closes the files or blocks the database. Until this call or its block ends, other calls get no
    /// handles.
    package var closeBarrier: FileCloseBarrier?

    /// The checks for long calls, and whether they run.
    var longCalls: LongReads?
    var isChecked = false

    init(_ configuration: PoolConfiguration, _ resources: PoolResources?) {
      self.resources = resources
      writer = PooledHandle(configuration, resources, isWriter: true)
    }
  }

  /// The end of a call's wait.
  struct Refusal {
    /// The handle of a call that waited for a thread.
    let handle: PooledHandle?
    /// The call that gets this handle.
    let next: PoolCall?
  }

  /// The decision of `enter` on a call.
  enum Admission {
    /// The call was made inside another call, and uses the outer call's handle.
    case nested(PooledHandle)
    case granted(PooledHandle)
    case waits
  }
}

extension SqlitePool.State {
  package func checkIsOpen(_ label: String?) throws {
    guard phase == .open else {
      throw SqlError(
        .closed, message: phase == .closed ? "the pool is closed" : "the pool is closing", label: label)
    }
  }

  /// The handle of this pool that the current thread holds. A call on this thread is made inside another call.
  package var ownHandle: PooledHandle? {
    let thread = pthread_self()
    if writer.owner == thread { return writer }
    return readers.first { $0.owner == thread }
  }

  /// Gives the call a handle, or queues the call. `thread` is the calling thread; nil if a thread of the pool runs it.
  mutating func enter(
    _ call: PoolCall, _ configuration: PoolConfiguration, by thread: pthread_t?
  ) throws -> SqlitePool.Admission {
    let label = configuration.handles.label
    if call.stopped != nil { throw CancellationError() }
    if let deadline = call.deadline, deadline <= call.begin {
      throw SqlError(
        .timeout, message: "the deadline had passed before the call at \(call.callSite) began", label: label)
    }
    if let handle = ownHandle {
      guard call.kind.isRead || handle.isWriter else {
        throw SqlError.misuse(
          "can't write inside a read: the read would not see the change; write first, or read inside a transaction"
        )
        .labelled(label)
      }
      return .nested(handle)
    }
    try checkIsOpen(label)
    try checkIsNotBlockedHere(label)
    if closeBarrier == nil, let handle = call.kind.isRead ? freeReader(configuration) : writerIsIdle ? writer : nil {
      calls += 1
      give(handle, to: call, by: thread)
      return .granted(handle)
    }
    guard (call.kind.isRead ? waitingReads : waitingWrites).count < configuration.maximumWaiting else {
      throw SqlError(
        .busy,
        message:
          "\(configuration.maximumWaiting) calls already wait for \(call.kind.isRead ? "a reader" : "the writer")",
        label: label)
    }
    calls += 1
    call.state = .waiting
    if call.resume == nil { call.alarm = DispatchSemaphore(value: 0) }
    if call.kind.isRead { waitingReads.append(call) } else { waitingWrites.append(call) }
    return .waits
  }

  private mutating func freeReader(_ configuration: PoolConfiguration) -> PooledHandle? {
    guard readersEnd == nil else { return nil }
    if let idle = idleReaders.popLast() { return idle }
    guard readers.count < configuration.readers else { return nil }
    let reader = PooledHandle(configuration, resources, isWriter: false)
    readers.append(reader)
    return reader
  }

  /// Gives an idle reader to a call that does not wait; nil if no reader is idle and open.
  mutating func enterQuickly(_ call: PoolCall, _ label: String?) throws -> PooledHandle? {
    try checkIsOpen(label)
    guard closeBarrier == nil, readersEnd == nil, ownHandle == nil, let reader = idleReaders.last, reader.isOpen else {
      return nil
    }
    idleReaders.removeLast()
    calls += 1
    give(reader, to: call, by: pthread_self())
    return reader
  }

  /// Takes the handles that no call holds; `giveBack` returns the handles.
  mutating func takeIdle(_ label: String?) throws -> [PooledHandle] {
    try checkIsOpen(label)
    try checkIsNotBlockedHere(label)
    guard closeBarrier == nil else { return [] }
    let handles = idleReaders + (writerIsIdle ? [writer] : [])
    (idleReaders, writerIsIdle) = ([], false)
    // The handles are counted as calls, so that the pool is not closed while the handles are in use.
    calls += handles.count
    return handles
  }

  /// Gives a handle to a call. `thread` is the thread that runs the call; nil if the caller's thread must be woken or a
  /// thread of the pool runs the call.
  mutating func give(_ handle: PooledHandle, to call: PoolCall, by thread: pthread_t? = nil) {
    handle.call = call
    if handle.isWriter { writerIsIdle = false }
    if !isChecked {
      isChecked = true
      longCalls?.start()
    }
    if thread == nil, call.alarm == nil || handle.isWriter {
      call.state = .granted(handle)
    } else {
      start(call, handle, at: call.isWaiting ? .now : call.begin, by: thread)
    }
  }

  private mutating func start(
    _ call: PoolCall, _ handle: PooledHandle, at time: ContinuousClock.Instant, by thread: pthread_t?
  ) {
    call.gotHandle = time
    call.state = .running(handle)
    handle.owner = thread
    counts.began(call)
  }

  /// Starts a call for which the current thread was asked; returns false if the call was stopped before.
  mutating func begin(_ call: PoolCall) -> Bool {
    guard case .granted(let handle) = call.state else { return false }
    start(call, handle, at: .now, by: pthread_self())
    return true
  }

  mutating func take(_ handle: PooledHandle, from call: PoolCall) {
    call.state = .ending
    handle.call = nil
    handle.interruption.reset()
    handle.noteCacheUse()
    counts.ended(call)
    noteUse(by: call)
  }

  /// Gives a free handle to the next waiting call and returns this call. If no call waits, marks the handle as idle.
  mutating func next(for handle: PooledHandle) -> PoolCall? {
    handle.owner = nil
    let isHeldBack = closeBarrier != nil || (!handle.isWriter && readersEnd != nil)
    guard !isHeldBack, let next = handle.isWriter ? waitingWrites.popFirst() : waitingReads.popFirst() else {
      if handle.isWriter { writerIsIdle = true } else { idleReaders.append(handle) }
      if let closeBarrier, areAllIdle { closeBarrier.drained.signal() }
      if let readersEnd, !handle.isWriter, !isReading { readersEnd.signal() }
      return nil
    }
    give(handle, to: next)
    return next
  }

  var isReading: Bool { readers.contains { $0.call != nil } }

  /// Gives readers to the reads that were held back; returns the started calls with their readers.
  mutating func admitReads(_ configuration: PoolConfiguration) -> [(PooledHandle, PoolCall)] {
    readersEnd = nil
    // If the pool's files are being closed, `endCloseBarrier` starts these reads later.
    return closeBarrier == nil ? beginReads(configuration) : []
  }

  /// Gives readers to waiting reads; returns the started calls with their readers.
  mutating func beginReads(_ configuration: PoolConfiguration) -> [(PooledHandle, PoolCall)] {
    var started: [(PooledHandle, PoolCall)] = []
    while waitingReads.count > 0, let reader = freeReader(configuration), let call = next(for: reader) {
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

  /// Ends the wait of a call for a handle or for a thread; returns nil if the call does not wait.
  mutating func refuse(_ call: PoolCall) -> SqlitePool.Refusal? {
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

  var unended: [PoolCall] {
    (readers + [writer]).compactMap(\.call) + waitingReads.waiting + waitingWrites.waiting
  }
}
