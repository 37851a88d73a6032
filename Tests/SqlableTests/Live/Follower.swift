import Sqlable

/// A live result, followed by a task: what it was given, one after the other.
final class Follower<Value: Sendable>: Sendable {
  let task: Task<Void, any Error>
  private let collected = Collected<Value>()

  init(_ updates: Updates<Value>) {
    task = Task { [collected] in for try await value in updates { collected.append(value) } }
  }
  deinit { task.cancel() }

  var values: [Value] { collected.values }
  var latest: Value? { values.last }

  /// The latest, as soon as it meets the condition, or after a while.
  func latest(where condition: (Value) -> Bool) async throws -> Value? {
    try await until { latest.map(condition) ?? false }
    return latest
  }
}

/// Waits until it is so, or for longer than that takes on any machine.
func until(_ condition: () -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(180)
  while !condition(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(1)) }
}
