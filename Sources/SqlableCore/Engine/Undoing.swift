// Rollbacks of transactions and savepoints, and the handling of failed rollbacks.
//
// ROLLBACK rarely fails. But after a rolled-back schema change or a replaced function, SQLite recompiles ROLLBACK,
// which can run out of memory. ROLLBACK TO also allocates memory.

extension Connection {
  /// Rolls back the open transaction. If SQLite can't roll back, marks the connection as lost and returns the error.
  @discardableResult
  package func undoTransaction() -> SqlError? {
    guard let cause = endTransaction() else { return nil }
    return lose(because: cause)
  }

  /// Rolls back to the innermost savepoint, and releases it. If SQLite can't roll back, marks the whole transaction as
  /// lost and returns the error. Otherwise the remaining changes of the savepoint could be committed with the
  /// transaction.
  func undoSavepoint() -> SqlError? {
    guard !hasLostTransaction else { return lostTransaction }
    // Both steps are necessary. All savepoints have the same name: if this savepoint remained, a later rollback of the
    // outer savepoint would roll back only to this one.
    guard let cause = repeated(.rollbackTo) ?? repeated(.release) else { return nil }
    loseTransaction(because: cause)
    // End the transaction now, so that other connections can write. The owner's later rollback has nothing left to do.
    _ = endTransaction()
    return lostTransaction
  }

  /// Marks the open transaction as lost: nothing is stored, and statements throw until the owner ends the transaction.
  func loseTransaction(because cause: SqlError) {
    guard lostTransaction == nil else { return }
    var error = cause
    error.transaction = .rolledBack
    lostTransaction = error
  }

  /// Tries again to roll back the open transaction of a lost connection, because this transaction blocks other writers.
  func undoLostTransaction() {
    if !isAutocommit { try? run(.rollback) }
  }

  /// Rolls back the open transaction, if any. Returns the error if the transaction is still open.
  private func endTransaction() -> SqlError? {
    guard !isAutocommit, let cause = repeated(.rollback), !isAutocommit else { return nil }
    return cause
  }

  /// Runs a statement. After a failure, releases memory and retries once. Returns the last error.
  private func repeated(_ kind: Control) -> SqlError? {
    var cause: SqlError?
    for _ in 0..<2 {
      do {
        try run(kind)
        return nil
      } catch {
        cause = error as? SqlError ?? SqlError(.other, message: "\(kind.sql) failed", label: label)
      }
      // If SQLite has rolled back the whole transaction, a retry is unnecessary.
      if isAutocommit { break }
      releaseMemory()
    }
    return cause
  }

  /// Marks the connection as lost: every call throws. No COMMIT runs, so the transaction is never stored.
  private func lose(because cause: SqlError) -> SqlError {
    var error = cause
    error.kind = .handleLost
    error.message = """
      the handle is lost: can't roll back its transaction (\(cause.message)), and none of the transaction is stored; \
      close the handle and open another
      """
    error.transaction = .rolledBack
    lost = error
    // Every call compares this number with the registry's version. If they differ, the call takes the slow path, which
    // throws.
    functionsVersion = -1
    return error
  }
}
