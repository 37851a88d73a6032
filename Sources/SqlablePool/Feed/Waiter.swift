import SqlableCore

/// One wait of a task, which ends once: when the task is woken or cancelled.
package final class Waiter: Sendable {
  private enum State {
    case created, woken, cancelled
    case waiting(CheckedContinuation<Bool, Never>)
  }

  private let state = LockedValue(State.created)
  let priority = Task.currentPriority

  package init() {}

  /// Waits until the task is woken; returns false if the task is cancelled.
  package func wait(isolation actor: isolated (any Actor)?) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation(isolation: actor) { continuation in
        let outcome = state.withLock { state -> Bool? in
          switch state {
          case .woken: return true
          case .cancelled: return false
          case .created, .waiting:
            state = .waiting(continuation)
            return nil
          }
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      end(.cancelled, false)
    }
  }

  package func wake() { end(.woken, true) }

  private func end(_ end: State, _ outcome: Bool) {
    let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      switch state {
      case .created:
        state = end
        return nil
      case .waiting(let continuation):
        state = end
        return continuation
      case .woken, .cancelled: return nil
      }
    }
    continuation?.resume(returning: outcome)
  }
}
