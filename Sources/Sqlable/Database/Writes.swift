// What a write of a statement does beside the statement: transactions of its own, and what observers are to hear.

extension SqliteDatabase {
  /// A write that has begun.
  struct Write {
    /// How many changes were recorded before it; nil outside a transaction, where nobody observes.
    fileprivate var mark: Int?
    /// What tells whether its failure was undone; nil where every failure is.
    fileprivate var watched: Int?
    /// The level of the transaction that is its own; 0 where it needs none.
    fileprivate var level = 0
    /// Whether it is one statement.
    fileprivate var isAtomic = true
  }

  /// Calls `body` as one write of the run that goes on: in a transaction of its own when somebody observes, so that its
  /// changes come with a commit, or when it is of several parts, of which none is to stay when another fails.
  ///
  /// - Parameter mayKeep: Whether the statement's own text may have it keep what it did before it failed.
  @inline(__always)
  func writing<Value>(
    on connection: Connection, atomically isAtomic: Bool = true, mayKeep: Bool = false, _ body: () throws -> Value
  ) throws -> Value {
    let write = try beginWrite(connection, atomically: isAtomic, mayKeep: mayKeep)
    let value: Value
    do { value = try body() } catch { throw failed(error, write) }
    if write.level > 0 { try commit(write) }
    return value
  }

  private func beginWrite(_ connection: Connection, atomically isAtomic: Bool, mayKeep: Bool) throws -> Write {
    try checkIsNotInFunction(connection)
    // Again: the code of a struct or value may have run what undid the transaction.
    try checkTransactionIsAlive(connection)
    guard let observation else { return Write() }
    observation.refresh()
    if isAtomic {
      if transactions.counts.levels > 0 { return try beginRecording(connection, observation, mayKeep: mayKeep) }
      // One that is stopped may have been stored already: SQLite asks once more when it is over.
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
    } catch { throw ofOwn(error, levels: before) }
  }

  private func beginRecording(
    _ connection: Connection, _ observation: HandleObservation, mayKeep: Bool
  ) throws -> Write {
    if observation.isKnowledgeInDoubt {
      try takeRightToWrite(connection)
      try observation.refreshKeys(isBeginning: false)
    }
    return Write(mark: observation.mark, watched: try observation.watch(mayKeep: mayKeep))
  }

  private func commit(_ write: Write) throws {
    do {
      do { try checkIsInnermost(write.level) } catch { throw rolledBack(write.level, because: error) }
      try commitOrRollBack(write.level)
    } catch { throw ofOwn(error, levels: write.level - 1) }
  }

  /// To be called after a write has failed: what was recorded is forgotten when it is undone.
  private func failed(_ error: any Error, _ write: Write) -> any Error {
    let isKept = keepsChanges(write)
    if !isKept, let mark = write.mark { observation?.forget(after: mark) }
    guard write.level > 0 else { return error }
    guard isKept, write.isAtomic else {
      return ofOwn(rolledBack(write.level, because: error), levels: write.level - 1)
    }
    // What a failing statement keeps is committed, as it is when nobody observes.
    do { try commit(write) } catch { return error }
    return ofOwn(error, levels: write.level - 1)
  }

  /// Whether a failed write keeps what it did before it failed.
  private func keepsChanges(_ write: Write) -> Bool {
    guard let mark = write.mark, let observation else { return false }
    return observation.keeps(write.watched, after: mark)
  }

  /// The error of a write in a transaction of its own, inside so many others: without one there is none whose fate it
  /// could tell.
  private func ofOwn(_ error: any Error, levels: Int) -> any Error {
    guard levels == 0, var error = error as? SqlError else { return error }
    error.transaction = .none
    return error
  }

  /// Begins a deferred transaction that has done nothing yet anew, as an immediate one.
  ///
  /// For its first write, when the schema is to be looked at before: a transaction that has read is refused the right
  /// to write at once, whatever the busy timeout, while another connection writes.
  private func takeRightToWrite(_ connection: Connection) throws {
    guard connection.isIdle, !connection.isReadOnly else { return }
    let levels = transactions.levels.count
    func begin(_ kind: Connection.Control) throws {
      try connection.run(kind)
      for _ in 1..<levels { try connection.run(.savepoint) }
    }
    // Meanwhile there is none whose fate an error could tell.
    connection.transactionLevel = 0
    defer { connection.transactionLevel = levels }
    do {
      try connection.run(.rollback)
      try begin(.beginImmediate)
    } catch {
      guard var error = error as? SqlError else { throw error }
      error.transaction = .untouched
      // As it was, which nothing may keep from success: without a transaction the next statement would be stored alone.
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

  /// Takes note of observers that came while a write goes on.
  func refreshObservation() throws {
    observation?.refresh()
    try observation?.refreshKeys(isBeginning: false)
  }
}
