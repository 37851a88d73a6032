// Writes that wait for the writer share one commit.

extension SqlitePool {
  /// Runs a write, and with it those that wait meanwhile: one transaction, a savepoint each. Gives how the first went,
  /// and the next call for the writer; the others are told.
  ///
  /// A write that fails is undone by itself. What undoes the whole transaction (a full disk, an interrupted statement,
  /// a foreign key that only the commit looks at) is the affair of one: the others are run again, each in a transaction
  /// of its own.
  func runGroup(_ first: PoolCall, _ writer: PooledHandle) -> (Result<Void, any Error>, next: PoolCall?) {
    var outcomes: [(call: PoolCall, outcome: Result<Void, any Error>)] = []
    do {
      let db = try writer.open(by: root, feed)
      try db.locked {
        // Given back after the commit returned: the automatic checkpoint is part of it. A mere look waits for nobody.
        if first.kind != .detection { try gate.take(writer.interruption) }
        defer { gate.giveBack() }
        outcomes = first.kind.isAlone ? [(first, alone(first, writer, db))] : group(first, writer, db)
      }
    } catch {
      if outcomes.isEmpty { outcomes = [(first, ended(first, writer, .failure(error)))] }
    }
    // Before the next call has it. Closing it rolls back what it could not.
    if writer.isLost { writer.discard() }
    for (call, outcome) in outcomes.dropFirst() { end(call, outcome) }
    let next = withState { state in
      state.ended(outcomes.count)
      return state.next(for: writer)
    }
    return (outcomes[0].outcome, next)
  }

  private func group(
    _ first: PoolCall, _ writer: PooledHandle, _ db: SqliteDatabase
  ) -> [(call: PoolCall, outcome: Result<Void, any Error>)] {
    do {
      try db.beginShared()
      // Alone so far: the transaction itself is its savepoint.
      guard try first.run(db) == .commit else {
        db.rollBackShared()
        return [(first, ended(first, writer, .success(())))]
      }
      try db.checkShared()
    } catch {
      db.rollBackShared()
      return [(first, ended(first, writer, .failure(error.rolledBack)))]
    }
    var outcomes: [(call: PoolCall, outcome: Result<Void, any Error>)] = [(first, ended(first, writer, .success(())))]
    var members = 1
    let end = ContinuousClock.now + configuration.maximumGroupTime
    while members < configuration.maximumGroup, ContinuousClock.now < end, db.isSharedTransactionWhole,
      !gate.isTurnOver, let call = nextMember(writer)
    {
      do {
        try db.transaction { db in try call.run(db) }
        members += 1
        outcomes.append((call, ended(call, writer, .success(()))))
      } catch {
        outcomes.append((call, ended(call, writer, .failure(error.rolledBack))))
      }
    }
    do {
      try db.commitShared()
      withState { $0.counts.commits += 1 }
      return outcomes
    } catch {
      db.rollBackShared()
      let isAlone = outcomes.count == 1 || writer.isLost
      return outcomes.map { call, outcome in
        switch outcome {
        // A lost handle runs nothing more, and its locks keep others from it until it is closed.
        case .success where isAlone: (call, .failure(error.rolledBack))
        case .failure where isAlone || isStopped(call): (call, outcome)
        // One that failed may have done so because of rows that are not there after all.
        case .success, .failure: (call, again(call, writer, db))
        }
      }
    }
  }

  private func isStopped(_ call: PoolCall) -> Bool { withState { _ in call.stopped != nil } }

  /// Runs a call by itself.
  private func alone(_ call: PoolCall, _ writer: PooledHandle, _ db: SqliteDatabase) -> Result<Void, any Error> {
    let changes = ObserverRegistry.changes
    defer {
      // What it leaves open would take in all that comes after it.
      db.rollBackShared()
      // Who began to listen while a statement ran that nobody was to hear of.
      if call.kind != .detection { feed.didCommit(CommittedChanges(heardSince: changes)) }
    }
    return ended(
      call, writer,
      Result {
        _ = try call.run(db)
        guard db.transactionLevel == 0 else { throw misuse("a transaction begun inside the closure was left open") }
      })
  }

  /// Runs a call again, in a transaction of its own.
  private func again(_ call: PoolCall, _ writer: PooledHandle, _ db: SqliteDatabase) -> Result<Void, any Error> {
    withState { $0.give(writer, to: call) }
    if call.deadline != nil { inspect(call) }
    let outcome = Result { try db.transaction { db in try call.run(db) } }
    if case .success(.commit) = outcome { withState { $0.counts.commits += 1 } }
    return ended(call, writer, outcome.map { _ in })
  }

  /// The work of a call is over; gives what its caller is told.
  private func ended(
    _ call: PoolCall, _ writer: PooledHandle, _ outcome: Result<Void, any Error>
  ) -> Result<Void, any Error> {
    withState { $0.take(writer, from: call) }
    return outcome.mapError { call.error($0, label: configuration.handles.label) }
  }

  /// The next call that may share the commit.
  private func nextMember(_ writer: PooledHandle) -> PoolCall? {
    let call = withState { state -> PoolCall? in
      guard state.waitingWrites.first?.kind == .write, let call = state.waitingWrites.popFirst() else { return nil }
      state.give(writer, to: call)
      return call
    }
    if let call, call.deadline != nil { inspect(call) }
    return call
  }
}

extension Error {
  /// As told to one whose savepoint was undone: to it the transaction is gone.
  fileprivate var rolledBack: any Error {
    guard var error = self as? SqlError else { return self }
    if error.transaction == .untouched { error.transaction = .rolledBack }
    return error
  }
}
