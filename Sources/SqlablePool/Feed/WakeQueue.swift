import SqlableCore

/// Something that can be woken.
protocol Wakeable: Sendable {
  /// The priority of the task that waking it resumes.
  var priority: TaskPriority { get }
  func wake()
}

extension Waiter: Wakeable {}

/// Wakes tasks in batches.
///
/// A thousand tasks woken at once would queue ahead of every other task of the process, the next writer's among them.
/// So other tasks get their turn after each batch.
final class WakeQueue: Sendable {
  private struct State {
    /// A slice: removing the first elements moves nothing.
    var waiting: ArraySlice<any Wakeable> = []
    var isRunning = false
  }

  /// The size of a batch.
  private static let atOnce = 32
  private static let longestPause = Duration.milliseconds(2)
  private let state = LockedValue(State())

  func wake(_ sleepers: [any Wakeable]) {
    if sleepers.isEmpty { return }
    let (isFew, begins) = state.withLock { state in
      // A single batch needs no task of its own, unless others are ahead of it.
      if !state.isRunning, sleepers.count <= WakeQueue.atOnce { return (true, false) }
      state.waiting += sleepers
      defer { state.isRunning = true }
      return (false, !state.isRunning)
    }
    if isFew { for sleeper in sleepers { sleeper.wake() } }
    guard begins else { return }
    // With the priority of the tasks that it wakes: otherwise it would not queue behind them.
    Task.detached(priority: sleepers.map(\.priority).max()) { [self] in
      while let next = take() {
        let begin = ContinuousClock.now
        for sleeper in next { sleeper.wake() }
        // Lets the woken tasks run, and others that are ready.
        await Task.yield()
        // Other tasks get as much time as the batch took. If that was longer than the limit, they already ran.
        try? await Task.sleep(for: min(begin.duration(to: .now), WakeQueue.longestPause))
      }
    }
  }

  private func take() -> ArraySlice<any Wakeable>? {
    state.withLock { state in
      let next = state.waiting.prefix(WakeQueue.atOnce)
      state.waiting.removeFirst(next.count)
      if next.isEmpty { (state.waiting, state.isRunning) = ([], false) }
      return next.isEmpty ? nil : next
    }
  }
}
