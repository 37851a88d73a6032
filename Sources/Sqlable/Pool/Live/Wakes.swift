/// What can be woken.
protocol Wakeable: Sendable {
  func wake()
}

extension Waiter: Wakeable {}

/// Wakes tasks, some at a time.
///
/// A thousand at once would stand in line before every other task of the process, the next writer's among them. So
/// where there are many, others get their turn after every few.
final class Wakes: Sendable {
  private struct State {
    /// A slice: taking the first moves nothing.
    var waiting: ArraySlice<any Wakeable> = []
    var isRunning = false
  }

  /// How many are woken before others get their turn.
  private static let atOnce = 32
  private let state = Guarded(State())

  func wake(_ sleepers: [any Wakeable]) {
    guard sleepers.count > Wakes.atOnce else {
      for sleeper in sleepers { sleeper.wake() }
      return
    }
    let begins = state.withLock { state in
      state.waiting += sleepers
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard begins else { return }
    Task.detached { [self] in
      while let next = take() {
        for sleeper in next { sleeper.wake() }
        // Behind those that were just woken, and whatever else is ready to run.
        await Task.yield()
      }
    }
  }

  private func take() -> ArraySlice<any Wakeable>? {
    state.withLock { state in
      let next = state.waiting.prefix(Wakes.atOnce)
      state.waiting.removeFirst(next.count)
      if next.isEmpty { (state.waiting, state.isRunning) = ([], false) }
      return next.isEmpty ? nil : next
    }
  }
}
