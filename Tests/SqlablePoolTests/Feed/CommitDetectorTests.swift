import Foundation
import Testing

@testable import SqlableCore
@testable import SqlablePool
@testable import SqlableTestSupport

/// An exhaustive search of `CommitModel`: every order of steps of several processes, the kernel and the checks.
struct CommitDetectorTests {
  /// Two checks follow an event, and two follow the pause after an uncertain result.
  private static let limit = 2 * CommitDetector.pauseAfterUncertainty
  private static let rule = CommitDetector(limit: limit, shortestPause: CommitDetector.pauseAfterUncertainty / 2)
  private static let former = FormerRule(limit: limit, shortestPause: CommitDetector.pauseAfterUncertainty / 2)

  /// External commits, own commits, replaced writers, and writes to the WAL in each external commit.
  private static let sizes =
    [(1, 0, 0, 1), (3, 0, 0, 1), (2, 0, 0, 2), (1, 1, 0, 1)]
    + (ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all"
      ? [(2, 1, 0, 1), (1, 2, 0, 1), (2, 2, 0, 1), (1, 1, 1, 1)] : [])

  private struct Outcome {
    var states = 0
    var ends = 0
    /// Ends with a commit that the loops have missed.
    var deaf = 0
    /// The largest number of notifications on one path.
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
  func everyCommitIsDetectedInAnyOrderOfSteps(_ others: Int, _ own: Int, _ writers: Int, _ writesEach: Int) {
    let outcome = explore(
      CommitModel(CommitDetectorTests.rule, others: others, own: own, writers: writers, writesEach: writesEach))
    #expect(outcome.deaf == 0)
    #expect(outcome.ends > 0)
  }

  /// The model finds the defect of the former rule.
  @Test func formerRuleMissesCommits() {
    let rule = CommitDetectorTests.former
    #expect(explore(CommitModel(rule, others: 1, own: 0)).deaf == 0)
    #expect(explore(CommitModel(rule, others: 2, own: 0)).deaf > 0)
    #expect(explore(CommitModel(rule, others: 1, own: 1)).deaf > 0)
  }

  @Test func ownCommitsAreNotReportedAsExternal() {
    let outcome = explore(CommitModel(CommitDetectorTests.rule, others: 0, own: 3))
    #expect(outcome.told == 0)
    #expect(outcome.ends > 0)
  }

  /// Checks follow an event at once and after pauses that double, all earlier than the next poll.
  @Test func checksAfterAnEventBackOffAndEnd() {
    var rule = CommitDetector(limit: 1_000)
    rule.begin(commits: 0, version: 1)
    #expect(rule.nextCheck() == nil)
    rule.logWasWritten()
    #expect((0..<6).map { _ in rule.nextCheck() } == [50, 100, 200, 400, 800, nil])
    rule.logWasWritten()
    #expect(rule.nextCheck() == 50)
    #expect(rule.judge(commitsBefore: 0, version: 2, commitsAfter: 0) == .otherCommit)
    // A detected commit may not be the last one.
    #expect(rule.nextCheck() == 100)
  }

  /// Without polls, the checks never end: a commit can become visible long after its write.
  @Test func checksWithoutPollsGrowByAQuarter() {
    var rule = CommitDetector(limit: 1_000)
    rule.begin(commits: 0, version: 1)
    _ = rule.setPolling(false)
    #expect(rule.nextCheck() == nil)
    rule.logWasWritten()
    let pauses = (0..<200).compactMap { _ in rule.nextCheck() }
    #expect(pauses.prefix(8) == [50, 100, 200, 400, 800, 1_000, 1_250, 1_562])
    #expect(pauses.count == 200 && pauses.last == CommitDetector.longestPause)
    rule.logWasWritten()
    #expect(rule.nextCheck() == 50)
    // An ambiguous check is repeated at the polling interval until the writer has answered.
    #expect(rule.markUncertain(writerChecks: 1) == true)
    #expect(rule.listenAgain(writerChecks: 1) == true)
    #expect([rule.nextCheck(), rule.nextCheck(), rule.nextCheck(), rule.nextCheck()] == [1_000, 1_000, 1_000, 1_000])
    rule.writerAnswered()
    #expect(rule.asksWriter(writerChecks: 2) == false)
    #expect([rule.nextCheck(), rule.nextCheck(), rule.nextCheck()] == [1_000, 1_250, 1_562])
  }

  /// If the writer can't answer, for example because its queue is full, the next poll asks again.
  @Test func uncertaintyLastsUntilTheWriterChecks() {
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
