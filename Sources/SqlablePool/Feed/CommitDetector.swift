import SqlableCore

/// Decides what the polling connection concludes from a check for other processes' commits, and when it checks again: a
/// value without clock, threads and files, so that a test can go through every order of events.
///
/// 1. A commit is written to the log before it becomes visible, and the kernel reports the write only. One event may
///   stand for the writes of several commits. So no check, whether it finds a commit or not, shows that no other is
///   about to appear: after each event, checks follow after pauses that double, until the next poll is as near.
/// 2. The connection's `data_version` changes with the pool's own commits, too. If the pool has committed between two
///   checks, the finding is ambiguous until the writer checks: its `data_version` changes with others' commits only.
/// 3. An ambiguity stays until a later check of the writer begins, or until the loops are notified. A writer that was
///   just opened can't resolve it: commits from before it opened do not change its `data_version`.
struct CommitDetector: Hashable, Sendable {
  enum Finding {
    case nothing, others
    /// Ambiguous: the commit may be the pool's own.
    case unsure
  }

  /// In microseconds, like all pauses here.
  static let shortestPause = 50
  /// How long events are ignored after an ambiguous check: each commit of the pool would wake the connection.
  static let pauseAfterUncertainty = 2_000

  /// The polling interval; pauses are shorter.
  private let limit: Int
  private let shortest: Int
  private var version: Int64?
  private var ownCommits = 0
  /// The pause before the next check; nil if none is due before the next poll.
  private var pause: Int?
  /// The number of checks the writer had begun at the last ambiguous check; nil if nothing is ambiguous.
  private var checksBeforeUncertainty: Int?
  private(set) var isListening = true
  private var isWriterAsked = false

  init(limit: Int, shortestPause shortest: Int = CommitDetector.shortestPause) {
    (self.limit, self.shortest) = (limit, shortest)
  }

  // MARK: Checks

  /// To be called for the first check of a connection; `own` was counted before `version` was read.
  mutating func begin(own: Int, version: Int64) { (ownCommits, self.version) = (own, version) }

  /// To be called for each check, with the pool's commit count from before and after the version was read. A count is
  /// odd during a commit.
  mutating func judge(own: Int, version found: Int64, ownAfterwards: Int) -> Finding {
    defer { (version, ownCommits) = (found, own) }
    guard let version, version != found else { return .nothing }
    guard ownAfterwards == ownCommits, ownAfterwards % 2 == 0 else { return .unsure }
    checksBeforeUncertainty = nil
    return .others
  }

  /// To be called for a write to the log, before the check that it triggers.
  mutating func logWasWritten() { pause = shortest }

  /// To be called after a check triggered by an event, a pause, or the end of the pause after an ambiguous check;
  /// returns the time until the next check.
  mutating func nextCheck() -> Int? {
    guard isListening, let pause else { return nil }
    self.pause = pause < limit ? pause * 2 : nil
    return pause < limit ? pause : nil
  }

  // MARK: Ambiguous checks

  /// To be called for an ambiguous check, with the number of checks that the writer has begun, counted after the
  /// version was read; returns whether a pause of ``pauseAfterUncertainty`` begins.
  mutating func markUncertain(writerChecks: Int) -> Bool {
    checksBeforeUncertainty = writerChecks
    guard isListening else { return false }
    isListening = false
    pause = pause.map { max($0, CommitDetector.pauseAfterUncertainty) }
    return true
  }

  /// To be called after that pause, before the next check; returns whether the writer must check.
  mutating func listenAgain(writerChecks: Int) -> Bool {
    isListening = true
    return asksWriter(writerChecks: writerChecks)
  }

  /// To be called after the pause and at each poll; returns whether the writer must check. An earlier request may have
  /// failed.
  mutating func asksWriter(writerChecks: Int) -> Bool {
    guard isListening, let checks = checksBeforeUncertainty else { return false }
    guard checks == writerChecks else {
      checksBeforeUncertainty = nil
      return false
    }
    guard !isWriterAsked else { return false }
    isWriterAsked = true
    return true
  }

  /// To be called when the writer has checked, or failed to.
  mutating func writerAnswered() { isWriterAsked = false }

  /// To be called after a check while a writer is being opened; returns whether the loops must be notified.
  mutating func resolveUncertainty() -> Bool {
    defer { checksBeforeUncertainty = nil }
    return checksBeforeUncertainty != nil
  }
}
