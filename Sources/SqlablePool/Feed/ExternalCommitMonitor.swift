import Dispatch
import SqlableCore

/// A monitor of commits to the pool's file by other processes, and by handles of this process outside the pool.
///
/// `PRAGMA data_version` returns a number that changes when another connection has committed. The monitor reads the
/// number after the kernel reports a write to the WAL, and again after growing pauses. `CommitDetector` interprets each
/// check and schedules the next check. This class runs the checks.
///
/// The monitor also reads the number at every poll if the kernel might not report a write: without a WAL, in a network
/// file system, and if no watch can be set. Otherwise, the pauses between checks grow to a minute while no process
/// commits.
///
/// `ExternalCommitMonitor` is safe as `@unchecked Sendable`: mutable state is used only on `queue`.
package final class ExternalCommitMonitor: @unchecked Sendable {
  private unowned let feed: PoolFeed
  private let root: SqliteDatabase
  /// Makes the writer check for commits of other connections as soon as the writer is free. Calls the passed closure
  /// after the check, or when the writer can't check.
  private let askWriter: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let queue = DispatchQueue(label: "sqlable.pool.others")
  /// The inotify instance that the monitors of many pools share; nil if this monitor has an instance of its own.
  private let watches: FileWatches?
  private let interval: Duration
  private let poll: any DispatchSourceTimer
  private let nextCheck: any DispatchSourceTimer
  private var watch: FileWatch?
  private var handle: SqliteDatabase?
  private var detector: CommitDetector
  /// The watch that was suspended for a pause. `watch` might have been replaced since then.
  private var suspended: FileWatch?
  /// True if the connection's last poll found the database in WAL mode. Only a connection that has used the WAL keeps
  /// other connections from leaving WAL mode.
  private var usesWAL = false
  /// True if the pause before the next check is at least the polling interval. The check then does the work of a poll.
  private var isNextCheckPoll = false
  private var isEnded = false

  init(
    _ feed: PoolFeed, _ root: SqliteDatabase, every interval: Duration, sharing resources: PoolResources? = nil,
    askWriter: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.feed = feed
    self.root = root
    self.askWriter = askWriter
    self.interval = interval
    watches = resources?.watches
    detector = CommitDetector(limit: interval.wholeMicroseconds)
    poll = DispatchSource.makeTimerSource(queue: queue)
    nextCheck = DispatchSource.makeTimerSource(queue: queue)
    poll.setEventHandler { [weak self] in self?.pollIsDue() }
    nextCheck.setEventHandler { [weak self] in self?.checkIsDue() }
    schedulePolls()
    nextCheck.schedule(deadline: .distantFuture)
    poll.resume()
    nextCheck.resume()
    // Run the first check here, on the first subscriber's thread, so that the subscriber misses no later commit.
    checkNow()
  }

  /// Checks for commits of other processes, and returns after the check. Call this method while a writer is opened,
  /// because the new writer can't detect earlier commits.
  func checkNow() {
    queue.sync {
      check()
      if detector.resolveUncertainty() { deliverUnseen() }
    }
  }

  /// Delivers commits that the detector can't distinguish from the pool's own commits.
  private func deliverUnseen() {
    if !feed.othersCommitted(readBy: usesWAL ? handle : nil) { feed.othersCommitted() }
  }

  func findChangeLog() {
    queue.sync { if !isEnded, usesWAL, let handle { findChangeLog(with: handle) } }
  }

  /// Stores the end of the change log, where later reads of the log start. Does nothing if the log might contain
  /// commits that no check has detected, because later reads would skip the rows of these commits.
  private func findChangeLog(with handle: SqliteDatabase) {
    feed.findChangeLog(with: handle, ifCurrent: detector.isCurrent)
  }

  // MARK: Schedule

  private func logWasWritten(isReplaced: Bool = false) {
    detector.logWasWritten()
    checkAndReschedule(isPoll: isReplaced)
  }

  private func checkIsDue() { if detector.isListening { checkAndReschedule(isPoll: isNextCheckPoll) } }

  private func checkAndReschedule(isPoll: Bool = false) {
    check(isPoll: isPoll)
    askIfUncertain()
    guard !isEnded, let pause = detector.nextCheck() else { return }
    isNextCheckPoll = pause >= detector.limit
    // This replaces a pending check, which might be far in the future.
    nextCheck.schedule(deadline: .now() + .microseconds(pause))
  }

  private func pollIsDue() {
    check(isPoll: true)
    askIfUncertain()
  }

  /// Makes the writer check for commits if an ambiguous check of this monitor is still unresolved. An earlier answer of
  /// the writer might be older than the ambiguous check.
  private func askIfUncertain() {
    if !isEnded, detector.asksWriter(writerChecks: feed.writerChecks) { ask() }
  }

  /// Starts the polls, or stops the polls if the watch reports all writes.
  private func schedulePolls() {
    guard detector.isPolling else { return poll.schedule(deadline: .distantFuture) }
    poll.schedule(deadline: .now() + interval.dispatched, repeating: interval.dispatched, leeway: .milliseconds(10))
  }

  // MARK: Checks

  private func check(isPoll: Bool = false) {
    guard !isEnded else { return }
    let isComplete = look(isPoll: isPoll) && usesWAL && watch?.isComplete == true
    guard detector.setPolling(!isComplete) else { return }
    schedulePolls()
    if isComplete { queue.async { [weak self] in self?.logWasWritten() } }
  }

  /// Looks for other processes' commits; returns false if the monitor can't see commits.
  private func look(isPoll: Bool) -> Bool {
    do {
      let isNew = self.handle == nil
      let handle = try self.handle ?? open()
      self.handle = handle
      if detector.regainSight() {
        deliverUnseen()
      } else if isNew, usesWAL {
        findChangeLog(with: handle)
      }
      if isPoll, let current = watch, current !== suspended, current.isOutdated {
        current.cancel()
        watch = nil
      }
      if watch == nil { watchWAL(of: handle) }
      let commitsBefore = feed.ownCommits
      let version = try handle.dataVersion()
      if isPoll, !usesWAL { usesWAL = try handle.usesWAL() }
      // If the file is gone, make live results read again, so that their loops throw the error.
      if isPoll, try handle.isFileGone() {
        feed.othersCommitted()
        return false
      }
      let isCertain =
        switch detector.judge(commitsBefore: commitsBefore, version: version, commitsAfter: feed.ownCommits) {
        case .nothing: true
        // Read only if there is a WAL. Without a WAL, the read could wait for a commit of the pool, while this commit
        // waits for this thread.
        case .otherCommit: feed.othersCommitted(readBy: usesWAL ? handle : nil, since: commitsBefore)
        case .unsure: false
        }
      if !isCertain, detector.markUncertain(writerChecks: feed.writerChecks) { pauseListening() }
      return true
    } catch {
      handle = nil
      detector.loseSight()
      if isPoll { feed.othersCommitted() }
      return false
    }
  }

  private func open() throws -> SqliteDatabase {
    let handle = try root.createChild(isReadOnly: root.configuration.isReadOnly)
    let commits = feed.ownCommits
    detector.begin(commits: commits, version: try handle.dataVersion())
    usesWAL = try handle.usesWAL()
    return handle
  }

  private func watchWAL(of handle: SqliteDatabase) {
    guard let path = try? handle.locked({ try handle.openConnection().absolutePath }) else { return }
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    watch = FileWatch(path + "-wal", companions: [path], directory: directory, on: queue, sharing: watches) {
      [weak self] event in self?.logWasWritten(isReplaced: event == .replaced)
    }
    guard watch != nil else { return }
    // Check again, because writes before the start of the watch might be undetected. This method runs within a check,
    // so the second check runs asynchronously.
    queue.async { [weak self] in self?.logWasWritten() }
  }

  /// Makes the next check open another connection. The versions of two connections are not comparable.
  func forgetConnection() {
    queue.async { [weak self] in
      guard let self, !isEnded else { return }
      try? handle?.close()
      handle = nil
      detector.loseSight()
      if detector.setPolling(true) { schedulePolls() }
    }
  }

  // MARK: Ambiguous checks

  /// Ignores file events for a short time. Afterwards asks the writer to check for commits, unless the writer has done
  /// so in a transaction that began during the pause.
  private func pauseListening() {
    suspended = watch
    suspended?.suspend()
    queue.asyncAfter(deadline: .now() + .microseconds(CommitDetector.pauseAfterUncertainty)) { [self] in
      suspended?.resume()
      suspended = nil
      // If the monitor has ended, `feed` might be deinitialized.
      if isEnded { return release() }
      if detector.listenAgain(writerChecks: feed.writerChecks) { ask() }
      checkAndReschedule()
    }
  }

  private func ask() {
    // Call the closure on another queue. The closure might release the pool, and the pool's deinit waits for the
    // monitor's queue.
    DispatchQueue.global().async { [askWriter, weak self] in
      askWriter { [weak self] in self?.writerAnswered() }
    }
  }

  private func writerAnswered() { queue.async { [weak self] in self?.detector.writerAnswered() } }

  // MARK: End

  /// Stops all checks and closes the handle before returning.
  func end() {
    queue.sync {
      guard !isEnded else { return }
      isEnded = true
      poll.cancel()
      nextCheck.cancel()
      try? handle?.close()
      handle = nil
      if detector.isListening { release() }
    }
  }

  private func release() {
    watch?.cancel()
    watch = nil
  }
}

extension SqliteDatabase {
  fileprivate func dataVersion() throws -> Int64 { try locked { try openConnection().dataVersion() } }

  fileprivate func usesWAL() throws -> Bool {
    try locked { try openConnection().pragma("PRAGMA main.journal_mode")?.isSameName(as: "wal") ?? false }
  }

  fileprivate func isFileGone() throws -> Bool { try locked { try openConnection().fileHasMoved } }
}
