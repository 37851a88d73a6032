import Dispatch

/// Notices what others commit to the pool's file: processes, and handles of this one that are not the pool's.
///
/// `PRAGMA data_version` tells a connection that another one has committed. It is asked when the kernel says that the
/// write-ahead log was written to, after growing pauses since, and at every poll in case the kernel did not. What a
/// look means and when the next one is due, `CommitDetector` decides; this does it.
///
/// Sound as `Sendable`: what changes is touched on `queue` only.
final class OtherProcesses: @unchecked Sendable {
  private unowned let feed: PoolFeed
  private let root: SqliteDatabase
  /// Has the writer look, when it is free, and calls its argument when it has, or can't.
  private let askWriter: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let queue = DispatchQueue(label: "sqlable.pool.others")
  private let poll: any DispatchSourceTimer
  private let nextLook: any DispatchSourceTimer
  private var watch: FileWatch?
  private var handle: SqliteDatabase?
  private var detector: CommitDetector
  /// The watch that is not listened to meanwhile: another one may have been made since.
  private var suspended: FileWatch?
  /// Whether it could not look: what was committed meanwhile is not known.
  private var isBlind = false
  private var isEnded = false

  init(
    _ feed: PoolFeed, _ root: SqliteDatabase, every interval: Duration,
    askWriter: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.feed = feed
    self.root = root
    self.askWriter = askWriter
    detector = CommitDetector(limit: interval.wholeMicroseconds)
    poll = DispatchSource.makeTimerSource(queue: queue)
    nextLook = DispatchSource.makeTimerSource(queue: queue)
    poll.setEventHandler { [weak self] in self?.pollIsDue() }
    nextLook.setEventHandler { [weak self] in self?.checkIsDue() }
    poll.schedule(deadline: .now() + interval.dispatched, repeating: interval.dispatched, leeway: .milliseconds(10))
    nextLook.schedule(deadline: .distantFuture)
    poll.resume()
    nextLook.resume()
    // Now, on the thread of the first who listens: what is committed from here on is not to be missed.
    checkNow()
  }

  /// Looks, and does not return before it has; to be called while a writer is being opened, which can't tell later what
  /// was committed before.
  func checkNow() {
    queue.sync {
      look()
      if detector.endDoubt() { feed.othersCommitted() }
    }
  }

  // MARK: When it looks

  private func logWasWritten() {
    detector.logWasWritten()
    checkAndReschedule()
  }

  private func checkIsDue() { if detector.isListening { checkAndReschedule() } }

  private func checkAndReschedule() {
    look()
    guard !isEnded, let pause = detector.nextLook() else { return }
    // In place of the look that was to come, if there was one: that may be far off.
    nextLook.schedule(deadline: .now() + .microseconds(pause))
  }

  private func pollIsDue() {
    look(isPoll: true)
    guard !isEnded else { return }
    if detector.asksWriter(writerLooks: feed.writerLooks) { ask() }
  }

  // MARK: A look

  private func look(isPoll: Bool = false) {
    guard !isEnded else { return }
    do {
      let handle = try self.handle ?? open()
      self.handle = handle
      if isBlind {
        isBlind = false
        feed.othersCommitted()
      }
      if isPoll, let current = watch, current !== suspended, current.isOutdated {
        current.cancel()
        watch = nil
      }
      if watch == nil { watchLog(of: handle) }
      let own = feed.ownCommits
      let found = try handle.dataVersion()
      // A loop over a result is to hear that there is no file any more.
      if isPoll, try handle.isFileGone() { return feed.othersCommitted() }
      switch detector.judge(own: own, version: found, ownAfterwards: feed.ownCommits) {
      case .nothing: break
      case .others: feed.othersCommitted()
      case .unsure: if detector.doubt(writerLooks: feed.writerLooks) { pauseListening() }
      }
    } catch {
      // Who can't look can't say that there was nothing.
      (handle, isBlind) = (nil, true)
      if isPoll { feed.othersCommitted() }
    }
  }

  private func open() throws -> SqliteDatabase {
    let handle = try root.createChild()
    let own = feed.ownCommits
    detector.begin(own: own, version: try handle.dataVersion())
    return handle
  }

  private func watchLog(of handle: SqliteDatabase) {
    guard let path = try? handle.locked({ try handle.openConnection().absolutePath }) else { return }
    watch = FileWatch(path + "-wal", on: queue) { [weak self] in self?.logWasWritten() }
    guard watch != nil else { return }
    // What was written before the watch began may not be seen yet. Not in the midst of a look.
    queue.async { [weak self] in self?.logWasWritten() }
  }

  // MARK: Doubt

  /// A transaction of the writer that begins meanwhile looks; else the writer is asked afterwards.
  private func pauseListening() {
    suspended = watch
    suspended?.suspend()
    queue.asyncAfter(deadline: .now() + .microseconds(CommitDetector.pauseAfterDoubt)) { [self] in
      suspended?.resume()
      suspended = nil
      // The feed may be gone.
      if isEnded { return release() }
      if detector.listenAgain(writerLooks: feed.writerLooks) { ask() }
      checkAndReschedule()
    }
  }

  private func ask() {
    // Not here: who asks may be the last to hold the pool, which waits for this queue when it goes.
    DispatchQueue.global().async { [askWriter, weak self] in
      askWriter { [weak self] in self?.writerAnswered() }
    }
  }

  private func writerAnswered() { queue.async { [weak self] in self?.detector.writerAnswered() } }

  // MARK: Its end

  /// Looks no more. Closes its handle before it returns.
  func end() {
    queue.sync {
      guard !isEnded else { return }
      isEnded = true
      poll.cancel()
      nextLook.cancel()
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
  /// Another number than before when another connection has committed since.
  fileprivate func dataVersion() throws -> Int64 { try locked { try openConnection().dataVersion() } }

  fileprivate func isFileGone() throws -> Bool { try locked { try openConnection().fileHasMoved } }
}

extension Duration {
  /// Ten thousand years at most.
  fileprivate var wholeMicroseconds: Int {
    let (seconds, attoseconds) = components
    return Int(min(seconds, 300_000_000_000)) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
  }
}
