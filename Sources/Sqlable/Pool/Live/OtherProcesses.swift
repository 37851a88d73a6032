import Dispatch

/// Notices what others commit to the pool's file: processes, and handles of this one that are not the pool's.
///
/// `PRAGMA data_version` tells a connection that another one has committed. It is asked when the kernel says that the
/// write-ahead log was written to, and now and then in case the kernel did not. A connection that only looks can't tell the
/// pool's own commits from others; the writer's can. So what is in doubt, since the pool has committed meanwhile, is asked of the
/// writer: at the begin of its next transaction, or else when it is free.
///
/// Sound as `Sendable`: what changes is touched on `queue` only.
final class OtherProcesses: @unchecked Sendable {
  private unowned let feed: PoolFeed
  private let root: SqliteDatabase
  private let interval: Duration
  /// Has the writer look, when it is free.
  private let askWriter: @Sendable () -> Void
  private let queue = DispatchQueue(label: "sqlable.pool.others")
  private let timer: any DispatchSourceTimer
  private var watch: FileWatch?
  private var handle: SqliteDatabase?
  private var version: Int64?
  private var ownCommits = 0
  private var isThrottled = false
  /// The watch that is not listened to meanwhile: another one may have been made since.
  private var suspended: FileWatch?
  /// How often the writer had begun to look when it was last in doubt.
  private var looksBeforeDoubt = 0
  /// Whether it could not look: what was committed meanwhile is not known.
  private var isBlind = false
  private var looksAgain = false
  /// In microseconds.
  private var pauseBeforeLook = OtherProcesses.shortestPause

  private static let shortestPause = 50
  private var isEnded = false

  /// How long the kernel is not listened to after a commit of the pool's own: each of those wakes it, too.
  private static let pause = DispatchTimeInterval.milliseconds(2)

  init(_ feed: PoolFeed, _ root: SqliteDatabase, every interval: Duration, askWriter: @escaping @Sendable () -> Void) {
    self.feed = feed
    self.root = root
    self.interval = interval
    self.askWriter = askWriter
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in self?.look(isPoll: true) }
    timer.schedule(deadline: .now() + interval.dispatched, repeating: interval.dispatched, leeway: .milliseconds(10))
    timer.resume()
    // Now, on the thread of the first who listens: what is committed from here on is not to be missed.
    lookNow()
  }

  /// Looks, and does not return before it has.
  func lookNow() { queue.sync { look() } }

  private func look(isPoll: Bool = false) {
    guard !isEnded else { return }
    do {
      let handle = try self.handle ?? open()
      self.handle = handle
      if isBlind {
        isBlind = false
        feed.didCommitElsewhere()
      }
      if watch == nil { watchLog(of: handle) }
      let own = feed.ownCommits
      let found = try handle.dataVersion()
      // A loop over a result is to hear that there is no file any more.
      if isPoll, try handle.isFileGone() { return feed.didCommitElsewhere() }
      // Counted before the version is read, and compared with the count after it: a commit of the pool's own is counted before
      // it is done, and again after it.
      defer { (version, ownCommits) = (found, own) }
      guard let version, version != found else { return }
      let now = feed.ownCommits
      guard now != ownCommits || now % 2 == 1 else { return feed.didCommitElsewhere() }
      askLater()
    } catch {
      // Who can't look can't say that there was nothing.
      (handle, isBlind) = (nil, true)
      if isPoll { feed.didCommitElsewhere() }
    }
  }

  private func open() throws -> SqliteDatabase {
    let handle = try root.createChild()
    ownCommits = feed.ownCommits
    version = try handle.dataVersion()
    return handle
  }

  private func watchLog(of handle: SqliteDatabase) {
    guard let path = try? handle.locked({ try handle.openConnection().absolutePath }) else { return }
    watch = FileWatch(path + "-wal", on: queue) { [weak self] in self?.logWasWritten() }
  }

  /// The log is written before the commit can be seen, and the kernel does not tell of what makes it seen: memory that is
  /// shared. So it is looked again, after pauses that grow, until something is seen.
  private func logWasWritten() {
    let seen = version
    look()
    pauseBeforeLook = OtherProcesses.shortestPause
    if seen == version { lookAgain() }
  }

  private func lookAgain() {
    guard !looksAgain, !isEnded, .microseconds(pauseBeforeLook) < interval else { return }
    looksAgain = true
    queue.asyncAfter(deadline: .now() + .microseconds(pauseBeforeLook)) { [self] in
      looksAgain = false
      let seen = version
      look()
      pauseBeforeLook *= 2
      if seen == version { lookAgain() }
    }
  }

  /// Has the writer asked, unless a transaction of it begins before.
  private func askLater() {
    // Each time: the writer may have looked since the doubt before, and not after this one.
    looksBeforeDoubt = feed.writerLooks
    guard !isThrottled else { return }
    isThrottled = true
    suspended = watch
    suspended?.suspend()
    queue.asyncAfter(deadline: .now() + OtherProcesses.pause) { [self] in
      isThrottled = false
      suspended?.resume()
      suspended = nil
      if isEnded { return release() }
      guard feed.writerLooks == looksBeforeDoubt else { return }
      // Not here: who asks may be the last to hold the pool, which waits for this queue when it goes.
      DispatchQueue.global().async(execute: askWriter)
    }
  }

  /// Looks no more. Closes its handle before it returns.
  func end() {
    queue.sync {
      guard !isEnded else { return }
      isEnded = true
      timer.cancel()
      try? handle?.close()
      handle = nil
      if !isThrottled { release() }
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
