#if ClusterNode
import Sqlable

/// Operations that run one after the other, in the order in which they started.
final class Turns: Sendable {
  private struct State {
    var number = 0
    /// The running and waiting operations that can be cancelled. Cancelling one of these tasks cancels its operation.
    var tasks: [Int: Task<Void, Never>] = [:]
    var last: Task<Void, Never>?
  }

  private let state = LockedValue(State())

  /// - Parameter isCancellable: True if ``cancel()`` cancels the operation.
  func run<Value: Sendable>(
    isCancellable: Bool = true, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let (task, end, number) = state.withLock { state in
      let previous = state.last
      let task = Task {
        await previous?.value
        try Task.checkCancellation()
        return try await body()
      }
      let end = Task {
        await withTaskCancellationHandler {
          _ = await task.result
        } onCancel: {
          task.cancel()
        }
      }
      state.number += 1
      if isCancellable { state.tasks[state.number] = end }
      state.last = end
      return (task, end, state.number)
    }
    let result = await withTaskCancellationHandler {
      await task.result
    } onCancel: {
      end.cancel()
    }
    state.withLock { _ = $0.tasks.removeValue(forKey: number) }
    return try result.get()
  }

  func cancel() {
    state.withLock { state in
      for task in state.tasks.values { task.cancel() }
    }
  }
}
#endif
