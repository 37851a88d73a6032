import Dispatch
import Glibc
import Synchronization

/// Tells the pool's sequences of its commits, and of those of other processes.
///
/// The thread that commits appends what was recorded to a log. What is in it is matched with the subscribers on a
/// queue, or by a subscriber that asks; both in the order of commits. Sequences are held weakly, by number: dropping
/// one ends it.
final class PoolFeed: CommitSink {
  private struct Interests {
    /// What is recorded: all that is wanted, and what was wanted not long ago.
    var interest = ObservedTables()
    /// What each wants.
    var wanted: [Int: ObservedTables] = [:]
    /// How many have gone since the interest was worked out.
    var gone = 0

    /// Takes note of what one wants; gives whether the interest is another.
    mutating func want(_ interest: ObservedTables, _ number: Int) -> Bool {
      wanted[number] = interest
      let before = self.interest
      self.interest.formUnion(interest)
      return self.interest != before
    }

    /// Forgets one; gives whether the interest is another. That is worked out now and then: to record too much does
    /// no harm.
    mutating func forget(_ number: Int) -> Bool {
      wanted[number] = nil
      gone += 1
      guard gone > wanted.count else { return false }
      gone = 0
      let before = interest
      interest = wanted.values.reduce(into: ObservedTables()) { $0.formUnion($1) }
      return interest != before
    }
  }

  private struct Watch {
    var isEnded = false
    var isBegun = false
    var others: OtherProcesses?
  }

  // Each has a lock of its own: a writer asks for the first and the third, and is not to wait until subscribers are
  // found.
  private let interests = Guarded(Interests())
  private let subscribers = Guarded(Subscribers())
  private let log = Guarded(CommitLog())
  private let watched = Guarded(Watch())
  /// Held while the looking for others begins.
  private let beginning = Guarded(())
  private let queue = DispatchQueue(label: "sqlable.pool.feed")
  private let wakes = Wakes()
  /// For results, which are not to stand behind loops over changes.
  private let calls = Wakes()
  /// What was found by a thread that may not let go of it.
  private let leftOver = Guarded<[Matches]>([])
  private let lastPosition = Atomic(0)
  private let matchedPosition = Atomic(0)
  /// How many subscribers there are whom a commit may concern that recorded nothing.
  private let attentive = Atomic(0)
  private let largestBuffer = Atomic(CommitLog.maximumWeight)
  private let loops = Atomic(0)
  private let numbers = Atomic(0)
  private let registry: ObserverRegistry
  /// Live results that loops share.
  let sharedResults = SharedResults()
  /// Where filters are tried.
  private let filterTables: FilterTables
  private let filters = Guarded<[RowFilter.Key: RowFilter]>([:])
  private let commitCount = Atomic(0)
  private let lookCount = Atomic(0)
  /// Begins to look for what other processes commit; called once, when somebody listens for the first time.
  private let watch: @Sendable (PoolFeed) -> OtherProcesses?
  private let columnsRead = Guarded<[ReadKey: ReadColumns]>([:])

  init(root: SqliteDatabase, watch: @escaping @Sendable (PoolFeed) -> OtherProcesses?) {
    registry = root.registry
    filterTables = FilterTables(root: root)
    self.watch = watch
    root.registry.sink = self
  }

  func newNumber() -> Int { numbers.add(1, ordering: .relaxed).newValue }

  /// How many loops are open.
  var count: Int { loops.load(ordering: .relaxed) }

  func loopBegins() { loops.add(1, ordering: .relaxed) }

  func loopEnds() { loops.subtract(1, ordering: .relaxed) }

  var interest: ObservedTables { interests.withLock { $0.interest } }

  // MARK: Who listens

  func add(_ subscription: ChangeSubscription, _ number: Int) {
    let table = subscription.observed.observer.table
    var interest = ObservedTables(named: [table], commits: true)
    if subscription.observed.withValues { interest.valued = [table.foldedName] }
    largestBuffer.max(min(subscription.limit, 10 * CommitLog.maximumWeight), ordering: .relaxed)
    listen(interest, number) { $0.add(subscription, number, since: position) }
    watchOthers { wake { subscription.end(&$0) } }
  }

  func add(_ result: any FollowedResult, _ number: Int) {
    listen(ObservedTables(commits: true), number) { $0.add(result, number) }
    watchOthers { wake { result.end(&$0) } }
  }

  /// To be called when a live result has found out what it reads.
  func expect(_ read: ReadColumns, _ rule: RowRule, _ number: Int) {
    let interest = ObservedTables(
      read: read.tables.mapValues { ObservedTables.TableInterest(columns: $0, wantsImages: rule.decidesByRow) },
      commits: true
    )
    listen(interest, number) {
      $0.expect(read, rule.filter?.demands ?? [], columns: rule.filter?.columns ?? [], number)
    }
  }

  /// Has commits matched with one, and what it wants recorded.
  private func listen(_ interest: ObservedTables, _ number: Int, _ body: (inout Subscribers) -> Void) {
    // First: from here on each commit is matched, whatever it recorded.
    subscribers.withLock { subscribers in
      body(&subscribers)
      attentive.store(subscribers.attentive, ordering: .sequentiallyConsistent)
    }
    let joined = interests.withLock { interests in
      // With the lock held: whoever comes next and changes nothing is not to take the count from before for one that
      // holds for what it found.
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

  /// Begins to look for others, when that was not done before; calls `end` where nothing comes any more.
  private func watchOthers(orElse end: () -> Void) {
    // One after the other: the second is not to go on before it is known what there was until now.
    beginning.lock()
    defer { beginning.unlock() }
    let (isEnded, isFirst) = watched.withLock { watch in
      defer { watch.isBegun = true }
      return (watch.isEnded, !watch.isBegun)
    }
    if isEnded { return end() }
    guard isFirst, let others = watch(self) else { return }
    let isTooLate = watched.withLock { watch in
      if !watch.isEnded { watch.others = others }
      return watch.isEnded
    }
    if isTooLate { others.end() }
  }

  /// Looks for others, where that is done, and does not return before.
  func detectOtherCommits() { watched.withLock { $0.others }?.checkNow() }

  // MARK: What statements read

  /// A statement, and the schema that it was compiled in.
  struct ReadKey: Hashable {
    /// By bytes: == takes the two forms of an é for one, which are two names to SQLite.
    private let text: [UInt8]
    private let schemaVersion: Int64

    init(text: String, schemaVersion: Int64) {
      self.text = Array(text.utf8)
      self.schemaVersion = schemaVersion
    }
  }

  /// How many statements are known at most; then all are forgotten.
  private static let maximumKnown = 1_000

  func columnsRead(_ key: ReadKey) -> ReadColumns? { columnsRead.withLock { $0[key] } }

  func note(_ read: ReadColumns, for key: ReadKey) {
    columnsRead.withLock { known in
      if known.count >= PoolFeed.maximumKnown { known = [:] }
      known[key] = read
    }
  }

  // MARK: What filters decide

  /// The filter of a statement that decides by row, the same for all loops over equal statements; nil when it does not.
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

  // MARK: What happens

  /// Odd while a commit of the pool is being made, and another number after it.
  var ownCommits: Int { commitCount.load(ordering: .acquiring) }
  /// How often the writer has begun to look whether others have committed.
  var writerLooks: Int { lookCount.load(ordering: .acquiring) }

  func commitBegins() { commitCount.add(1, ordering: .acquiringAndReleasing) }

  func commitEnds() { commitCount.add(1, ordering: .acquiringAndReleasing) }

  func willDetectOtherCommits() { lookCount.add(1, ordering: .acquiringAndReleasing) }

  func didCommitElsewhere() { append(CommittedChanges(isUnknown: true)) }

  /// To be called on the queue where it was noticed that somebody else has committed.
  func othersCommitted() {
    // Matched here: another thread would have to be woken for it. What was found is let go of on that: it may be the
    // last to hold the pool, which waits for this queue when it goes. No closure has it, which this thread may let go
    // of last.
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

  func didCommit(_ commit: CommittedChanges) {
    let hasRecorded = commit.isUnknown || !commit.rows.isEmpty || !commit.tables.isEmpty
    if hasRecorded || attentive.load(ordering: .sequentiallyConsistent) > 0 { append(commit) }
  }

  /// The last commit that is known of, acknowledged or about to be.
  var position: Int { lastPosition.load(ordering: .acquiring) }

  /// Appends a commit, or the end.
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

  /// In microseconds; see `matchWhatComes`.
  private static let (gathering, longestGathering) = (500, 4_000)

  /// Matches what is in the log, and what comes soon after. The first commit is matched at once; then commits gather,
  /// the longer the more of them there were: a writer that commits every twenty microseconds is not to wake a thread
  /// each time.
  private func matchWhatComes() {
    while true {
      let count = match(isScheduled: true).commits
      guard count > 0 else { return }
      usleep(UInt32(min(count * PoolFeed.gathering, PoolFeed.longestGathering)))
    }
  }

  /// Whether what was acknowledged up to a position is matched with its subscribers.
  func isMatched(upTo position: Int) -> Bool { matchedPosition.load(ordering: .acquiring) >= position }

  /// Has all that was acknowledged until now matched with its subscribers, and does not return before.
  func catchUp() {
    if !isMatched(upTo: position) { match() }
  }

  private func wake(_ body: (inout Matches) -> Void) {
    var matches = Matches()
    body(&matches)
    wakes.wake(matches.woken)
  }

  /// Matches what is in the log with its subscribers, and wakes them; gives what is to be let go of.
  @discardableResult
  private func match(isScheduled: Bool = false) -> Matches {
    var matches = Matches()
    subscribers.withLock { subscribers in
      // With the lock held: one takes and matches after the other, in the order of the log.
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

  /// To be called when the pool is closed: all sequences end, when they have been told of what was committed before.
  func end() {
    let others = watched.withLock { watch in
      watch.isEnded = true
      return watch.others
    }
    others?.end()
    append(nil)
  }
}
