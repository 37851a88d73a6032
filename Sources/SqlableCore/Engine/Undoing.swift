// Rolling back transactions, and what happens if SQLite fails to.
//
// ROLLBACK itself rarely fails. But after a schema change was rolled back, or a function replaced, SQLite recompiles a
// statement on its next run, which takes memory; and ROLLBACK TO takes memory of its own.

extension Connection {
  /// Rolls back the open transaction. If SQLite can't, the connection is lost, and its error is returned.
  @discardableResult
  package func undoTransaction() -> SqlError? {
    guard let cause = endTransaction() else { return nil }
    return lose(because: cause)
  }

  /// Rolls back to the innermost savepoint, and releases it. If SQLite can't, returns the error by which the whole
  /// transaction is lost: what is left of the savepoint must not be stored with the rest.
  func undoSavepoint() -> SqlError? {
    guard !hasLostTransaction else { return lostTransaction }
    // Released only after it was rolled back. One left behind would be taken for the savepoint around it, which has the
    // same name.
    guard let cause = repeated(.rollbackTo) ?? repeated(.release) else { return nil }
    loseTransaction(because: cause)
    // At once, so that other connections can write; the owner's own rollback then finds it already done.
    _ = endTransaction()
    return lostTransaction
  }

  /// Marks the open transaction as lost: nothing of it is stored, and every statement throws until its owner ends it.
  func loseTransaction(because cause: SqlError) {
    guard lostTransaction == nil else { return }
    var error = cause
    error.transaction = .rolledBack
    lostTransaction = error
  }

  /// Retries the rollback of a lost connection, whose transaction keeps other connections from writing.
  func undoLostTransaction() {
    if !isAutocommit { try? run(.rollback) }
  }

  /// Rolls back if a transaction is open. Returns the cause if one still is.
  private func endTransaction() -> SqlError? {
    guard !isAutocommit, let cause = repeated(.rollback), !isAutocommit else { return nil }
    return cause
  }

  /// Runs a statement, and retries it once after releasing memory: lack of memory may be the cause, and may have
  /// passed. Returns the last error.
  private func repeated(_ kind: Control) -> SqlError? {
    var cause: SqlError?
    for _ in 0..<2 {
      do {
        try run(kind)
        return nil
      } catch {
        cause = error as? SqlError ?? SqlError(.other, message: "\(kind.sql) failed", label: label)
      }
      // If SQLite has rolled back the whole transaction, there is nothing to retry.
      if isAutocommit { break }
      releaseMemory()
    }
    return cause
  }

  /// Marks the connection as lost: it refuses all further use. No COMMIT runs, so nothing of an open transaction can be
  /// stored.
  private func lose(because cause: SqlError) -> SqlError {
    var error = cause
    error.kind = .handleLost
    error.message = """
      the handle is lost: can't roll back its transaction (\(cause.message)), and none of the transaction is stored; \
      close the handle and open another
      """
    error.transaction = .rolledBack
    lost = error
    // Every call compares this number with the registry's, and takes the slow path if they differ.
    functionsVersion = -1
    return error
  }
}
