import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// A task that follows a live result and collects its values.
final class Follower<Value: Sendable>: Sendable {
  let task: Task<Void, any Error>
  private let collected = Collected<Value>()

  init(_ updates: LiveQuery<Value>) {
    task = Task { [collected] in for try await value in updates { collected.append(value) } }
  }
  deinit { task.cancel() }

  var values: [Value] { collected.values }
  var latest: Value? { values.last }

  /// Waits until the latest value meets the condition, or for ten minutes, and returns the latest value.
  func latest(where condition: (Value) -> Bool) async throws -> Value? {
    try await until { latest.map(condition) ?? false }
    return latest
  }
}
