import SqlableCore

/// A value that is changed by commits. One task at a time waits for the value.
final class Mailbox<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    var isEnded = false
    var waiter: Waiter?
  }

  private let state: LockedValue<State>

  init(_ value: Value) { state = LockedValue(State(value: value)) }

  /// Changes the value, and returns the waiting task, which the caller must wake. Does nothing after `end`.
  func post(_ change: (inout Value) -> Void) -> Waiter? {
    state.withLock { state in
      guard !state.isEnded else { return nil }
      change(&state.value)
      return state.waiter.take()
    }
  }

  /// Changes the value without waking a task.
  func change(_ change: (inout Value) -> Void) { state.withLock { change(&$0.value) } }

  /// Ends the mailbox: `next` returns the results that `take` still finds, and then nil. Returns the waiting task; the
  /// caller must wake that task.
  func end() -> Waiter? {
    state.withLock { state in
      state.isEnded = true
      return state.waiter.take()
    }
  }

  /// Waits until `take` returns a result. Returns nil after the end, and if the task is cancelled.
  func next<Result>(isolation actor: isolated (any Actor)?, _ take: (inout Value) -> Result?) async -> Result? {
    // Check for cancellation in each iteration, because a loop that always finds a value never waits.
    while !Task.isCancelled {
      let waiter = Waiter()
      let (result, waits) = state.withLock { state -> (Result?, Bool) in
        if let result = take(&state.value) { return (result, false) }
        guard !state.isEnded else { return (nil, false) }
        state.waiter = waiter
        return (nil, true)
      }
      guard waits else { return result }
      guard await waiter.wait(isolation: actor) else { return nil }
    }
    return nil
  }
}
