#if Cluster
import Sqlable

/// What a call comes to: set once, by the first that can, and waited for by one task.
final class CallOutcome<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }

  private let state = Guarded(State.open)

  var isEnded: Bool { state.withLock { if case .ended = $0 { true } else { false } } }

  /// Sets the outcome; false if there is one.
  @discardableResult
  func end(_ result: Result<Value, any Error>) -> Bool {
    let (isFirst, continuation) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
      switch state {
      case .ended: return (false, nil)
      case .open:
        state = .ended(result)
        return (true, nil)
      case .awaited(let continuation):
        state = .ended(result)
        return (true, continuation)
      }
    }
    continuation?.resume(with: result)
    return isFirst
  }

  /// Waits. What ends the wait before the outcome is there, a deadline or the task's cancellation, is up to `stop`,
  /// which gets the error.
  func value(
    before deadline: ContinuousClock.Instant, late: SqlError, stop: @escaping @Sendable (any Error) -> Void
  ) async throws -> Value {
    let timer = Task {
      try await Task.sleep(until: deadline, clock: .continuous)
      stop(late)
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ended = state.withLock { state -> Result<Value, any Error>? in
          if case .ended(let result) = state { return result }
          state = .awaited(continuation)
          return nil
        }
        if let ended { continuation.resume(with: ended) }
      }
    } onCancel: {
      stop(CancellationError())
    }
  }
}
#endif
