#if Cluster
import Sqlable

/// The outcome of a call. The first call of `end(_:)` sets the outcome, and one task awaits the outcome.
final class CallOutcome<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }

  private let state = LockedValue(State.open)

  var isEnded: Bool { state.withLock { if case .ended = $0 { true } else { false } } }

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

  /// Waits for the outcome. At the deadline or a cancellation, calls `stop`, which must set an outcome.
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
