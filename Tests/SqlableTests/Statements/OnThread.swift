import Foundation

/// Runs `body` on a thread of its own and waits for it.
func onThread<Result: Sendable>(
  stackSize: Int = 8 << 20, _ body: @escaping @Sendable () throws -> Result
) throws -> Result {
  let outcome = ThreadOutcome<Result>()
  let thread = Thread {
    outcome.result = Swift.Result { try body() }
    outcome.done.signal()
  }
  thread.stackSize = stackSize
  thread.start()
  outcome.done.wait()
  guard let result = outcome.result else { throw CancellationError() }
  return try result.get()
}

private final class ThreadOutcome<Value: Sendable>: @unchecked Sendable {
  // Sound: `result` is written before `done` is signalled, and read after it was waited for.
  let done = DispatchSemaphore(value: 0)
  var result: Result<Value, any Error>?
}
