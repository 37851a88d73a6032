import Glibc
import SqlableCore

/// The wait of a migration for other connections that write.
package struct WaitForOthers {
  private let limit: Duration?
  private let begin = ContinuousClock.now
  private var lastTry = ContinuousClock.now

  package init(atMost limit: Duration?) { self.limit = limit }

  package mutating func beginTry() { lastTry = .now }

  /// Returns the pause before the next attempt after an SQLite error; throws the error if the time limit has passed.
  package func pause(after error: SqlError) throws -> Duration {
    if let limit, begin.duration(to: .now) >= limit { throw error }
    // Without a pause, the next attempt would fail immediately if the busy timeout is short or the pool's queue is
    // full.
    return lastTry.duration(to: .now) < .milliseconds(20) ? .milliseconds(20) : .zero
  }
}

extension SqlError {
  /// True if a transaction could not begin because of another connection's transaction.
  package func isWaitable(hasBegun: Bool) -> Bool { kind == .busy && transaction == .none && !hasBegun }
}

extension SqlDatabase {
  /// Runs `body` in a transaction. Waits for other connections that write, even beyond the busy timeout.
  ///
  /// If `body` itself fails, the method does not retry. The method calls `waiting` with SQLite's error before each
  /// further wait. `limit` applies to the whole wait. Cancelling the task ends the wait early. The method throws
  /// `.misuse` immediately if this thread is inside a closure that holds the file's write lock with another handle,
  /// because the wait would not end.
  func withTransactionAfterOthers<Value>(
    waitingAtMost limit: Duration?, file: StaticString, line: UInt, _ waiting: (SqlError) -> Void,
    _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try checkIsNotDelayedByThisThread()
    var wait = WaitForOthers(atMost: limit)
    while true {
      var hasBegun = false
      wait.beginTry()
      do {
        return try withTransaction(.immediate, file: file, line: line) { db in
          hasBegun = true
          return try body(db)
        }
      } catch let error as SqlError where error.isWaitable(hasBegun: hasBegun) {
        let pause = try wait.pause(after: error)
        if Task.isCancelled { throw CancellationError() }
        waiting(error)
        usleep(UInt32(pause / .microseconds(1)))
      }
    }
  }

  private func checkIsNotDelayedByThisThread() throws {
    let writers = SqliteDatabase.writersOfThisThread
    // Inside a closure of the same pool, `withTransaction` passes the closure's own handle, which does not delay its
    // own writes.
    guard !writers.isEmpty,
      let handle = self as? SqliteDatabase ?? (try? withTransaction(.deferred, file: #fileID, line: #line) { $0 }),
      writers.contains(where: { $0.delaysWrites(by: handle) })
    else { return }
    let holder = handle.writeLockHolder.map { "; \($0)" } ?? ""
    throw handle.misuse(
      """
      can't migrate inside a closure that holds the file's write lock with another handle; pass the closure's handle, \
      or migrate after the closure\(holder)
      """)
  }
}
