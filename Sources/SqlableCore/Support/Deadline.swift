/// The deadline for pool calls of the current task, or of the current thread outside tasks.
package enum Deadline {
  /// An instant in an object, because copying an optional `Instant` takes 150 instructions.
  fileprivate final class Box: Sendable {
    let end: ContinuousClock.Instant

    init(_ end: ContinuousClock.Instant) { self.end = end }
  }

  @TaskLocal fileprivate static var box: Box?

  package static var current: ContinuousClock.Instant? { box?.end }

  package static var isSet: Bool { box != nil }

  static func withValue<Value>(_ end: ContinuousClock.Instant?, _ body: () throws -> Value) rethrows -> Value {
    try Deadline.$box.withValue(end.map(Box.init), operation: body)
  }

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
  try Deadline.withValue(Deadline.after(duration), body)
}

/// Runs `body` with a deadline for its calls on pools, including the calls of its child tasks.
///
/// ```swift
/// let bikes = try await withDeadline(.seconds(2)) { try await Bicycle.read().run(pool) }
/// ```
public func withDeadline<Value>(
  _ duration: Duration, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
) async rethrows -> Value {
  try await Deadline.$box.withValue(Deadline.Box(Deadline.after(duration)), operation: body, isolation: isolation)
}
