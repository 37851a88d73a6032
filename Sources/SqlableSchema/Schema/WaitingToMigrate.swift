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
    // With a short busy timeout, or with a full pool queue, the next attempt would fail immediately.
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
  /// further wait. `limit` applies to the whole wait. Cancelling the task ends the wait early. The method also throws
  /// if this thread is inside a closure of the transaction that holds the lock.
  func withTransactionAfterOthers<Value>(
    waitingAtMost limit: Duration?, file: StaticString, line: UInt, _ waiting: (SqlError) -> Void,
    _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
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
        if isLockedByThisThread { throw error }
        waiting(error)
        usleep(UInt32(pause / .microseconds(1)))
      }
    }
  }

  /// True if this thread is inside the closure of another handle's transaction that holds the file's write lock.
  private var isLockedByThisThread: Bool {
    let path = try? withTransaction(.deferred, file: #fileID, line: #line) { $0.family.path }
    return path.map(WriteLockHolder.isThisThread(ofFileAt:)) ?? false
  }
}
