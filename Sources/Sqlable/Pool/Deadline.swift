/// The time until which the pools' calls of a task, or of a thread outside of tasks, have to be done.
enum Deadline {
  @TaskLocal static var current: ContinuousClock.Instant?

  /// The earlier of the one that is set and of one that is so far away.
  static func after(_ duration: Duration) -> ContinuousClock.Instant {
    let end = ContinuousClock.now.advanced(by: duration)
    return current.map { min($0, end) } ?? end
  }
}

/// Calls on pools inside `body` have to be done within a time, all of them together, waiting included.
///
/// ```swift
/// let bikes = try withDeadline(.seconds(2)) { try pool.read { db in try Bicycle.read().run(db) } }
/// ```
///
/// A call that is not done throws `.timeout`; the statement that it runs is interrupted, and nothing of its transaction is
/// stored. An earlier deadline that is set already stays. Handles that are no pool's know nothing of it.
public func withDeadline<Value>(_ duration: Duration, _ body: () throws -> Value) rethrows -> Value {
  try Deadline.$current.withValue(Deadline.after(duration), operation: body)
}

/// Calls on pools inside `body`, and in the child tasks that it makes, have to be done within a time.
///
/// ```swift
/// let bikes = try await withDeadline(.seconds(2)) { try await Bicycle.read().run(pool) }
/// ```
public func withDeadline<Value>(
  _ duration: Duration, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
) async rethrows -> Value {
  try await Deadline.$current.withValue(Deadline.after(duration), operation: body, isolation: isolation)
}
