import Foundation

/// Waits until the condition holds, and blocks the thread. The time limit of the round ends a wait that does not end.
func waitUntil(_ condition: () throws -> Bool) rethrows {
  while try !condition() { usleep(200) }
}

/// Runs async work on a thread that waits for it.
func waiting(_ work: @escaping @Sendable () async throws -> Void) throws {
  let done = DispatchSemaphore(value: 0)
  let failure = Mutex<(any Error)?>(nil)
  Task {
    do { try await work() } catch { failure.withLock { $0 = error } }
    done.signal()
  }
  done.wait()
  if let error = failure.withLock({ $0 }) { throw error }
}
