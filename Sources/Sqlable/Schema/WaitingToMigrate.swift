import Glibc

extension SqlDatabase {
  /// Runs `body` in a transaction, and waits for other connections that write, also for longer than the busy timeout.
  ///
  /// A failure of `body` itself is not retried. `waiting` is called with SQLite's error before each further wait. The
  /// limit is that of the whole wait; without one only the cancellation of the task ends it.
  func withTransactionAfterOthers<Value>(
    waitingAtMost limit: Duration?, file: StaticString, line: UInt, _ waiting: (SqlError) -> Void,
    _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    let begin = ContinuousClock.now
    while true {
      var hasBegun = false
      let tried = ContinuousClock.now
      do {
        return try withTransaction(.immediate, file: file, line: line) { db in
          hasBegun = true
          return try body(db)
        }
      } catch let error as SqlError where error.kind == .busy && error.transaction == .none && !hasBegun {
        if let limit, begin.duration(to: .now) >= limit { throw error }
        if Task.isCancelled { throw CancellationError() }
        waiting(error)
        // With a short busy timeout, or a pool whose queue is full, the next try would fail at once.
        if tried.duration(to: .now) < .milliseconds(20) { usleep(20_000) }
      }
    }
  }
}
