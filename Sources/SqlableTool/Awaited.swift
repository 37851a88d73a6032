#if Cluster
import Dispatch

/// Runs async code, and blocks the thread until it has ended.
func awaited<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
  let ended = DispatchSemaphore(value: 0)
  let outcome = AwaitedOutcome<Value>()
  Task.detached {
    do { outcome.result = .success(try await body()) } catch { outcome.result = .failure(error) }
    ended.signal()
  }
  ended.wait()
  guard let result = outcome.result else { throw CancellationError() }
  return try result.get()
}

/// Sound as `Sendable`: the result is set before the semaphore is signalled, and read after it.
private final class AwaitedOutcome<Value>: @unchecked Sendable {
  var result: Result<Value, any Error>?
}
#endif
