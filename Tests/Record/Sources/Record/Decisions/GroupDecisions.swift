import SqlableCore
import SqlablePool

// Writes of a simulated pool, which share commits. The commit can fail, or have an unknown outcome.

/// The open transaction of a simulated writer.
private final class SimulatedTransaction {
  var isOpen = false
  /// The calls whose work the transaction contains.
  var pending: [PoolDecisions.Caller] = []
  /// False if SQLite has rolled back the transaction of its own accord.
  var isWhole = true
}

extension PoolDecisions {
  typealias Outcome = Result<Void, any Error>

  func write(
    _ first: Caller, _ writer: PooledHandle, on thread: UInt, _ body: @escaping (Outcome, PoolCall?) -> Void
  ) {
    simulation.step("opens the writer", first.id) { [self] in
      if simulation.random.chance(5) {
        let error = SqlError(.cannotOpen, message: "")
        return release(first, writer, .failure(error)) { self.endWrites([(first, $0)], writer, body) }
      }
      guard first.call.kind == .write else {
        return work(first, writer) { [self] result in
          release(first, writer, result.map { _ in }) { self.endWrites([(first, $0)], writer, body) }
        }
      }
      let group = GroupCommit(first.call, maximum: configuration.maximumGroup)
      go(group, writer, thread, SimulatedTransaction()) { [self] outcomes in
        endWrites(outcomes.compactMap { call, outcome in caller(of: call).map { ($0, outcome) } }, writer, body)
      }
    }
  }

  private func release(
    _ caller: Caller, _ writer: PooledHandle, _ outcome: Outcome, _ body: @escaping (Outcome) -> Void
  ) {
    simulation.step("releases the writer", caller.id) { [self] in
      state.take(writer, from: caller.call)
      body(outcome.mapError { caller.call.error($0, label: nil) })
    }
  }

  private func endWrites(
    _ outcomes: [(caller: Caller, outcome: Outcome)], _ writer: PooledHandle,
    _ body: @escaping (Outcome, PoolCall?) -> Void
  ) {
    guard let first = outcomes.first else { return simulation.report("a group commit has no outcome") }
    func end(_ others: ArraySlice<(caller: Caller, outcome: Outcome)>) {
      guard let other = others.first else {
        return simulation.step("ends the group", first.caller.id) { [self] in
          stopUsing(writer)
          let next = state.endWrites(outcomes.count, writer)
          body(first.outcome, next)
        }
      }
      simulation.step("ends as a member", other.caller.id) { [self] in
        self.end(other.caller, other.outcome)
        end(others.dropFirst())
      }
    }
    end(outcomes.dropFirst())
  }

  // MARK: The steps of a group

  private func go(
    _ group: GroupCommit, _ writer: PooledHandle, _ thread: UInt, _ transaction: SimulatedTransaction,
    _ body: @escaping ([(call: PoolCall, outcome: Outcome)]) -> Void
  ) {
    func next(_ change: (inout GroupCommit) -> Void) {
      var group = group
      change(&group)
      go(group, writer, thread, transaction, body)
    }
    switch group.step {
    case .runFirst(let call):
      guard let caller = caller(of: call) else { return }
      transaction.isOpen = true
      work(caller, writer) { result in
        caller.wasRolledBack = result.isRollback
        if result.isCommit { transaction.pending = [caller] }
        next { $0.didRun(result) }
      }
    case .runMember(let call):
      guard let caller = caller(of: call) else { return }
      work(caller, writer) { [self] result in
        caller.wasRolledBack = result.isRollback
        if result.isCommit { transaction.pending.append(caller) }
        if case .failure = result, simulation.random.chance(20) {
          (transaction.isWhole, transaction.isOpen, transaction.pending) = (false, false, [])
        }
        next { $0.didRun(result) }
      }
    case .release(let call, let outcome):
      guard let caller = caller(of: call) else { return }
      release(caller, writer, outcome) { outcome in next { $0.didRelease(outcome) } }
    case .findMember:
      simulation.step("looks for a member", 0) { [self] in
        let isOpen = transaction.isWhole && !simulation.random.chance(5)
        let member = isOpen ? state.nextMember(writer, by: thread) : nil
        if let caller = member.flatMap({ self.caller(of: $0) }) {
          checkBegin(caller)
          if caller.call.kind != .write { simulation.report("call \(caller.id) must not share a commit") }
          inspect(caller)
        }
        next { $0.didFind(member) }
      }
    case .commit:
      simulation.step("commits", 0) { [self] in
        let result = commit(transaction)
        next { $0.didCommit(flaw == "ignoresFailedCommits" ? .success(()) : result) }
      }
    case .rollBack:
      simulation.step("rolls back", 0) { [self] in
        (transaction.isOpen, transaction.pending) = (false, [])
        let isUsable = !simulation.random.chance(10)
        next { $0.didRollBack(canRunAgain: isUsable) }
      }
    case .runAgain(let call, let hasFailed):
      guard let caller = caller(of: call) else { return }
      if transaction.isOpen { simulation.report("call \(caller.id) runs again in the failed transaction") }
      runAgain(caller, writer, thread, hasFailed, next)
    case .end:
      if transaction.isOpen { simulation.report("the group ends with an open transaction") }
      body(group.outcomes)
    }
  }

  private func runAgain(
    _ caller: Caller, _ writer: PooledHandle, _ thread: UInt, _ hasFailed: Bool,
    _ next: @escaping ((inout GroupCommit) -> Void) -> Void
  ) {
    simulation.step("runs again", caller.id) { [self] in
      guard state.giveAgain(writer, to: caller.call, hasFailed: hasFailed, by: thread) else {
        return next { $0.didNotRunAgain() }
      }
      inspect(caller)
      work(caller, writer) { [self] result in
        caller.wasRolledBack = result.isRollback
        guard result.isCommit else { return next { $0.didRun(result) } }
        let own = SimulatedTransaction()
        (own.isOpen, own.pending) = (true, [caller])
        let outcome = commit(own)
        next { $0.didRun(outcome.map { .commit }) }
      }
    }
  }

  /// Commits, or fails with or without storing the work.
  private func commit(_ transaction: SimulatedTransaction) -> Outcome {
    guard transaction.isWhole else { return .failure(SqlError.misuse("no transaction is active")) }
    let chance = simulation.random.next() % 100
    let isUnknown = chance >= 92
    if chance < 75 || isUnknown && simulation.random.chance(50) {
      for caller in transaction.pending {
        caller.stored += 1
        if caller.stored > 1 { simulation.report("call \(caller.id) is stored twice") }
        if caller.answers > 0 { simulation.report("call \(caller.id) is stored after its end") }
      }
    }
    if chance < 75 {
      transaction.isOpen = false
      return .success(())
    }
    return .failure(SqlError(.io, message: "", transaction: isUnknown ? .unknown : .untouched))
  }
}

extension Result<TransactionResult, any Error> {
  fileprivate var isCommit: Bool { if case .success(.commit) = self { true } else { false } }
  fileprivate var isRollback: Bool { if case .success(.rollback) = self { true } else { false } }
}
