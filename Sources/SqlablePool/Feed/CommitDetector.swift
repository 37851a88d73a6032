import SqlableCore

/// A state machine that detects other processes' commits from the polling connection's checks, and schedules the next
/// check. The detector is a value without a clock, threads or files, so tests can run every order of events.
///
/// 1. A commit is written to the WAL before it becomes visible, and the kernel reports only the write. One event can
///    stand for the writes of several commits. So even after a check, another commit might be about to appear. After
///    each event, the detector schedules several checks. The pauses between these checks double until a pause reaches
///    the polling interval. If the pool has no polling interval, the checks go on, and each later pause is a quarter
///    longer than the previous pause. A slow disk or a suspended process can delay the moment at which a commit becomes
///    visible; the detection then adds at most a quarter of this delay.
/// 2. The polling connection's `data_version` also changes with the pool's own commits. If the pool has committed
///    between two checks, a change of the version is ambiguous until the writer checks. The writer's `data_version`
///    changes only with commits of other connections.
/// 3. An ambiguity lasts until the writer's next check begins, or until the loops over changes are notified. A newly
///    opened writer can't resolve the ambiguity, because earlier commits do not change its `data_version`.
package struct CommitDetector: Hashable, Sendable {
  package enum Finding {
    case nothing, otherCommit
    /// The check is ambiguous, because the change might be a commit of the pool itself.
    case unsure
  }

  /// The shortest pause before a check. All pauses in this type are in microseconds.
  package static let shortestPause = 50
  /// The pause after an ambiguous check. The detector ignores events during the pause, because otherwise each commit of
  /// the pool would trigger a check.
  package static let pauseAfterUncertainty = 2_000
  /// The longest pause between checks if the monitor does not poll: a minute. The checks never stop, because a watch
  /// reports neither a mount at the path, nor a move of a directory above the file's directory.
  package static let longestPause = 60_000_000

  /// The polling interval in microseconds. While the monitor polls, the pauses between additional checks are shorter
  /// than this interval.
  package let limit: Int
  private let shortest: Int
  private var version: Int64?
  private var ownCommits = 0
  /// The pause before the next check; nil if no check is due before the next poll.
  private var pause: Int?
  /// The number of checks that the writer had begun when the last check was ambiguous. Nil if no check was ambiguous,
  /// or if a later check has resolved the ambiguity.
  private var checksBeforeUncertainty: Int?
  package private(set) var isListening = true
  private var isWriterAsked = false
  /// True while the monitor polls, because the kernel might not report every write.
  package private(set) var isPolling = true
  /// True if commits might be undetected, because the last check failed or the connection was closed.
  private var isBlind = false

  package init(limit: Int, shortestPause shortest: Int = CommitDetector.shortestPause) {
    (self.limit, self.shortest) = (limit, shortest)
  }

  // MARK: Checks

  /// Records the first check of a connection. Read `commits` before `version`.
  package mutating func begin(commits: Int, version: Int64) { (ownCommits, self.version) = (commits, version) }

  /// Returns the result of a check. `commitsBefore` and `commitsAfter` are the pool's commit counts before and after
  /// the version was read; a count is odd during a commit. Call this method for each check.
  package mutating func judge(commitsBefore: Int, version current: Int64, commitsAfter: Int) -> Finding {
    defer { (version, ownCommits) = (current, commitsBefore) }
    guard let version, version != current else { return .nothing }
    guard commitsAfter == ownCommits, commitsAfter % 2 == 0 else { return .unsure }
    checksBeforeUncertainty = nil
    return .otherCommit
  }

  /// True if the last check read this version, and no earlier commit is undetected or ambiguous.
  package func isCurrent(_ version: Int64) -> Bool {
    self.version == version && checksBeforeUncertainty == nil && !isBlind
  }

  /// Records that a check failed, or that the connection was closed. The next check opens another connection. The data
  /// versions of two connections can't be compared.
  package mutating func loseSight() { isBlind = true }

  /// Returns true if loops must be notified, because commits might be undetected. Call this method in each check with
  /// an open connection.
  package mutating func regainSight() -> Bool {
    defer { isBlind = false }
    return isBlind
  }

  /// Starts polling if a check has shown that the kernel does not report all writes; otherwise stops polling. Returns
  /// true if polling started or stopped. After a stop, call ``logWasWritten()`` and check once more, because a commit
  /// can become visible after its write was reported.
  package mutating func setPolling(_ isPolling: Bool) -> Bool {
    defer { self.isPolling = isPolling }
    return self.isPolling != isPolling
  }

  /// Records a write to the WAL. Call this method before the check that the write triggers.
  package mutating func logWasWritten() { pause = shortest }

  /// Returns the microseconds until the next check; nil if no check is due before the next poll. Call this method after
  /// every check, except after a check of the poll timer.
  package mutating func nextCheck() -> Int? {
    guard isListening, let pause else { return nil }
    if pause < limit {
      self.pause = min(pause * 2, max(limit, shortest))
      return pause
    }
    guard !isPolling else {
      self.pause = nil
      return nil
    }
    // Until the ambiguity is resolved, no pause exceeds `limit`. The writer is asked again after each pause.
    guard checksBeforeUncertainty == nil else {
      self.pause = limit
      return min(pause, limit)
    }
    self.pause = min(pause + pause / 4, max(limit, CommitDetector.longestPause))
    return pause
  }

  // MARK: Ambiguous checks

  /// Records an ambiguous check. Returns true if a pause of ``pauseAfterUncertainty`` starts.
  ///
  /// - Parameter writerChecks: The number of checks that the writer has begun. Read this number after the version.
  package mutating func markUncertain(writerChecks: Int) -> Bool {
    checksBeforeUncertainty = writerChecks
    guard isListening else { return false }
    isListening = false
    pause = pause.map { max($0, CommitDetector.pauseAfterUncertainty) }
    return true
  }

  /// Ends the pause that follows an ambiguous check. Call this method before the next check. Returns true if the writer
  /// must check.
  package mutating func listenAgain(writerChecks: Int) -> Bool {
    isListening = true
    return asksWriter(writerChecks: writerChecks)
  }

  /// Returns true if the writer must check. Call this method after the pause that follows an ambiguous check, and after
  /// each later check. An earlier request to the writer is not enough: the request can have failed, or the writer can
  /// have checked before the ambiguous check.
  package mutating func asksWriter(writerChecks: Int) -> Bool {
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
  package mutating func writerAnswered() { isWriterAsked = false }

  /// Ends the uncertainty of an ambiguous check: a newly opened writer can't find out whether there was a commit. If
  /// the method returns true, a check was ambiguous, and the caller must notify the loops. Call this after the check
  /// that runs while a writer is opened.
  package mutating func resolveUncertainty() -> Bool {
    defer { checksBeforeUncertainty = nil }
    return checksBeforeUncertainty != nil
  }
}
