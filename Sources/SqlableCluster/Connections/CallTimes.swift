#if Cluster
import Sqlable

/// The times of a call's steps, for trace events. If the call is retried, the times are those of the last attempt.
final class CallTimes: Sendable {
  private struct State {
    var sent: ContinuousClock.Instant?
    var answered: ContinuousClock.Instant?
  }

  private let begin = ContinuousClock.now
  private let state = LockedValue(State())

  func didSend() { state.withLock { $0 = State(sent: .now) } }

  /// Records the time of the answers. Call this when the requests are answered, before the commit.
  func didAnswer() { state.withLock { $0.answered = .now } }

  /// Returns three durations: before the requests were sent, from sending to the answers, and from the answers to
  /// `end`.
  func parts(until end: ContinuousClock.Instant) -> (waiting: Duration, stepping: Duration, committing: Duration) {
    let (sent, answered) = state.withLock { state in (state.sent ?? end, state.answered ?? end) }
    return (begin.duration(to: sent), sent.duration(to: answered), answered.duration(to: end))
  }
}
#endif
