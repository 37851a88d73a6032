/// The deadline for pool calls of the current task, or of the current thread outside tasks.
package enum Deadline {
  @TaskLocal package static var current: ContinuousClock.Instant?

  /// Returns the time that is `duration` from now, or the current deadline if that is earlier.
  package static func after(_ duration: Duration) -> ContinuousClock.Instant {
    let end = ContinuousClock.now.advanced(by: duration)
    return current.map { min($0, end) } ?? end
  }
}

/// Runs `body` with a deadline for its calls on pools. All calls together, including waits, must finish within
/// `duration`.
///
/// ```swift
/// let bikes = try withDeadline(.seconds(2)) { try pool.read { db in try Bicycle.read().run(db) } }
/// ```
///
/// A call that misses the deadline throws `.timeout`: its statement is interrupted, and its transaction is rolled back.
/// Code between statements is not stopped; the next statement or the commit then throws. If an outer deadline is
/// earlier, the outer deadline applies. Handles outside a pool ignore deadlines.
public func withDeadline<Value>(_ duration: Duration, _ body: () throws -> Value) rethrows -> Value {
  try Deadline.$current.withValue(Deadline.after(duration), operation: body)
}

/// Runs `body` with a deadline for its calls on pools, including the calls of its child tasks.
///
/// ```swift
/// let bikes = try await withDeadline(.seconds(2)) { try await Bicycle.read().run(pool) }
/// ```
public func withDeadline<Value>(
  _ duration: Duration, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
) async rethrows -> Value {
  try await Deadline.$current.withValue(Deadline.after(duration), operation: body, isolation: isolation)
}
