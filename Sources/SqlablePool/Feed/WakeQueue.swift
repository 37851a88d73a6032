import SqlableCore

protocol Wakeable: Sendable {
  var priority: TaskPriority { get }
  func wake()
}

extension Waiter: Wakeable {}

/// A queue that wakes tasks in batches.
///
/// If a thousand tasks woke at the same time, they would queue ahead of all other tasks of the process, including the
/// next writer. Other tasks therefore run after each batch.
final class WakeQueue: Sendable {
  private struct State {
    /// A slice, because removing the first elements of a slice moves no elements.
    var waiting: ArraySlice<any Wakeable> = []
    var isRunning = false
  }

  /// The number of tasks that one batch wakes.
  private static let atOnce = 32
  private static let longestPause = Duration.milliseconds(2)
  private let state = LockedValue(State())

  func wake(_ sleepers: [any Wakeable]) {
    if sleepers.isEmpty { return }
    let (isFew, begins) = state.withLock { state in
      // A single batch needs no separate task, unless other objects are queued.
      if !state.isRunning, sleepers.count <= WakeQueue.atOnce { return (true, false) }
      state.waiting += sleepers
      defer { state.isRunning = true }
      return (false, !state.isRunning)
    }
    if isFew { for sleeper in sleepers { sleeper.wake() } }
    guard begins else { return }
    // Use the highest priority of the woken tasks. With a higher priority, this task would run before the woken tasks,
    // and wake the next batch too early.
    Task.detached(priority: sleepers.map(\.priority).max()) { [self] in
      while let next = take() {
        let begin = ContinuousClock.now
        for sleeper in next { sleeper.wake() }
        await Task.yield()
        // Pause for as long as the batch took, so that other tasks can run. A pause never needs to exceed
        // `longestPause`: if the batch took longer, other tasks ran during the batch.
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
