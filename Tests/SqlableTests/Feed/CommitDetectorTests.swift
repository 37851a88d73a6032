import Foundation
import Sqlable
import Testing

@testable import SqlableCore
@testable import SqlablePool

/// Every order of what several processes, the kernel and the connection that looks can do, gone through step by step.
struct CommitDetectorTests {
  /// Two looks follow an event, and as many the end of a doubt's pause.
  private static let limit = 2 * CommitDetector.pauseAfterUncertainty
  private static let rule = CommitDetector(limit: limit, shortestPause: CommitDetector.pauseAfterUncertainty / 2)
  private static let former = FormerRule(limit: limit, shortestPause: CommitDetector.pauseAfterUncertainty / 2)

  /// Commits of others, commits of the pool, other writers, and writes to the log for each commit of others.
  private static let sizes =
    [(1, 0, 0, 1), (3, 0, 0, 1), (2, 0, 0, 2), (1, 1, 0, 1)]
    + (ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all"
      ? [(2, 1, 0, 1), (1, 2, 0, 1), (2, 2, 0, 1), (1, 1, 1, 1)] : [])

  private struct Outcome {
    var states = 0
    var ends = 0
    /// Ends at which there is a commit that the loops have not heard of.
    var deaf = 0
    /// The most that loops were told.
    var told = 0
  }

  private func explore<Rule>(_ start: CommitModel<Rule>) -> Outcome {
    var outcome = Outcome()
    var known: Set<CommitModel<Rule>> = [start]
    var open = [start]
    while let state = open.popLast() {
      outcome.states += 1
      let next = state.next
      if next.isEmpty {
        outcome.ends += 1
        if !state.isHeard { outcome.deaf += 1 }
      }
      outcome.told = max(outcome.told, state.told)
      for state in next where known.insert(state).inserted { open.append(state) }
    }
    return outcome
  }

  /// The larger models take minutes in a debug build: `SQLABLE_SWEEP=all swift test --filter CommitDetectorTests`.
  @Test(arguments: CommitDetectorTests.sizes)
  func whateverComesWhenEveryCommitIsHeardOf(_ others: Int, _ own: Int, _ writers: Int, _ writesEach: Int) {
    let outcome = explore(
      CommitModel(CommitDetectorTests.rule, others: others, own: own, writers: writers, writesEach: writesEach))
    #expect(outcome.deaf == 0)
    #expect(outcome.ends > 0)
  }

  /// The model finds what was wrong with the rule before.
  @Test func aRuleThatLooksUntilItSeesSomethingIsDeafAtTimes() {
    let rule = CommitDetectorTests.former
    #expect(explore(CommitModel(rule, others: 1, own: 0)).deaf == 0)
    #expect(explore(CommitModel(rule, others: 2, own: 0)).deaf > 0)
    #expect(explore(CommitModel(rule, others: 1, own: 1)).deaf > 0)
  }

  @Test func thePoolsOwnCommitsAreNotTakenForOthers() {
    let outcome = explore(CommitModel(CommitDetectorTests.rule, others: 0, own: 3))
    #expect(outcome.told == 0)
    #expect(outcome.ends > 0)
  }

  /// After each event, at once and after pauses that double; no look is as late as the poll.
  @Test func looksAfterAnEventBecomeRarerAndEnd() {
    var rule = CommitDetector(limit: 1_000)
    rule.begin(commits: 0, version: 1)
    #expect(rule.nextCheck() == nil)
    rule.logWasWritten()
    #expect((0..<6).map { _ in rule.nextCheck() } == [50, 100, 200, 400, 800, nil])
    rule.logWasWritten()
    #expect(rule.nextCheck() == 50)
    #expect(rule.judge(commitsBefore: 0, version: 2, commitsAfter: 0) == .otherCommit)
    // What was seen need not be all that was written.
    #expect(rule.nextCheck() == 100)
  }

  /// A writer that is asked in vain, as when its queue is full, is asked again at the next poll.
  @Test func aDoubtStaysUntilTheWriterHasLooked() {
    var rule = CommitDetector(limit: 1_000)
    rule.begin(commits: 0, version: 1)
    #expect(rule.judge(commitsBefore: 2, version: 2, commitsAfter: 2) == .unsure)
    #expect(rule.markUncertain(writerChecks: 5) == true)
    #expect(rule.asksWriter(writerChecks: 5) == false)
    #expect(rule.listenAgain(writerChecks: 5) == true)
    #expect(rule.asksWriter(writerChecks: 5) == false)
    rule.writerAnswered()
    #expect(rule.asksWriter(writerChecks: 5) == true)
    rule.writerAnswered()
    #expect(rule.asksWriter(writerChecks: 6) == false)
    #expect(rule.asksWriter(writerChecks: 5) == false)
  }
}
