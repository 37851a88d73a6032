import Glibc
import SqlableCore

/// The pauses between attempts: short at first, and random, so that processes do not retry at the same time.
private struct Attempts {
  private var left: Int
  private let end: ContinuousClock.Instant?
  private var bound = Duration.milliseconds(1)
  private static let longest = Duration.milliseconds(100)

  init(_ count: Int, within limit: Duration?) throws {
    guard count >= 1 else { throw SqlError.misuse("retrying needs at least one attempt") }
    guard limit.map({ $0 >= .zero }) ?? true else {
      throw SqlError.misuse("the time limit for retries can't be negative")
    }
    left = count - 1
    end = limit.map(Deadline.after) ?? Deadline.current
  }

  /// Returns the pause before the next attempt; nil if the error is final.
  mutating func pause(after error: any Error) -> Duration? {
    guard left > 0, let error = error as? SqlError, error.isRetryable else { return nil }
    left -= 1
    let pause = bound * Double.random(in: 0.5...1)
    bound = min(bound * 2, Attempts.longest)
    return end.map { ContinuousClock.now.advanced(by: pause) < $0 } ?? true ? pause : nil
  }
}

/// Runs `body` again while `body` throws a retryable error, such as `.busy` because another connection held a lock.
///
/// ```swift
/// let id = try retrying(attempts: 5, within: .seconds(2)) { try bike.insert().run(db) }
/// ```
///
/// The function retries after errors whose ``SqlError/isRetryable`` is true, and calls `body` at most `attempts` times.
/// The pauses are random, grow, and last 0.5 to 100 milliseconds. Pass the whole transaction, not a statement inside a
/// transaction. After the last attempt, the function throws the last error. The function also throws the last error if
/// the next pause would exceed `within` or the deadline of ``withDeadline(_:_:)``. Throws `.misuse` if `attempts` is
/// less than one or `within` is negative. Each attempt waits up to the busy timeout. Blocks the thread.
public func retrying<Value>(
  attempts: Int = 5, within limit: Duration? = nil, _ body: () throws -> Value
) throws -> Value {
  var attempts = try Attempts(attempts, within: limit)
  while true {
    do { return try body() } catch {
      guard let pause = attempts.pause(after: error) else { throw error }
      usleep(UInt32(pause / .microseconds(1)))
    }
  }
}

/// Runs `body` again while `body` throws a retryable error. The pauses block no thread.
///
/// ```swift
/// try await retrying(within: .seconds(2)) { try await pool.transaction { db in … } }
/// ```
///
/// Throws `CancellationError` if the task is cancelled during a pause.
public func retrying<Value>(
  attempts: Int = 5, within limit: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> Value
) async throws -> Value {
  var attempts = try Attempts(attempts, within: limit)
  while true {
    do { return try await body() } catch {
      guard let pause = attempts.pause(after: error) else { throw error }
      try await Task.sleep(for: pause)
    }
  }
}
