// Group commit: writes that wait for the writer share one commit. `GroupCommit` decides, and the pool runs its steps.

import SqlableCore
import SqlableTracing

extension SqlitePool {
  /// Runs a write together with the waiting writes, in one transaction with a savepoint for each further write. Returns
  /// the outcome of the first write and the next call for the writer, and ends the other calls.
  ///
  /// A failing write is rolled back alone. A full disk, an interrupted statement or a deferred foreign key can roll
  /// back the whole transaction. Each call of the group then runs again in its own transaction, except calls that
  /// failed because they were stopped. If the handle is lost or has changed settings, or the outcome of the commit is
  /// unknown, no call runs again.
  func runGroup(_ first: PoolCall, _ writer: PooledHandle) -> (Result<Void, any Error>, next: PoolCall?) {
    let thread = ThreadReads.current
    thread?.pointee.depth += 1
    defer { thread?.pointee.depth -= 1 }
    var outcomes: [(call: PoolCall, outcome: Result<Void, any Error>)] = []
    do {
      let db = try writer.open(by: root, feed)
      try db.locked {
        // Hold the turn until the commit returns, because the commit can include an automatic checkpoint. A call of the
        // kind `detection` writes nothing and needs no turn.
        if first.kind != .detection { try gate.take(writer.interruption) }
        defer { gate.giveBack() }
        // Traces attribute the shared transaction to the first of its calls.
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
    // Discard an unusable handle before the next call gets it. Closing the handle rolls back its transaction, and
    // discards changed settings.
    if writer.isUnusable { writer.discard() }
    for (call, outcome) in outcomes.dropFirst() { call.end(outcome) }
    let next = withStateAndClaims { $0.endWrites(outcomes.count, writer) }
    return (outcomes[0].outcome, next)
  }

  private func group(
    _ first: PoolCall, _ writer: PooledHandle, _ db: SqliteDatabase
  ) -> [(call: PoolCall, outcome: Result<Void, any Error>)] {
    var group = GroupCommit(first, maximum: configuration.maximumGroup)
    var end: ContinuousClock.Instant?
    while true {
      switch group.step {
      case .runFirst(let call): group.didRun(Result { try runFirst(call, db) })
      case .runMember(let call): group.didRun(Result { try transact(call, db) })
      case .release(let call, let outcome): group.didRelease(ended(call, writer, outcome))
      case .findMember:
        let now = ContinuousClock.now
        let latest = end ?? now + configuration.maximumGroupTime
        end = latest
        let isOpen = now < latest && db.isSharedTransactionWhole && !gate.isTurnOver && !writer.hasOtherState
        group.didFind(isOpen ? nextMember(writer) : nil)
      case .commit:
        group.didCommit(Result { try db.commitShared() })
        if case .end = group.step { withStateAndClaims { $0.counts.commits += 1 } }
      case .rollBack:
        db.rollBackShared()
        // A lost handle runs no more statements. Its locks block other connections until the handle is closed.
        group.didRollBack(canRunAgain: !writer.isLost && !writer.hasOtherState)
      case .runAgain(let call, let hasFailed):
        guard withState({ $0.giveAgain(writer, to: call, hasFailed: hasFailed) }) else {
          group.didNotRunAgain()
          continue
        }
        if call.deadline != nil { inspect(call) }
        let result = Result { try transact(call, db) }
        if case .success(.commit) = result { withStateAndClaims { $0.counts.commits += 1 } }
        group.didRun(result)
      case .end: return group.outcomes
      }
    }
  }

  /// Begins the transaction, and runs the first call without a savepoint: if the first call must be rolled back, the
  /// transaction contains nothing else.
  private func runFirst(_ call: PoolCall, _ db: SqliteDatabase) throws -> TransactionResult {
    try db.beginShared(at: call.callSite)
    let result = try call.run(db)
    guard result == .commit else { return result }
    try db.checkShared()
    try db.checkInterruption()
    return result
  }

  private func runOutsideTransaction(
    _ call: PoolCall, _ writer: PooledHandle, _ db: SqliteDatabase
  ) -> Result<Void, any Error> {
    let changes = ObserverRegistry.changes
    defer {
      // Every later write would become a part of a transaction that stayed open.
      db.rollBackShared()
      // A subscriber that joined during a statement might have missed changes, because the statement records only
      // changes for which there was a subscriber when the statement began.
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

  private func transact(_ call: PoolCall, _ db: SqliteDatabase) throws -> TransactionResult {
    try db.transaction { db in
      let result = try call.run(db)
      if result == .commit { try db.checkInterruption() }
      return result
    }
  }

  /// Ends a call's use of the writer. Returns the call's outcome. If the call was stopped, the outcome has the reason
  /// as its error.
  private func ended(
    _ call: PoolCall, _ writer: PooledHandle, _ outcome: Result<Void, any Error>
  ) -> Result<Void, any Error> {
    writer.noteCacheUse()
    let end = ContinuousClock.now
    withStateAndClaims { $0.take(writer, from: call, at: end) }
    reportEnd(of: call)
    return outcome.mapError { error in
      call.error(error, label: configuration.handles.label) { otherHolder(than: call) }
    }
  }

  /// Returns the next waiting call that can share the commit.
  private func nextMember(_ writer: PooledHandle) -> PoolCall? {
    let call = withStateAndClaims { $0.nextMember(writer) }
    if let call, call.deadline != nil { inspect(call) }
    return call
  }
}

extension SqliteDatabase {
  /// Throws if the call that holds the handle was stopped. Call this method before committing the call's work.
  /// Otherwise a call that was stopped after its last statement would throw although its work is stored. A call that is
  /// stopped after this check succeeds.
  package func checkInterruption() throws { try locked { try openConnection().checkInterruption() } }
}
