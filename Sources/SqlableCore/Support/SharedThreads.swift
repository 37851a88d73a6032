import Dispatch
import Glibc

/// A limited number of threads that run closures in the order of their arrival. A thread ends after two idle seconds.
///
/// A closure that waits for something other than a processor, such as another process's lock, waits inside
/// `whileBlocked`. Another thread then runs closures in place of the waiting thread. There are at most twice as many
/// threads as the limit, and one more for each closure that waits inside `whileBlockedByCaller`.
package final class SharedThreads: Sendable {
  private struct State {
    var blocks: [@Sendable () -> Void] = []
    /// The index of the first closure that waits.
    var head = 0
    /// The number of threads that run a closure or are idle.
    var running = 0
    /// The number of threads inside `whileBlocked`.
    var blocked = 0
    /// The number of threads that wait for a closure, and the number of these threads that were signalled.
    var (idle, woken) = (0, 0)

    mutating func popFirst() -> (@Sendable () -> Void)? {
      guard head < blocks.count else { return nil }
      let block = blocks[head]
      // The list must not keep the closure, which might own the last reference to an object that owns these threads.
      blocks[head] = {}
      head += 1
      if head >= 64, head * 2 >= blocks.count {
        blocks.removeFirst(head)
        head = 0
      }
      return block
    }

    mutating func startsThread(_ limit: Int) -> Bool {
      guard running < limit, running + blocked < 2 * limit else { return false }
      running += 1
      return true
    }
  }

  private enum Next {
    case run(@Sendable () -> Void)
    case wait, end
  }

  private static let patience = DispatchTimeInterval.seconds(2)
  /// The `SharedThreads` object of each thread.
  private static let sets = LockedValue<[pthread_t: SharedThreads]>([:])

  private let limit: Int
  private let state = LockedValue(State())
  private let bell = DispatchSemaphore(value: 0)

  package init(limit: Int) { self.limit = limit }

  /// The number of threads, including threads that wait.
  package var count: Int { state.withLock { $0.running + $0.blocked } }

  package func async(_ body: @escaping @Sendable () -> Void) {
    let (wakes, starts) = state.withLock { state in
      state.blocks.append(body)
      if state.idle > state.woken {
        state.woken += 1
        return (true, false)
      }
      return (false, state.startsThread(limit))
    }
    if wakes { bell.signal() }
    if starts { startThread { self.run() } }
  }

  private func run() {
    SharedThreads.sets.withLock { $0[pthread_self()] = self }
    defer { SharedThreads.sets.withLock { $0[pthread_self()] = nil } }
    while true {
      switch next() {
      case .run(let block): block()
      case .wait: guard waitForBlock() else { return }
      case .end: return
      }
    }
  }

  private func next() -> Next {
    let (next, wakes) = state.withLock { state -> (Next, Bool) in
      // A thread that has returned from `whileBlocked` no longer needs a replacement.
      if state.running > limit {
        state.running -= 1
        // This thread ends. The signal for a waiting closure might have woken this thread, so wake another thread for
        // the closure.
        guard state.head < state.blocks.count, state.idle > state.woken else { return (.end, false) }
        state.woken += 1
        return (.end, true)
      }
      if let block = state.popFirst() { return (.run(block), false) }
      state.idle += 1
      return (.wait, false)
    }
    if wakes { bell.signal() }
    return next
  }

  /// Waits until a closure is added; returns false if the thread must end.
  private func waitForBlock() -> Bool {
    if bell.wait(timeout: .now() + SharedThreads.patience) == .timedOut {
      let goesOn = state.withLock { state -> Bool? in
        // If every idle thread was signalled, one of the signals is for this thread.
        guard state.idle > state.woken else { return nil }
        state.idle -= 1
        // Take a waiting closure even without a signal: the thread that was signalled for the closure might have ended,
        // because there were too many threads.
        if state.head < state.blocks.count { return true }
        state.running -= 1
        return false
      }
      if let goesOn { return goesOn }
      bell.wait()
    }
    state.withLock { state in
      state.idle -= 1
      state.woken -= 1
    }
    return true
  }

  // MARK: Waiting

  /// Calls `body`, which waits for another process or connection. Meanwhile another thread can run closures in place of
  /// this thread. On a thread without a `SharedThreads` object, only calls `body`.
  package static func whileBlocked<Value>(_ body: () throws -> Value) rethrows -> Value {
    guard let threads = sets.withLock({ $0[pthread_self()] }) else { return try body() }
    threads.block { $0.blocked += 1 }
    defer {
      threads.state.withLock { state in
        state.blocked -= 1
        state.running += 1
      }
    }
    return try body()
  }

  /// Calls `body`, which waits until a caller goes on, such as the loop over rows that this thread reads. Meanwhile the
  /// thread does not count toward the limit. Otherwise slow callers could occupy all threads of the set.
  package static func whileBlockedByCaller<Value>(_ body: () throws -> Value) rethrows -> Value {
    guard let threads = sets.withLock({ $0[pthread_self()] }) else { return try body() }
    threads.block { _ in }
    defer { threads.state.withLock { $0.running += 1 } }
    return try body()
  }

  private func block(_ count: (inout State) -> Void) {
    let starts = state.withLock { state in
      state.running -= 1
      count(&state)
      return state.head < state.blocks.count && state.startsThread(limit)
    }
    if starts { startThread { self.run() } }
  }
}
