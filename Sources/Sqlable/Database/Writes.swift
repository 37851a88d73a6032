// What a write of a statement does beside the statement: transactions of its own, and what observers are to hear.

extension SqliteDatabase {
  /// What a write has to know about the moment before it, should it fail.
  private struct Write {
    /// How many changes were recorded; nil outside a transaction, where nobody observes.
    var mark: Int?
    /// What tells whether its failure was undone; nil where every failure is.
    var watched: Int?
  }

  /// To be called before a write; nil when it has to be in a transaction of its own, so that its changes come with a
  /// commit.
  private func beginWrite(_ connection: Connection, mayKeep: Bool) throws -> Write? {
    try checkIsNotInFunction(connection)
    guard let observation else { return Write() }
    observation.refresh()
    if transactions.counts.levels == 0 {
      // One that is stopped may have been stored already: SQLite asks once more when it is over.
      if observation.isActive || connection.brake != nil { return nil }
      try checkFile(connection)
      return Write()
    }
    return try beginRecording(connection, observation, mayKeep: mayKeep)
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

  /// To be called after a write has failed: what was recorded is forgotten when it is undone.
  private func failed(_ error: any Error, _ write: Write) -> any Error {
    if !keepsChanges(write) { write.mark.map { observation?.forget(after: $0) } }
    return error
  }

  /// Whether a failed write keeps what it did before it failed.
  private func keepsChanges(_ write: Write) -> Bool {
    guard let mark = write.mark, let observation else { return false }
    return observation.keeps(write.watched, after: mark)
  }

  /// Calls `body` as one write of the run that goes on: in a transaction of its own when somebody observes, so that its
  /// changes come with a commit, or when it is of several parts, of which none is to stay when another fails.
  ///
  /// - Parameter mayKeep: Whether the statement's own text may have it keep what it did before it failed.
  @inline(__always)
  func writing<Value>(
    on connection: Connection, asOne isOne: Bool = true, mayKeep: Bool = false, _ body: () throws -> Value
  ) throws -> Value {
    guard isOne, let write = try beginWrite(connection, mayKeep: mayKeep) else {
      return try writingInTransaction(connection, asOne: isOne, mayKeep: mayKeep, body)
    }
    do { return try body() } catch { throw failed(error, write) }
  }

  @inline(never)
  private func writingInTransaction<Value>(
    _ connection: Connection, asOne isOne: Bool, mayKeep: Bool, _ body: () throws -> Value
  ) throws -> Value {
    observation?.refresh()
    guard isOne else { return try asOne { _ in try recorded(connection, mayKeep: mayKeep, body).get() } }
    // What a failing statement keeps is committed, as it is when nobody observes.
    return try asOne { _ in try recorded(connection, mayKeep: mayKeep, body) }.mapError { error in
      guard var error = error as? SqlError else { return error }
      error.transaction = .none
      return error
    }.get()
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

  /// Runs a write inside a transaction. Throws, and forgets what was recorded, when it fails and is undone; fails
  /// without throwing when it keeps what it did before it failed.
  private func recorded<Value>(
    _ connection: Connection, mayKeep: Bool, _ body: () throws -> Value
  ) throws -> Result<Value, any Error> {
    guard let observation else { return .success(try body()) }
    let write = try beginRecording(connection, observation, mayKeep: mayKeep)
    do {
      return .success(try body())
    } catch {
      if keepsChanges(write) { return .failure(error) }
      observation.forget(after: write.mark ?? 0)
      throw error
    }
  }
}
