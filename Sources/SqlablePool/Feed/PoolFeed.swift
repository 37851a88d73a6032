import Dispatch
import Glibc
import SqlableCore
import Synchronization

/// A weak reference to the feed's pool. The feed is created before the pool and can outlive the pool.
private struct WeakOwner {
  weak var owner: (any AnyObject & Sendable)?
}

/// The link between commits and the pool's loops: notifies loops of commits by the pool and by other processes.
///
/// The committing thread appends the recorded changes to the commit queue. A dispatch queue matches the commits with
/// the subscribers. A subscriber that can't wait matches the commits on its own thread. Commits are matched in commit
/// order. The feed refers to subscribers weakly, by number: releasing a subscriber ends its subscription.
package final class PoolFeed: CommitSink {
  private struct Watch {
    var isEnded = false
    var isBegun = false
    var monitor: ExternalCommitMonitor?
  }

  // `interests` and `log` have locks of their own, because a writer uses them and must not wait while subscribers are
  // matched.
  private let interests = LockedValue(FeedInterests())
  private let subscribers = LockedValue(Subscribers())
  private let log = LockedValue(CommitQueue())
  private let watched = LockedValue(Watch())
  /// The lock held while the feed starts the monitor of other processes.
  private let beginning = LockedValue(())
  private let queue: DispatchQueue
  /// True if the feeds of many pools share one thread.
  private let sharesThread: Bool
  private let wakes = WakeQueue()
  /// A separate wake queue for live results, so that live results do not wait behind loops over changes.
  private let calls = WakeQueue()
  /// Matches found by a thread that must not release the matched objects.
  private let deferredMatches = LockedValue<[Matches]>([])
  private let lastPosition = Atomic(0)
  private let matchedPosition = Atomic(0)
  /// The number of subscribers that need every commit, even a commit without recorded changes. Other subscribers are
  /// not counted.
  private let subscriberCount = Atomic(0)
  private let largestBuffer = Atomic(CommitQueue.maximumWeight)
  private let loops = Atomic(0)
  private let numbers = Atomic(0)
  private let registry: ObserverRegistry
  private let weakOwner = LockedValue(WeakOwner())
  let sharedResults = LiveQueryRegistry()
  private let filterTables: FilterTables
  private let filters = LockedValue<[RowFilter.Key: RowFilter]>([:])
  private let commitCount = Atomic(0)
  private let checkCount = Atomic(0)
  /// Starts the monitor of other processes' commits; called once, for the first subscriber.
  private let watch: @Sendable (PoolFeed) -> ExternalCommitMonitor?
  /// The position in the change log of the database; unused in a program without change logs.
  private let changeLog = FollowedChangeLog()
  private let columnsRead = LockedValue<[ReadKey: ReadColumns]>([:])

  package init(
    root: SqliteDatabase, sharing resources: PoolResources? = nil,
    watch: @escaping @Sendable (PoolFeed) -> ExternalCommitMonitor?
  ) {
    queue = DispatchQueue(label: "sqlable.pool.feed", target: resources?.feedQueue)
    sharesThread = resources != nil
    registry = root.registry
    filterTables = FilterTables(root: root)
    self.watch = watch
    root.registry.sink = self
  }

  /// The pool that the loops read from; nil after the pool was released.
  var owner: (any AnyObject & Sendable)? {
    get { weakOwner.withLock { $0.owner } }
    set { weakOwner.withLock { $0.owner = newValue } }
  }

  func newNumber() -> Int { numbers.add(1, ordering: .relaxed).newValue }

  var loopCount: Int { loops.load(ordering: .relaxed) }

  func loopBegins() { loops.add(1, ordering: .relaxed) }

  func loopEnds() { loops.subtract(1, ordering: .relaxed) }

  package var interest: ObservedTables { interests.withLock { $0.interest } }

  // MARK: Subscribers

  func add(_ subscription: ChangeSubscription, _ number: Int) {
    let table = subscription.observed.observer.table
    var interest = ObservedTables(named: [table], commits: true)
    if subscription.observed.withValues { interest.valued = [table.foldedName] }
    largestBuffer.max(min(subscription.limit, 10 * CommitQueue.maximumWeight), ordering: .relaxed)
    listen(interest, number) { $0.add(subscription, number, since: position) }
    watchOthers { wake { subscription.end(&$0) } }
  }

  func add(_ result: any FollowedLiveQuery, _ number: Int) {
    listen(ObservedTables(commits: true), number) { $0.add(result, number) }
    watchOthers { wake { result.end(&$0) } }
  }

  /// Records the columns that a live result reads, as soon as these columns are known.
  func expect(_ read: ReadColumns, _ rule: RowRule, _ number: Int) {
    let interest = ObservedTables(
      read: read.tables.mapValues { ObservedTables.TableInterest(columns: $0, wantsImages: rule.decidesByRow) },
      commits: true
    )
    listen(interest, number) {
      $0.expect(read, rule.filter?.demands ?? [], columns: rule.filter?.columns ?? [], number)
    }
  }

  /// Adds a subscriber that observes the tables of `interest`. Each later commit is compared with these tables.
  private func listen(_ interest: ObservedTables, _ number: Int, _ body: (inout Subscribers) -> Void) {
    // Without subscribers, `commitBegins` does not announce commits, so the position in the change log is unknown.
    if !self.interest.commits { changeLog?.lose() }
    // Add the subscriber first, so that every later commit is matched, even a commit without recorded changes.
    subscribers.withLock { subscribers in
      body(&subscribers)
      subscriberCount.store(subscribers.subscriberCount, ordering: .sequentiallyConsistent)
    }
    let joined = interests.withLock { interests in
      // Read the count of observer changes under the lock. Otherwise a later subscriber could get a count from before
      // this change.
      if interests.want(interest, number) { registry.sinkDidChange() }
      return ObserverRegistry.changes
    }
    subscribers.withLock { $0.join(number, joined) }
  }

  func remove(_ number: Int) {
    subscribers.withLock { subscribers in
      subscribers.remove(number)
      subscriberCount.store(subscribers.subscriberCount, ordering: .sequentiallyConsistent)
    }
    interests.withLock { interests in
      if interests.forget(number) { registry.sinkDidChange() }
    }
  }

  /// Starts the monitor of other processes once; calls `end` if the feed has ended.
  private func watchOthers(orElse end: () -> Void) {
    // A second subscriber must wait here until the monitor's first check has finished.
    beginning.lock()
    defer { beginning.unlock() }
    let (isEnded, isFirst) = watched.withLock { watch in
      defer { watch.isBegun = true }
      return (watch.isEnded, !watch.isBegun)
    }
    if isEnded { return end() }
    guard isFirst else {
      if changeLog?.isLost == true { watched.withLock { $0.monitor }?.findChangeLog() }
      return
    }
    guard let monitor = watch(self) else { return }
    let isTooLate = watched.withLock { watch in
      if !watch.isEnded { watch.monitor = monitor }
      return watch.isEnded
    }
    if isTooLate { monitor.end() }
  }

  /// Checks for other processes' commits and returns after the check. Does nothing without a monitor.
  func detectOtherCommits() { watched.withLock { $0.monitor }?.checkNow() }

  package func fileWasClosed() {
    columnsRead.withLock { $0 = [:] }
    watched.withLock { $0.monitor }?.forgetConnection()
    didCommitElsewhere(on: nil)
  }

  // MARK: Columns that statements read

  /// A statement and the schema version that the statement was compiled with.
  struct ReadKey: Hashable {
    /// Bytes, because `==` of strings equates the two Unicode forms of é, which SQLite treats as different names.
    private let text: [UInt8]
    private let schemaVersion: Int64

    init(text: String, schemaVersion: Int64) {
      self.text = Array(text.utf8)
      self.schemaVersion = schemaVersion
    }
  }

  /// The number of entries at which a cache is emptied.
  private static let maximumKnown = 1_000

  func columnsRead(_ key: ReadKey) -> ReadColumns? { columnsRead.withLock { $0[key] } }

  func note(_ read: ReadColumns, for key: ReadKey) {
    columnsRead.withLock { known in
      if known.count >= PoolFeed.maximumKnown { known = [:] }
      known[key] = read
    }
  }

  // MARK: Filters

  /// Returns the row filter of a statement. Equal statements share one filter. Nil if the statement has no filter, or
  /// if the values of a single row can't decide the filter.
  func filter(_ query: SelectQuery, _ columns: [ComparedColumn]) -> RowFilter? {
    guard let key = RowFilter.Key(query, columns) else { return nil }
    return filters.withLock { filters in
      if let known = filters[key] { return known }
      if filters.count >= PoolFeed.maximumKnown { filters = [:] }
      let filter = RowFilter(key, filterTables)
      filters[key] = filter
      return filter
    }
  }

  // MARK: Commits

  /// A number that is incremented when a commit of the pool begins and when the commit ends; odd during a commit.
  var ownCommits: Int { commitCount.load(ordering: .acquiring) }
  /// The number of checks for other connections' commits that the writer has started.
  var writerChecks: Int { checkCount.load(ordering: .acquiring) }

  package func commitBegins(on connection: Connection, schemaVersion: Int64?) {
    commitCount.add(1, ordering: .acquiringAndReleasing)
    changeLog?.commitBegins(on: connection, schemaVersion)
  }

  package func commitEnds() {
    changeLog?.commitEnds()
    commitCount.add(1, ordering: .acquiringAndReleasing)
  }

  package func willDetectOtherCommits() { checkCount.add(1, ordering: .acquiringAndReleasing) }

  package func didClose() { end() }

  package func didCommitElsewhere(on connection: Connection?) {
    guard let changeLog else { return append(CommittedChanges(isUnknown: true)) }
    guard let connection else { return changeLog.lose { append($0) } }
    _ = changeLog.follow(on: connection, for: { interest }, deliver: { append($0) })
  }

  /// Remembers the end of the change log, if the end is unknown and the pool is not committing.
  ///
  /// - Parameter isCurrent: Returns true if all commits of other connections up to a `data_version` are delivered.
  func findChangeLog(with handle: SqliteDatabase, ifCurrent isCurrent: (Int64) -> Bool) {
    guard let changeLog, changeLog.isLost else { return }
    let commits = ownCommits
    try? handle.locked {
      let connection = try handle.openConnection()
      changeLog.find(on: connection) { [self] in
        // Read the version after the log: every commit that was in the log at the time of the read has already changed
        // the version.
        guard let version = try? connection.dataVersion(), isCurrent(version) else { return false }
        return commits == ownCommits && commits % 2 == 0
      }
    }
  }

  /// Delivers a commit of another connection. Call this method on the queue that detected the commit.
  ///
  /// - Parameters:
  ///   - handle: A handle that can read the commit; nil if there is none.
  ///   - commits: The pool's commit count before the commit was detected. If the pool commits while the change log is
  ///     read, the method delivers nothing and returns false.
  @discardableResult
  func othersCommitted(readBy handle: SqliteDatabase? = nil, since commits: Int? = nil) -> Bool {
    let isCertain = appendCommits(readBy: handle, since: commits)
    // Match the commit on this thread, because waking another thread would take longer. Release the matches on the
    // feed's queue: a match can hold the last reference to the pool, and the pool's deinit waits for this thread's
    // queue. The closure does not capture the matches, because then this thread could be the last to release them.
    guard isCertain else { return false }
    deferRelease(match())
    queue.async { [self] in releaseDeferred() }
    return true
  }

  private func appendCommits(readBy handle: SqliteDatabase?, since commits: Int?) -> Bool {
    guard let changeLog else {
      append(CommittedChanges(isUnknown: true), isMatchedHere: true)
      return true
    }
    let commits = commits ?? ownCommits
    if let handle {
      let followed = try? handle.locked {
        changeLog.follow(on: try handle.openConnection(), for: { interest }) {
          commits == ownCommits && commits % 2 == 0
        } deliver: {
          append($0, isMatchedHere: true)
        }
      }
      if let followed { return followed }
    }
    changeLog.lose { append($0, isMatchedHere: true) }
    return true
  }

  private func deferRelease(_ matches: consuming Matches) {
    deferredMatches.withLock { [matches] in $0.append(matches) }
  }

  private func releaseDeferred() {
    let matches = deferredMatches.withLock { deferredMatches in
      defer { deferredMatches = [] }
      return deferredMatches
    }
    withExtendedLifetime(matches) {}
  }

  package func didCommit(_ commit: CommittedChanges) {
    let hasRecorded = commit.isUnknown || !commit.rows.isEmpty || !commit.tables.isEmpty
    let isDelivered = hasRecorded || subscriberCount.load(ordering: .sequentiallyConsistent) > 0
    guard let changeLog else { return isDelivered ? append(commit) : () }
    changeLog.didCommit(isAnnounced: !commit.isUnannounced) { if isDelivered { append(commit) } }
  }

  /// The position of the last queued commit. The call that made this commit has returned, or is about to return.
  var position: Int { lastPosition.load(ordering: .acquiring) }

  /// Appends a commit; nil ends the feed.
  private func append(_ commit: CommittedChanges?, isMatchedHere: Bool = false) {
    let limit = largestBuffer.load(ordering: .relaxed)
    let isFirst = log.withLock { log in
      log.append(commit, limit: limit)
      lastPosition.store(log.position, ordering: .releasing)
      if isMatchedHere { return false }
      defer { log.isScheduled = true }
      return !log.isScheduled
    }
    if isFirst { queue.async { [self] in matchWhatComes() } }
  }

  /// The time to sleep per matched commit, and the longest sleep, in microseconds; see `matchWhatComes`.
  private static let (gathering, longestGathering) = (500, 4_000)

  /// Matches the queued commits until no commit follows. The first commit is matched immediately. After each match the
  /// thread sleeps in proportion to the number of matched commits. Otherwise a writer that commits every twenty
  /// microseconds would wake a thread each time.
  private func matchWhatComes() {
    while true {
      let count = match(isScheduled: true).commits
      guard count > 0 else { return }
      let pause = min(count * PoolFeed.gathering, PoolFeed.longestGathering)
      // On a shared thread, a sleep would delay the other pools. For a pool with its own thread, a timer would cost
      // more than the sleep.
      if sharesThread {
        return queue.asyncAfter(deadline: .now() + .microseconds(pause)) { [self] in matchWhatComes() }
      }
      usleep(UInt32(pause))
    }
  }

  func isMatched(upTo position: Int) -> Bool { matchedPosition.load(ordering: .acquiring) >= position }

  /// Matches all commits acknowledged so far with the subscribers before returning.
  func catchUp() {
    if !isMatched(upTo: position) { match() }
  }

  private func wake(_ body: (inout Matches) -> Void) {
    var matches = Matches()
    body(&matches)
    wakes.wake(matches.woken)
  }

  /// Matches the queued commits, and wakes the subscribers. Returns the objects to release outside the lock.
  @discardableResult
  private func match(isScheduled: Bool = false) -> Matches {
    var matches = Matches()
    subscribers.withLock { subscribers in
      // Take the commits from the log and find their subscribers under one lock. With two locks, another thread could
      // find the subscribers of later commits first.
      let entries = log.withLock { log in
        let entries = log.takeAll()
        if entries.isEmpty, isScheduled { log.isScheduled = false }
        return entries
      }
      guard let last = entries.last else { return }
      matches.commits = entries.count
      for entry in entries { subscribers.match(entry, &matches) }
      subscriberCount.store(subscribers.subscriberCount, ordering: .sequentiallyConsistent)
      matchedPosition.store(last.position, ordering: .releasing)
    }
    wakes.wake(matches.woken)
    calls.wake(matches.called)
    return matches
  }

  /// Ends all loops after they have received earlier commits. Call this method when the pool closes.
  package func end() {
    let monitor = watched.withLock { watch in
      watch.isEnded = true
      return watch.monitor
    }
    monitor?.end()
    append(nil)
  }
}
