import Foundation

/// Runs `body` on a new thread and waits for it.
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
  // Sound: `result` is written before `done` is signalled, and read after the wait for `done`.
  let done = DispatchSemaphore(value: 0)
  var result: Result<Value, any Error>?
}

/// True under a sanitizer, which makes every frame several times as large and every step ten times as slow.
let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

/// The stack size of secondary threads on some systems.
let smallStack = isSanitized ? 8 << 20 : 512 << 10

/// The number of repetitions: a tenth of `count` under a sanitizer.
func times(_ count: Int) -> Int { isSanitized ? max(1, count / 10) : count }
