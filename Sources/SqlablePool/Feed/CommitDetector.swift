import SqlableCore

/// A state machine that interprets the polling connection's checks for other processes' commits, and schedules the next
/// check. The detector is a value without clock, threads and files, so that a test can go through every order of
/// events.
///
/// 1. A commit is written to the WAL before it becomes visible, and the kernel reports only the write. One event may
///    stand for the writes of several commits. So no check, with or without a finding, shows that no other commit is
///    about to appear. After each event, checks follow after pauses that double, until a pause reaches the polling
///    interval.
/// 2. The connection's `data_version` changes with the pool's own commits, too. If the pool has committed between two
///    checks, the finding is ambiguous until the writer checks. The writer's `data_version` changes with others'
///    commits only.
/// 3. An ambiguity stays until a later check of the writer begins, or until the loops are notified. A newly opened
///    writer can't resolve the ambiguity: commits from before the opening do not change the writer's `data_version`.
struct CommitDetector: Hashable, Sendable {
  enum Finding {
    case nothing, otherCommit
    /// Ambiguous: the commit may be the pool's own.
    case unsure
  }

  /// The shortest pause before a check, in microseconds like all pauses here.
  static let shortestPause = 50
  /// The pause after an ambiguous check, in microseconds. Events are ignored meanwhile: each commit of the pool would
  /// wake the connection.
  static let pauseAfterUncertainty = 2_000

  /// The polling interval in microseconds; pauses are shorter.
  private let limit: Int
  private let shortest: Int
  private var version: Int64?
  private var ownCommits = 0
  /// The pause before the next check, in microseconds; nil if none is due before the next poll.
  private var pause: Int?
  /// The number of checks the writer had begun at the last ambiguous check; nil if nothing is ambiguous.
  private var checksBeforeUncertainty: Int?
  private(set) var isListening = true
  private var isWriterAsked = false

  init(limit: Int, shortestPause shortest: Int = CommitDetector.shortestPause) {
    (self.limit, self.shortest) = (limit, shortest)
  }

  // MARK: Checks

  /// Records the first check of a connection; `commits` must be counted before `version` is read.
  mutating func begin(commits: Int, version: Int64) { (ownCommits, self.version) = (commits, version) }

  /// Returns the finding of a check, for the pool's commit count from before and after the version was read. A count is
  /// odd during a commit. Call this method for each check.
  mutating func judge(commitsBefore: Int, version current: Int64, commitsAfter: Int) -> Finding {
    defer { (version, ownCommits) = (current, commitsBefore) }
    guard let version, version != current else { return .nothing }
    guard commitsAfter == ownCommits, commitsAfter % 2 == 0 else { return .unsure }
    checksBeforeUncertainty = nil
    return .otherCommit
  }

  /// Records a write to the WAL. Call this method before the check that the write triggers.
  mutating func logWasWritten() { pause = shortest }

  /// Returns the time until the next check, in microseconds; nil if no check is due before the next poll. Call this
  /// method after a check triggered by an event, a pause, or the end of the pause after an ambiguous check.
  mutating func nextCheck() -> Int? {
    guard isListening, let pause else { return nil }
    self.pause = pause < limit ? pause * 2 : nil
    return pause < limit ? pause : nil
  }

  // MARK: Ambiguous checks

  /// Records an ambiguous check, with the number of checks that the writer has begun, counted after the version was
  /// read. Returns whether a pause of ``pauseAfterUncertainty`` begins.
  mutating func markUncertain(writerChecks: Int) -> Bool {
    checksBeforeUncertainty = writerChecks
    guard isListening else { return false }
    isListening = false
    pause = pause.map { max($0, CommitDetector.pauseAfterUncertainty) }
    return true
  }

  /// Ends the pause after an ambiguous check; returns whether the writer must check. Call this method before the next
  /// check.
  mutating func listenAgain(writerChecks: Int) -> Bool {
    isListening = true
    return asksWriter(writerChecks: writerChecks)
  }

  /// Returns whether the writer must check. Call this method after the pause and at each poll, because an earlier
  /// request may have failed.
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

  /// Records that the writer has checked, or failed to check.
  mutating func writerAnswered() { isWriterAsked = false }

  /// Returns whether the loops must be notified, and resolves the ambiguity. Call this method after a check while a
  /// writer is being opened.
  mutating func resolveUncertainty() -> Bool {
    defer { checksBeforeUncertainty = nil }
    return checksBeforeUncertainty != nil
  }
}
