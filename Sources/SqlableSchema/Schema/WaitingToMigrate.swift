import Glibc
import SqlableCore

/// The wait of a migration for other connections that write.
package struct WaitForOthers {
  private let limit: Duration?
  private let begin = ContinuousClock.now
  private var lastTry = ContinuousClock.now

  package init(atMost limit: Duration?) { self.limit = limit }

  package mutating func beginTry() { lastTry = .now }

  /// Returns the pause before the next try after SQLite's error; throws the error if the wait is over.
  package func pause(after error: SqlError) throws -> Duration {
    if let limit, begin.duration(to: .now) >= limit { throw error }
    // With a short busy timeout, or a pool whose queue is full, the next try would fail at once.
    return lastTry.duration(to: .now) < .milliseconds(20) ? .milliseconds(20) : .zero
  }
}

extension SqlError {
  /// Whether a transaction could not begin because of another connection's.
  package func isWaitable(hasBegun: Bool) -> Bool { kind == .busy && transaction == .none && !hasBegun }
}

extension SqlDatabase {
  /// Runs `body` in a transaction, and waits for other connections that write, also for longer than the busy timeout.
  ///
  /// A failure of `body` itself is not retried. `waiting` is called with SQLite's error before each further wait. The
  /// limit is that of the whole wait; without one only the cancellation of the task ends it, and a transaction whose
  /// closure waits for this one.
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

  /// Whether this thread is inside the closure of another handle's transaction that has the write lock of the file.
  private var isLockedByThisThread: Bool {
    let path = try? withTransaction(.deferred, file: #fileID, line: #line) { $0.family.path }
    return path.map(WriteLockHolder.isThisThread(ofFileAt:)) ?? false
  }
}
