/// What can be woken.
protocol Wakeable: Sendable {
  /// That of what goes on when it is woken.
  var priority: TaskPriority { get }
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
  private static let longestPause = Duration.milliseconds(2)
  private let state = Guarded(State())

  func wake(_ sleepers: [any Wakeable]) {
    if sleepers.isEmpty { return }
    let (isFew, begins) = state.withLock { state in
      // Behind those before them: few at a time are as many as all at once.
      if !state.isRunning, sleepers.count <= Wakes.atOnce { return (true, false) }
      state.waiting += sleepers
      defer { state.isRunning = true }
      return (false, !state.isRunning)
    }
    if isFew { for sleeper in sleepers { sleeper.wake() } }
    guard begins else { return }
    // Of another priority it would not stand in line with those that it wakes.
    Task.detached(priority: sleepers.map(\.priority).max()) { [self] in
      while let next = take() {
        let begin = ContinuousClock.now
        for sleeper in next { sleeper.wake() }
        // Behind those that were just woken, and whatever else is ready to run.
        await Task.yield()
        // As long as they ran, others run. Where it took longer, others ran already.
        try? await Task.sleep(for: min(begin.duration(to: .now), Wakes.longestPause))
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
