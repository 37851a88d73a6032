import Dispatch
import Glibc
import SqlableCore
import Synchronization

/// Notifies the pool's loops of its commits, and of other processes' commits.
///
/// The committing thread appends the recorded changes to a log. They are matched with the subscribers on a queue, or by
/// a subscriber that can't wait for that; both in the order of commits. Subscribers are held weakly, by number:
/// releasing one ends it.
package final class PoolFeed: CommitSink {
  private struct Interests {
    /// The tables to record: the interests of all subscribers, and some of former subscribers.
    var interest = ObservedTables()
    /// The interest of each subscriber.
    var bySubscriber: [Int: ObservedTables] = [:]
    /// The number of subscribers removed since the interest was computed.
    var removedCount = 0

    /// Adds the interest of a subscriber; returns whether the total changes.
    mutating func want(_ interest: ObservedTables, _ number: Int) -> Bool {
      bySubscriber[number] = interest
      let before = self.interest
      self.interest.formUnion(interest)
      return self.interest != before
    }

    /// Removes a subscriber; returns whether the total changes. The total is computed only now and then: recording too
    /// much does no harm.
    mutating func forget(_ number: Int) -> Bool {
      bySubscriber[number] = nil
      removedCount += 1
      guard removedCount > bySubscriber.count else { return false }
      removedCount = 0
      let before = interest
      interest = bySubscriber.values.reduce(into: ObservedTables()) { $0.formUnion($1) }
      return interest != before
    }
  }

  private struct Watch {
    var isEnded = false
    var isBegun = false
    var monitor: ExternalCommitMonitor?
  }

  // Separate locks: a writer takes the first and the third, and must not wait while subscribers are matched.
  private let interests = LockedValue(Interests())
  private let subscribers = LockedValue(Subscribers())
  private let log = LockedValue(CommitQueue())
  private let watched = LockedValue(Watch())
  /// Held while the watch for other processes begins.
  private let beginning = LockedValue(())
  private let queue = DispatchQueue(label: "sqlable.pool.feed")
  private let wakes = WakeQueue()
  /// The wake queue of live results, so that they do not wait behind loops over changes.
  private let calls = WakeQueue()
  /// The matches of a thread that must not release them.
  private let leftOver = LockedValue<[Matches]>([])
  private let lastPosition = Atomic(0)
  private let matchedPosition = Atomic(0)
  /// The number of subscribers that a commit may concern even if it recorded nothing.
  private let attentive = Atomic(0)
  private let largestBuffer = Atomic(CommitQueue.maximumWeight)
  private let loops = Atomic(0)
  private let numbers = Atomic(0)
  private let registry: ObserverRegistry
  /// The live results that loops share.
  let sharedResults = LiveQueryRegistry()
  /// Evaluates the filters.
  private let filterTables: FilterTables
  private let filters = LockedValue<[RowFilter.Key: RowFilter]>([:])
  private let commitCount = Atomic(0)
  private let checkCount = Atomic(0)
  /// Begins to watch for other processes' commits; called once, for the first subscriber.
  private let watch: @Sendable (PoolFeed) -> ExternalCommitMonitor?
  private let columnsRead = LockedValue<[ReadKey: ReadColumns]>([:])

  package init(root: SqliteDatabase, watch: @escaping @Sendable (PoolFeed) -> ExternalCommitMonitor?) {
    registry = root.registry
    filterTables = FilterTables(root: root)
    self.watch = watch
    root.registry.sink = self
  }

  func newNumber() -> Int { numbers.add(1, ordering: .relaxed).newValue }

  /// The number of open loops.
  var count: Int { loops.load(ordering: .relaxed) }

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

  /// Records the interest of a live result; to be called once the columns that the result reads are known.
  func expect(_ read: ReadColumns, _ rule: RowRule, _ number: Int) {
    let interest = ObservedTables(
      read: read.tables.mapValues { ObservedTables.TableInterest(columns: $0, wantsImages: rule.decidesByRow) },
      commits: true
    )
    listen(interest, number) {
      $0.expect(read, rule.filter?.demands ?? [], columns: rule.filter?.columns ?? [], number)
    }
  }

  /// Adds the interest of a subscriber. From then on, commits are matched with the subscriber.
  private func listen(_ interest: ObservedTables, _ number: Int, _ body: (inout Subscribers) -> Void) {
    // First, so that each commit from here on is matched, whatever it recorded.
    subscribers.withLock { subscribers in
      body(&subscribers)
      attentive.store(subscribers.attentive, ordering: .sequentiallyConsistent)
    }
    let joined = interests.withLock { interests in
      // With the lock held: a later subscriber whose interest changes nothing must not get a count from before this
      // change.
      if interests.want(interest, number) { registry.sinkDidChange() }
      return ObserverRegistry.changes
    }
    subscribers.withLock { $0.join(number, joined) }
  }

  func remove(_ number: Int) {
    subscribers.withLock { subscribers in
      subscribers.remove(number)
      attentive.store(subscribers.attentive, ordering: .sequentiallyConsistent)
    }
    interests.withLock { interests in
      if interests.forget(number) { registry.sinkDidChange() }
    }
  }

  /// Begins to watch for other processes' commits, once; calls `end` if the feed has ended.
  private func watchOthers(orElse end: () -> Void) {
    // Serialized: a second subscriber must not go on before the first check.
    beginning.lock()
    defer { beginning.unlock() }
    let (isEnded, isFirst) = watched.withLock { watch in
      defer { watch.isBegun = true }
      return (watch.isEnded, !watch.isBegun)
    }
    if isEnded { return end() }
    guard isFirst, let monitor = watch(self) else { return }
    let isTooLate = watched.withLock { watch in
      if !watch.isEnded { watch.monitor = monitor }
      return watch.isEnded
    }
    if isTooLate { monitor.end() }
  }

  /// Checks for other processes' commits before it returns, if they are watched.
  func detectOtherCommits() { watched.withLock { $0.monitor }?.checkNow() }

  /// To be called when the file was closed, and may now be another.
  func fileWasClosed() {
    columnsRead.withLock { $0 = [:] }
    watched.withLock { $0.monitor }?.forgetConnection()
    didCommitElsewhere()
  }

  // MARK: What statements read

  /// A statement and the schema version it was compiled with.
  struct ReadKey: Hashable {
    /// As bytes: == treats the two Unicode forms of an é as equal, SQLite as two names.
    private let text: [UInt8]
    private let schemaVersion: Int64

    init(text: String, schemaVersion: Int64) {
      self.text = Array(text.utf8)
      self.schemaVersion = schemaVersion
    }
  }

  /// The size at which a cache is emptied.
  private static let maximumKnown = 1_000

  func columnsRead(_ key: ReadKey) -> ReadColumns? { columnsRead.withLock { $0[key] } }

  func note(_ read: ReadColumns, for key: ReadKey) {
    columnsRead.withLock { known in
      if known.count >= PoolFeed.maximumKnown { known = [:] }
      known[key] = read
    }
  }

  // MARK: Filters

  /// The row filter of a statement, shared by loops over equal statements; nil if a row alone can't decide it.
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

  /// Raised at the begin and the end of each commit of the pool: odd during a commit.
  var ownCommits: Int { commitCount.load(ordering: .acquiring) }
  /// The number of checks for other connections' commits that the writer has started.
  var writerChecks: Int { checkCount.load(ordering: .acquiring) }

  package func commitBegins() { commitCount.add(1, ordering: .acquiringAndReleasing) }

  package func commitEnds() { commitCount.add(1, ordering: .acquiringAndReleasing) }

  package func willDetectOtherCommits() { checkCount.add(1, ordering: .acquiringAndReleasing) }

  package func didCommitElsewhere() { append(CommittedChanges(isUnknown: true)) }

  /// To be called on the queue that detected another connection's commit.
  func othersCommitted() {
    // Matched here, since waking another thread would take longer. The matches are released on the feed's queue: they
    // may hold the last reference to the pool, whose deinit waits for the present queue. No closure captures them,
    // since this thread could be the last to release it.
    append(CommittedChanges(isUnknown: true), isMatchedHere: true)
    putOff(match())
    queue.async { [self] in letGo() }
  }

  private func putOff(_ matches: consuming Matches) { leftOver.withLock { [matches] in $0.append(matches) } }

  private func letGo() {
    let matches = leftOver.withLock { leftOver in
      defer { leftOver = [] }
      return leftOver
    }
    withExtendedLifetime(matches) {}
  }

  package func didCommit(_ commit: CommittedChanges) {
    let hasRecorded = commit.isUnknown || !commit.rows.isEmpty || !commit.tables.isEmpty
    if hasRecorded || attentive.load(ordering: .sequentiallyConsistent) > 0 { append(commit) }
  }

  /// The position of the last known commit, acknowledged or about to be.
  var position: Int { lastPosition.load(ordering: .acquiring) }

  /// Appends a commit, or the end of the feed if nil.
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

  /// The wait per matched commit and the longest wait, in microseconds; see `matchWhatComes`.
  private static let (gathering, longestGathering) = (500, 4_000)

  /// Matches the commits in the log, and those that follow soon. The first commit is matched at once; then commits
  /// gather, the longer the more there were. A writer that commits every twenty microseconds must not wake a thread
  /// each time.
  private func matchWhatComes() {
    while true {
      let count = match(isScheduled: true).commits
      guard count > 0 else { return }
      usleep(UInt32(min(count * PoolFeed.gathering, PoolFeed.longestGathering)))
    }
  }

  /// True if all commits up to a position are matched.
  func isMatched(upTo position: Int) -> Bool { matchedPosition.load(ordering: .acquiring) >= position }

  /// Ensures that all commits acknowledged until now are matched before it returns.
  func catchUp() {
    if !isMatched(upTo: position) { match() }
  }

  private func wake(_ body: (inout Matches) -> Void) {
    var matches = Matches()
    body(&matches)
    wakes.wake(matches.woken)
  }

  /// Matches the log with the subscribers, and wakes those; returns objects to release outside of the lock.
  @discardableResult
  private func match(isScheduled: Bool = false) -> Matches {
    var matches = Matches()
    subscribers.withLock { subscribers in
      // With the lock held: threads take and match one after the other, in the order of the log.
      let entries = log.withLock { log in
        let entries = log.takeAll()
        if entries.isEmpty, isScheduled { log.isScheduled = false }
        return entries
      }
      guard let last = entries.last else { return }
      matches.commits = entries.count
      for entry in entries { subscribers.match(entry, &matches) }
      attentive.store(subscribers.attentive, ordering: .sequentiallyConsistent)
      matchedPosition.store(last.position, ordering: .releasing)
    }
    wakes.wake(matches.woken)
    calls.wake(matches.called)
    return matches
  }

  /// Ends all loops, after they have got earlier commits; to be called when the pool is closed.
  package func end() {
    let monitor = watched.withLock { watch in
      watch.isEnded = true
      return watch.monitor
    }
    monitor?.end()
    append(nil)
  }
}
