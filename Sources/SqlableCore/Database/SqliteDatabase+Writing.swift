// The steps before and after a write's statement: a separate transaction, and the recording of changes for observers.

extension SqliteDatabase {
  struct Write {
    /// The number of changes recorded before the write; nil if the write's changes are not recorded.
    fileprivate var mark: Int?
    /// The number of rollbacks before the write, to detect a rollback during the write. Nil if the check is not needed,
    /// because SQLite undoes all changes of every statement that fails.
    fileprivate var watched: Int?
    /// The level of the transaction that the write began; 0 if the write began no transaction.
    fileprivate var level = 0
    fileprivate var isAtomic = true
  }

  /// Calls `body` as one write. If there are observers, the write runs in a separate transaction, because observers
  /// receive changes after a commit. A write with several parts also runs in a transaction, so that a failure of one
  /// part undoes all parts.
  ///
  /// - Parameter mayKeep: True if the statement's text, such as `OR FAIL`, can make a failed statement keep its
  ///   changes.
  @inline(__always)
  package func writing<Value>(
    on connection: Connection, atomically isAtomic: Bool = true, mayKeep: Bool = false, _ body: () throws -> Value
  ) throws -> Value {
    let write =
      isAtomic && isUnobservedWrite(connection)
      ? Write() : try beginWrite(connection, atomically: isAtomic, mayKeep: mayKeep)
    let value: Value
    do { value = try body() } catch { throw failed(error, write) }
    // A deferred transaction acquires the lock with its first write.
    if transactions.counts.levels > 0, !transactions.isMarked { noteWriteLock(at: nil) }
    if write.level > 0 { try commit(write) }
    return value
  }

  package func write(_ bytes: UnsafeRawBufferPointer, to blob: IncrementalBlob, at offset: Int) throws {
    try running { connection in
      try writing(on: connection) {
        guard let observation else { return try blob.write(bytes, at: offset) }
        try observation.recording(blob) { try blob.write(bytes, at: offset) }
      }
    }
  }

  /// True if a write of one statement needs no preparation, because a transaction is open and nothing observes the
  /// changes. Makes the same checks as `beginWrite`.
  @inline(__always)
  private func isUnobservedWrite(_ connection: Connection) -> Bool {
    guard transactions.counts.levels > 0, !connection.hasLostTransaction, !connection.userCode.isRunning,
      !configuration.stopsWritesWhenDamaged, let observation = unretainedObservation
    else { return false }
    return observation._withUnsafeGuaranteedRef { $0.isIdle }
  }

  @inline(never)
  private func beginWrite(_ connection: Connection, atomically isAtomic: Bool, mayKeep: Bool) throws -> Write {
    try checkIsNotInFunction(connection)
    try checkMayWrite()
    // Check again, because user code, such as a struct's `write(to:)`, might have caused a rollback.
    try checkTransactionIsAlive(connection)
    guard let observation = unretainedObservation else { return Write() }
    return try observation._withUnsafeGuaranteedRef {
      try beginWrite(connection, $0, atomically: isAtomic, mayKeep: mayKeep)
    }
  }

  @inline(__always)
  private func beginWrite(
    _ connection: Connection, _ observation: HandleObservation, atomically isAtomic: Bool, mayKeep: Bool
  ) throws -> Write {
    observation.refresh()
    if isAtomic {
      if transactions.counts.levels > 0 { return try beginRecording(connection, observation, mayKeep: mayKeep) }
      // A write that can be interrupted needs a transaction: SQLite calls the progress handler once more after storing
      // the write. Without a transaction, the stored write would be reported as interrupted.
      if !observation.isActive && connection.interruption == nil {
        try checkFile(connection)
        return Write()
      }
    }
    let before = transactions.levels.count
    do {
      let level = try begin(.immediate, isScoped: true)
      do {
        var write = try beginRecording(connection, observation, mayKeep: mayKeep)
        (write.level, write.isAtomic) = (level, isAtomic)
        return write
      } catch { throw rolledBack(level, because: error) }
    } catch { throw errorOfSeparateTransaction(error, levels: before) }
  }

  private func beginRecording(
    _ connection: Connection, _ observation: HandleObservation, mayKeep: Bool
  ) throws -> Write {
    if observation.isSchemaUncertain {
      try takeRightToWrite(connection)
      try observation.refreshKeys(isBeginning: false)
    }
    return Write(mark: observation.mark, watched: try observation.watch(mayKeep: mayKeep))
  }

  private func commit(_ write: Write) throws {
    do {
      do { try checkIsInnermost(write.level) } catch { throw rolledBack(write.level, because: error) }
      try commitOrRollBack(write.level)
    } catch { throw errorOfSeparateTransaction(error, levels: write.level - 1) }
  }

  /// Returns the error to throw for a failed write. Discards the recorded changes if the write was rolled back.
  private func failed(_ error: any Error, _ write: Write) -> any Error {
    let isKept = keepsChanges(write)
    if !isKept, let mark = write.mark { observation?.forget(after: mark) }
    guard write.level > 0 else { return error }
    guard isKept, write.isAtomic else {
      return errorOfSeparateTransaction(rolledBack(write.level, because: error), levels: write.level - 1)
    }
    // Commit the changes that a failed statement has made and keeps, as SQLite does outside a transaction.
    do { try commit(write) } catch { return error }
    return errorOfSeparateTransaction(error, levels: write.level - 1)
  }

  private func keepsChanges(_ write: Write) -> Bool {
    guard let mark = write.mark, let observation else { return false }
    return observation.keeps(write.watched, after: mark)
  }

  /// Returns the error of a write in a separate transaction. If `levels` is 0, the caller has no transaction of its
  /// own, so the error's `transaction` becomes `.none`.
  package func errorOfSeparateTransaction(_ error: any Error, levels: Int) -> any Error {
    guard levels == 0, var error = error as? SqlError, error.transaction != .unknown else { return error }
    error.transaction = .none
    return error
  }

  /// Restarts a deferred transaction as an immediate transaction, if the transaction has neither read nor written yet.
  ///
  /// Required if the schema must be read before the transaction's first write. While another connection writes, SQLite
  /// refuses the write lock to a transaction that has already read, regardless of the busy timeout.
  private func takeRightToWrite(_ connection: Connection) throws {
    guard connection.isIdle, !connection.isReadOnly else { return }
    let levels = transactions.levels.count
    func begin(_ kind: Connection.Control) throws {
      try connection.run(kind)
      for _ in 1..<levels { try connection.run(.savepoint) }
    }
    // No transaction is open until `begin` has succeeded.
    connection.transactionLevel = 0
    defer { connection.transactionLevel = levels }
    do {
      try connection.run(.rollback)
      try begin(.beginImmediate)
    } catch {
      guard var error = error as? SqlError else { throw error }
      error.transaction = .untouched
      // Restores the deferred transaction. If that fails, marks the transaction as lost, because otherwise SQLite would
      // commit the next statement alone.
      do {
        if let lost = connection.undoTransaction() { throw lost }
        try begin(.beginDeferred)
      } catch let second {
        error.transaction = .rolledBack
        connection.loseTransaction(because: error)
        if (second as? SqlError)?.kind == .handleLost { throw second }
        connection.undoTransaction()
      }
      throw error
    }
  }

  /// Starts recording for observers that were added during a write.
  package func refreshObservation() throws {
    observation?.refresh()
    try observation?.refreshKeys(isBeginning: false)
  }
}
