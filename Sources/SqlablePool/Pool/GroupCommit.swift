import SqlableCore

/// The decisions of a group commit: which work runs next, and with which outcome each call ends.
///
/// A state machine without a database or threads, so tests can run every order of failures. The pool runs each step,
/// and passes the result to the machine. A step takes the pool's lock at most once.
package struct GroupCommit {
  package typealias Outcome = Result<Void, any Error>

  package enum Step {
    /// Begin the transaction, and run the first call's work in it.
    case runFirst(PoolCall)
    /// Run the call's work in a savepoint.
    case runMember(PoolCall)
    /// Take the writer from the call. From then on, the call can't be stopped.
    case release(PoolCall, Outcome)
    case findMember
    case commit
    case rollBack
    /// Run the call's work again, in a transaction of its own, unless the call has failed because it was stopped.
    case runAgain(PoolCall, hasFailed: Bool)
    case end
  }

  package private(set) var step: Step
  /// The outcomes of the calls whose work has run, in the order of the calls.
  package private(set) var outcomes: [(call: PoolCall, outcome: Outcome)] = []
  private let maximum: Int
  /// The number of calls whose work is in the transaction.
  private var members = 0
  /// The error of the commit; nil unless the commit has failed.
  private var failure: (any Error)?
  /// The index in `outcomes` of the call that runs again; nil before a call runs again.
  private var done: Int?

  package init(_ first: PoolCall, maximum: Int) {
    self.maximum = maximum
    step = .runFirst(first)
  }

  /// Records the result of `runFirst`, `runMember` or `runAgain`.
  package mutating func didRun(_ result: Result<TransactionResult, any Error>) {
    switch step {
    case .runFirst(let call):
      if case .success(.commit) = result {
        members = 1
        step = .release(call, .success(()))
      } else {
        outcomes = [(call, result.outcome)]
        step = .rollBack
      }
    case .runMember(let call):
      if case .success = result { members += 1 }
      step = .release(call, result.outcome)
    case .runAgain(let call, _): step = .release(call, result.map { _ in })
    case .release, .findMember, .commit, .rollBack, .end: break
    }
  }

  /// Records that a call was released, and the outcome for its caller.
  package mutating func didRelease(_ outcome: Outcome) {
    guard case .release(let call, _) = step else { return }
    if let done {
      outcomes[done].outcome = outcome
      runAgain(after: done)
    } else if members == 0 {
      outcomes[0].outcome = outcome
      step = .end
    } else {
      outcomes.append((call, outcome))
      step = members < maximum ? .findMember : .commit
    }
  }

  /// Records the call that can share the commit; nil if there is none.
  package mutating func didFind(_ call: PoolCall?) { step = call.map { .runMember($0) } ?? .commit }

  package mutating func didCommit(_ result: Outcome) {
    switch result {
    case .success: step = .end
    case .failure(let error):
      failure = error
      step = .rollBack
    }
  }

  /// Records the rollback of the transaction. `canRunAgain` is false if the handle is lost, or if a call has changed
  /// the handle's settings.
  package mutating func didRollBack(canRunAgain: Bool) {
    guard let failure else {
      step = outcomes.first.map { .release($0.call, $0.outcome) } ?? .end
      return
    }
    // Don't run a call again if its changes might be stored.
    let isUnknown = (failure as? SqlError)?.transaction == .unknown
    if canRunAgain, !isUnknown, outcomes.count > 1 { return runAgain(after: -1) }
    for index in outcomes.indices {
      if case .success = outcomes[index].outcome { outcomes[index].outcome = .failure(failure.rolledBack) }
    }
    step = .end
  }

  package mutating func didNotRunAgain() { runAgain(after: done ?? -1) }

  /// Failed calls also run again, because the rows that made them fail might have been rolled back.
  private mutating func runAgain(after index: Int) {
    done = index + 1
    guard index + 1 < outcomes.count else {
      step = .end
      return
    }
    let (call, outcome) = outcomes[index + 1]
    let hasFailed = if case .failure = outcome { true } else { false }
    step = .runAgain(call, hasFailed: hasFailed)
  }
}

extension Result<TransactionResult, any Error> {
  /// The outcome for a caller whose work ran in a savepoint or in the transaction of a group.
  fileprivate var outcome: GroupCommit.Outcome { map { _ in }.mapError(\.rolledBack) }
}

extension Error {
  /// The error that a caller gets if the savepoint of its work was rolled back. The error reports that the caller's
  /// transaction was rolled back, because the savepoint took the place of this transaction.
  fileprivate var rolledBack: any Error {
    guard var error = self as? SqlError else { return self }
    if error.transaction == .untouched { error.transaction = .rolledBack }
    return error
  }
}
