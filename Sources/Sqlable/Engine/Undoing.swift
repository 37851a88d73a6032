// How transactions are undone, and what becomes of them when SQLite fails at that too.
//
// ROLLBACK itself hardly fails. But a schema change that is undone, or a function that is replaced, makes SQLite
// compile a kept statement anew when it is next run, which takes memory; and ROLLBACK TO takes memory of its own.

extension Connection {
  /// Undoes the open transaction. Gives the error of a connection that is lost when SQLite can't.
  @discardableResult
  func undoTransaction() -> SqlError? {
    guard let cause = endTransaction() else { return nil }
    return lose(because: cause)
  }

  /// Undoes what was done since the innermost savepoint, and takes that away. When SQLite can't, gives the error by
  /// which the whole transaction is lost: what is left of the savepoint must not be stored with the rest.
  func undoSavepoint() -> SqlError? {
    guard !hasLostTransaction else { return lostTransaction }
    // Released only when it was undone. One that stays behind would be taken for the savepoint around it, of the same
    // name.
    guard let cause = repeated(.rollbackTo) ?? repeated(.release) else { return nil }
    loseTransaction(because: cause)
    // At once, so that other connections can write; its owner ends it on the books.
    _ = endTransaction()
    return lostTransaction
  }

  /// Takes note that nothing of the open transaction is stored, whatever its owner does: every statement throws, until
  /// it is ended.
  func loseTransaction(because cause: SqlError) {
    guard lostTransaction == nil else { return }
    var error = cause
    error.transaction = .rolledBack
    lostTransaction = error
  }

  /// Tries once more to end the transaction of a lost connection, which keeps other connections from writing.
  func undoLostTransaction() {
    if !isAutocommit { try? run(.rollback) }
  }

  /// Rolls back, if there is something to. Gives the cause when there still is.
  private func endTransaction() -> SqlError? {
    guard !isAutocommit, let cause = repeated(.rollback), !isAutocommit else { return nil }
    return cause
  }

  /// Runs a statement, and once more should it fail for want of memory: it may be there the next moment, and SQLite
  /// frees what it can do without when it runs short. Gives the second error.
  private func repeated(_ kind: Control) -> SqlError? {
    var cause: SqlError?
    for _ in 0..<2 {
      do {
        try run(kind)
        return nil
      } catch {
        cause = error as? SqlError ?? SqlError(.other, message: "\(kind.sql) failed", label: label)
      }
      // What has undone the whole transaction leaves nothing to repeat.
      if isAutocommit { break }
      releaseMemory()
    }
    return cause
  }

  /// Refuses all further use. Nothing of what is open can be stored: no COMMIT is run any more.
  private func lose(because cause: SqlError) -> SqlError {
    var error = cause
    error.kind = .handleLost
    error.message = """
      the handle is lost: its transaction could not be rolled back (\(cause.message)); nothing of the transaction \
      will be stored. Close the handle, which frees its locks, and open another
      """
    error.transaction = .rolledBack
    lost = error
    // Every call compares this number, and takes the slow way when it is another than the registry's.
    functionsVersion = -1
    return error
  }
}
