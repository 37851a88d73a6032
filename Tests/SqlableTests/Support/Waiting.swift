import Foundation
import Testing

/// Waits until the condition holds, and blocks the thread. At the limit the test records an issue and continues.
///
/// In `async` code, `until` waits without a thread.
func waitUntil(
  within limit: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation,
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
