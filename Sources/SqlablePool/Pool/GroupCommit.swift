// Group commit: writes that wait for the writer share one commit.

import SqlableCore
import SqlableTracing

extension SqlitePool {
  /// Runs a write together with the waiting writes, in one transaction with a savepoint for each further write. Returns
  /// the outcome of the first write and the next call for the writer, and ends the other calls.
  ///
  /// A failing write is rolled back alone. A full disk, an interrupted statement or a deferred foreign key can roll
  /// back the whole transaction. Each call of the group then runs again in its own transaction, except calls that
  /// failed and were stopped. If the handle is lost or has changed settings, or the outcome of the commit is unknown,
  /// no call runs again.
  func runGroup(_ first: PoolCall, _ writer: PooledHandle) -> (Result<Void, any Error>, next: PoolCall?) {
    var outcomes: [(call: PoolCall, outcome: Result<Void, any Error>)] = []
    do {
      let db = try writer.open(by: root, feed)
      try db.locked {
        // Release the turn after the commit returns, because the commit can include an automatic checkpoint. A call of
        // the kind `detection` writes nothing and needs no turn.
        if first.kind != .detection { try gate.take(writer.interruption) }
        defer { gate.giveBack() }
        // Traces attribute the transaction to the first call.
        outcomes = db.traced(as: first.caller) {
          first.kind.isOutsideTransaction
            ? [(first, runOutsideTransaction(first, writer, db))] : group(first, writer, db)
        }
        if !first.kind.isOutsideTransaction { checkWALSize(db) }
      }
    } catch {
      if outcomes.isEmpty { outcomes = [(first, ended(first, writer, .failure(error)))] }
    }
    writer.endLoan()
    // Discard the handle before the next call gets it: closing rolls back, and discards changed settings.
    if writer.isUnusable { writer.discard() }
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
      try db.beginShared(at: first.callSite)
      // The first call needs no savepoint, because a rollback of the first call rolls back the transaction.
      guard try first.run(db) == .commit else {
        db.rollBackShared()
        return [(first, ended(first, writer, .success(())))]
      }
      try db.checkShared()
      try db.checkInterruption()
    } catch {
      db.rollBackShared()
      return [(first, ended(first, writer, .failure(error.rolledBack)))]
    }
    var outcomes: [(call: PoolCall, outcome: Result<Void, any Error>)] = [(first, ended(first, writer, .success(())))]
    var members = 1
    let end = ContinuousClock.now + configuration.maximumGroupTime
    while members < configuration.maximumGroup, ContinuousClock.now < end, db.isSharedTransactionWhole,
      !gate.isTurnOver, !writer.hasOtherState, let call = nextMember(writer)
    {
      do {
        _ = try transact(call, db)
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
      // A call must not run again with settings that another call has changed, or if its changes might be stored.
      let isUnknown = (error as? SqlError)?.transaction == .unknown
      let isFinal = outcomes.count == 1 || writer.isLost || writer.hasOtherState || isUnknown
      return outcomes.map { call, outcome in
        switch outcome {
        // A lost handle runs no more statements. Its locks block other connections until the handle is closed.
        case .success where isFinal: (call, .failure(error.rolledBack))
        case .failure where isFinal || isStopped(call): (call, outcome)
        // Failed calls also run again, because the rows that made them fail might have been rolled back.
        case .success, .failure: (call, again(call, writer, db))
        }
      }
    }
  }

  private func isStopped(_ call: PoolCall) -> Bool { withState { _ in call.stopped != nil } }

  private func runOutsideTransaction(
    _ call: PoolCall, _ writer: PooledHandle, _ db: SqliteDatabase
  ) -> Result<Void, any Error> {
    let changes = ObserverRegistry.changes
    defer {
      // An open transaction would absorb every later write.
      db.rollBackShared()
      // A subscriber that joined during a statement might have missed changes, because none were recorded for it.
      if call.kind != .detection {
        let isUnannounced = ObserverRegistry.changes != changes
        feed.didCommit(CommittedChanges(recordedSince: changes, isUnannounced: isUnannounced))
      }
    }
    return ended(
      call, writer,
      Result {
        _ = try call.run(db)
        guard db.transactionLevel == 0 else { throw misuse("the closure left a transaction open") }
      })
  }

  private func again(_ call: PoolCall, _ writer: PooledHandle, _ db: SqliteDatabase) -> Result<Void, any Error> {
    withState { $0.give(writer, to: call) }
    if call.deadline != nil { inspect(call) }
    let outcome = Result { try transact(call, db) }
    if case .success(.commit) = outcome { withState { $0.counts.commits += 1 } }
    return ended(call, writer, outcome.map { _ in })
  }

  private func transact(_ call: PoolCall, _ db: SqliteDatabase) throws -> TransactionResult {
    try db.transaction { db in
      let result = try call.run(db)
      if result == .commit { try db.checkInterruption() }
      return result
    }
  }

  /// Takes the writer from a finished call; returns the outcome for the caller.
  private func ended(
    _ call: PoolCall, _ writer: PooledHandle, _ outcome: Result<Void, any Error>
  ) -> Result<Void, any Error> {
    withState { $0.take(writer, from: call) }
    reportEnd(of: call)
    return outcome.mapError { error in
      call.error(error, label: configuration.handles.label) { otherHolder(than: call) }
    }
  }

  /// Returns the next waiting call that can share the commit.
  private func nextMember(_ writer: PooledHandle) -> PoolCall? {
    let call = withState { state -> PoolCall? in
      guard state.closeBarrier == nil, state.waitingWrites.first?.kind == .write,
        let call = state.waitingWrites.popFirst()
      else { return nil }
      state.give(writer, to: call)
      return call
    }
    if let call, call.deadline != nil { inspect(call) }
    return call
  }
}

extension SqliteDatabase {
  /// Throws if the call that holds the handle was stopped. Call this method before committing the call's work.
  /// Otherwise a call that was stopped after its last statement would throw although its work is stored. A call that is
  /// stopped after this check succeeds.
  func checkInterruption() throws { try locked { try openConnection().checkInterruption() } }
}

extension Error {
  /// The error for a caller whose savepoint was rolled back. For this caller, the savepoint was the transaction.
  fileprivate var rolledBack: any Error {
    guard var error = self as? SqlError else { return self }
    if error.transaction == .untouched { error.transaction = .rolledBack }
    return error
  }
}
