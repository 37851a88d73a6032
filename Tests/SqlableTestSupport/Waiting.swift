import Foundation
import Testing

/// Waits until the condition holds, and blocks the thread. At the limit, by default 18 minutes, the test records an
/// issue and continues.
///
/// In `async` code, `until` waits without a thread.
func waitUntil(
  within limit: Duration = .seconds(1_080), sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: () throws -> Bool
) rethrows {
  let end = ContinuousClock.now + limit
  while try !condition() {
    guard ContinuousClock.now < end else {
      Issue.record("the condition did not come to hold", sourceLocation: sourceLocation)
      return
    }
    usleep(200)
  }
}

/// Waits until the condition holds. After 18 minutes, which is longer than all tests of a slow machine take, the test
/// records an issue and continues.
func until(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
  let end = ContinuousClock.now + .seconds(1_080)
  while !condition() {
    guard ContinuousClock.now < end else {
      Issue.record("the condition did not come to hold", sourceLocation: sourceLocation)
      return
    }
    try await Task.sleep(for: .milliseconds(1))
  }
}
