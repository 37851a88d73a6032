#if Cluster
import Sqlable

/// The pause of a task between two reads of the cluster. A commit of this client ends the pause.
final class PollPause: Sendable {
  private struct State {
    /// The waiter that ends the pause; nil if the task is not pausing.
    var sleeper: Waiter?
    /// True if this client committed while the task was reading.
    var isPoked = false
    var isEnded = false
  }

  private let state = LockedValue(State())

  /// Ends the present pause, or skips the next pause.
  func poke() { wake { $0.isPoked = true } }

  /// Ends the present pause, and skips all later pauses.
  func end() { wake { $0.isEnded = true } }

  private func wake(_ body: (inout State) -> Void) {
    let sleeper = state.withLock { state in
      body(&state)
      return state.sleeper
    }
    sleeper?.wake()
  }

  func sleep(for time: Duration) async {
    let waiter = Waiter()
    let sleeps = state.withLock { state in
      let sleeps = !state.isPoked && !state.isEnded
      (state.isPoked, state.sleeper) = (false, sleeps ? waiter : nil)
      return sleeps
    }
    guard sleeps else { return }
    let timer = Task {
      try? await Task.sleep(for: time)
      waiter.wake()
    }
    _ = await waiter.wait(isolation: nil)
    timer.cancel()
    state.withLock { ($0.sleeper, $0.isPoked) = (nil, false) }
  }
}
#endif
