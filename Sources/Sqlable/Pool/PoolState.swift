import Dispatch
import Glibc

extension SqlitePool {
  /// What changes, all under one lock.
  struct State {
    enum Phase {
      case open, closing, closed
    }

    var phase = Phase.open
    let writer: PooledHandle
    var readers: [PooledHandle] = []
    var idleReaders: [PooledHandle] = []
    var writerIsIdle = true
    var waitingReads = PoolQueue()
    var waitingWrites = PoolQueue()
    var counts = Counts()
    /// How many calls have not ended.
    var calls = 0
    /// Told when there are none any more.
    var closers: [DispatchSemaphore] = []
    /// When the calls are looked at next.
    var nextLook: ContinuousClock.Instant?

    init(writer: PooledHandle) { self.writer = writer }
  }

  /// What becomes of a call that has come.
  enum Admission {
    /// It was made inside another, whose handle it uses.
    case own(PooledHandle)
    case given(PooledHandle)
    case waits
  }
}

extension SqlitePool.State {
  /// Throws unless calls are taken.
  func checkIsOpen(_ label: String?) throws {
    guard phase == .open else {
      throw SqlError(
        .closed, message: phase == .closed ? "the pool was closed before" : "the pool is being closed", label: label)
    }
  }

  /// The handle of this pool that the thread has: its call is one inside another.
  var ownHandle: PooledHandle? {
    let thread = pthread_self()
    if writer.owner == thread { return writer }
    return readers.first { $0.owner == thread }
  }

  /// A handle for the call, or a place in the queue for one. With `thread`, the thread that runs it at once.
  mutating func enter(
    _ call: PoolCall, _ configuration: PoolConfiguration, by thread: pthread_t?
  ) throws -> SqlitePool.Admission {
    let label = configuration.handles.label
    if call.stopped != nil { throw CancellationError() }
    if let deadline = call.deadline, deadline <= call.begin {
      throw SqlError(
        .timeout, message: "the deadline had passed before the call made at \(call.place) began", label: label)
    }
    if let own = ownHandle {
      guard call.kind.isRead || own.isWriter else {
        throw SqlError.misuse(
          "a write inside a read would not be seen by it; write first, or read inside the transaction"
        )
        .labelled(label)
      }
      return .own(own)
    }
    try checkIsOpen(label)
    if let handle = call.kind.isRead ? freeReader(configuration) : writerIsIdle ? writer : nil {
      calls += 1
      give(handle, to: call)
      handle.owner = thread
      return .given(handle)
    }
    guard (call.kind.isRead ? waitingReads : waitingWrites).count < configuration.maximumWaiting else {
      throw SqlError(
        .busy,
        message:
          "\(configuration.maximumWaiting) calls wait for \(call.kind.isRead ? "a reader" : "the writer") already",
        label: label)
    }
    calls += 1
    call.state = .waiting
    if call.resume == nil { call.alarm = DispatchSemaphore(value: 0) }
    if call.kind.isRead { waitingReads.append(call) } else { waitingWrites.append(call) }
    return .waits
  }

  private mutating func freeReader(_ configuration: PoolConfiguration) -> PooledHandle? {
    if let idle = idleReaders.popLast() { return idle }
    guard readers.count < configuration.readers else { return nil }
    let reader = PooledHandle(configuration.handles, isWriter: false, number: readers.count + 1)
    readers.append(reader)
    return reader
  }

  /// A reader for a call that does not wait, if one is open that nobody uses.
  mutating func enterQuickly(_ call: PoolCall, _ label: String?) throws -> PooledHandle? {
    try checkIsOpen(label)
    guard ownHandle == nil, let reader = idleReaders.last, reader.isOpen else { return nil }
    idleReaders.removeLast()
    calls += 1
    give(reader, to: call)
    reader.owner = pthread_self()
    return reader
  }

  /// Makes the handle the call's.
  mutating func give(_ handle: PooledHandle, to call: PoolCall) {
    call.gotHandle = call.isWaiting ? .now : call.begin
    call.state = .running(handle)
    handle.call = call
    if handle.isWriter { writerIsIdle = false }
    counts.began(call)
  }

  /// Takes the handle from a call whose work is over.
  mutating func take(_ handle: PooledHandle, from call: PoolCall) {
    call.state = .ending
    handle.call = nil
    handle.interruption.reset()
    handle.noteCacheUse()
    counts.ended(call)
  }

  /// The next call for a handle that nobody has; without one it is idle.
  mutating func next(for handle: PooledHandle) -> PoolCall? {
    handle.owner = nil
    guard let next = handle.isWriter ? waitingWrites.popFirst() : waitingReads.popFirst() else {
      if handle.isWriter { writerIsIdle = true } else { idleReaders.append(handle) }
      return nil
    }
    give(handle, to: next)
    return next
  }

  /// Takes note that so many calls have ended.
  mutating func ended(_ count: Int = 1) {
    calls -= count
    guard calls == 0 else { return }
    for closer in closers { closer.signal() }
    closers = []
  }

  /// Has a call wait no more, when it still does.
  mutating func refuse(_ call: PoolCall) -> Bool {
    guard call.isWaiting else { return false }
    call.state = .ending
    if call.kind.isRead { waitingReads.forget() } else { waitingWrites.forget() }
    ended()
    return true
  }

  /// All calls that have not ended.
  var unended: [PoolCall] {
    (readers + [writer]).compactMap(\.call) + waitingReads.waiting + waitingWrites.waiting
  }
}
