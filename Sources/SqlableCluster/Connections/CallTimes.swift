#if Cluster
import Sqlable

/// The times when the parts of a call began, for the events of a trace. Of several attempts, the last one counts.
final class CallTimes: Sendable {
  private struct State {
    var sent: ContinuousClock.Instant?
    var answered: ContinuousClock.Instant?
  }

  private let begin = ContinuousClock.now
  private let state = LockedValue(State())

  /// To be called when the requests of the call are sent.
  func didSend() { state.withLock { $0 = State(sent: .now) } }

  /// To be called when the requests are answered, before the commit.
  func didAnswer() { state.withLock { $0.answered = .now } }

  /// Returns the durations of a call: before its requests were sent, until they were answered, and until the call's
  /// end.
  func parts(until end: ContinuousClock.Instant) -> (waiting: Duration, stepping: Duration, committing: Duration) {
    let (sent, answered) = state.withLock { state in (state.sent ?? end, state.answered ?? end) }
    return (begin.duration(to: sent), sent.duration(to: answered), answered.duration(to: end))
  }
}
#endif
