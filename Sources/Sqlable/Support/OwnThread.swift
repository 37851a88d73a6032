import Dispatch

/// Runs `body`, which blocks, on a thread of its own, under the deadline of the calling task.
///
/// - Parameter cancel: Called when the task is cancelled; `body` is not interrupted by itself.
func onOwnThread<Value: Sendable>(
  _ label: String, onCancel cancel: @escaping @Sendable () -> Void = {},
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  let deadline = Deadline.current
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      DispatchQueue(label: "sqlable.\(label)").async {
        continuation.resume(with: Result { try Deadline.$current.withValue(deadline, operation: body) })
      }
    }
  } onCancel: {
    cancel()
  }
}
