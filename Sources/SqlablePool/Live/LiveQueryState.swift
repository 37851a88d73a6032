import SqlableCore

/// The mutable state of a live result that several loops share. The live result's lock guards the state.
///
/// Each commit has a position in the feed's commit queue. A fetch that begins at a position includes all commits up to
/// this position. Fetches do not overlap, so a later fetch never returns an older result. Each loop has its own state,
/// so a late or slow loop does not affect other loops.
struct LiveQueryState<Value: Sendable> {
  struct Loop {
    var hasAsked = false
    /// The edition of the result that the loop has received; 0 before the first result.
    var edition = 0
    /// The number of a fetch. The loop accepts only the results of later fetches.
    var fetchNumber = 0
    /// The loop's result includes all relevant commits up to this position.
    var position = -1
  }

  struct Latest {
    var fetch: Fetch
    /// The number of the result. If contents are compared, the number changes when the contents change; otherwise the
    /// number changes with each fetch.
    var edition: Int
    /// The result's value. Nil once all loops have received the value or the result is stale, to save memory.
    var value: Value?
    var contents: LiveQueryContents?
  }

  struct Fetch {
    let number: Int
    let position: Int
  }

  /// A changed row that the filter has not evaluated yet.
  struct UndecidedRow {
    let position: Int
    let images: RowImages
  }

  enum Step {
    case take(Value, LiveQueryContents?)
    /// Process the queued commits first, because one of them might make the available result stale.
    case match
    case fail(any Error)
    /// `isNeeded` is true if the loop needs a fetch or a filter decision, false if it waits only for a commit.
    case wait(isNeeded: Bool)
    case end
  }

  enum Work {
    /// Evaluate the filter to find out whether one of the rows affects the result.
    case ask(RowFilter, [RowImages], upTo: Int)
    case read(Fetch, LiveQueryRule?)
    case nothing
  }

  private enum Staleness {
    case fresh, stale
    case rows([RowImages])
  }

  /// The maximum number of rows per commit for which the filter is evaluated.
  private static var maximumAsked: Int { 32 }
  /// The maximum number of rows that wait for the filter.
  private static var maximumRows: Int { 4 * maximumAsked }

  /// The tables and columns that the query reads. While `read` is nil, every commit makes the result stale.
  var read: ReadColumns?
  var rule = RowRule()
  var knownRule: LiveQueryRule?
  /// The end of the last page that was read. Nil during a fetch, because the new page might end later.
  private var pageEnd: PageBoundary?
  /// The position of the last commit that invalidated the result; -1 if there was none.
  private var invalidatedAt = -1
  private var undecidedRows: [UndecidedRow] = []
  private(set) var latest: Latest?
  private var editions = 0
  private var fetchCount = 0
  private var loops: [Int: Loop] = [:]
  /// The number of loops that have not received the latest edition.
  private var outdatedLoops = 0
  private var waiting: [ObjectIdentifier: (waiter: Waiter, loop: Int)] = [:]
  /// The waiters whose deadline has passed, and which wait for another commit.
  private var overdue: Set<ObjectIdentifier> = []
  private var failures: [Int: any Error] = [:]
  /// True if a loop waits for a fetch that has not started.
  private var needsFetch = false
  var task: Task<Void, Never>?
  /// True if another thread is about to start the task.
  var isTaskRequested = false
  /// The position of the last commit that the fetch in progress includes; -1 without a fetch.
  private var fetchPosition = -1
  private(set) var isEnded = false
  /// Objects to release outside of the lock, because a deinit can run a caller's code.
  private var releasable: [any Sendable] = []

  mutating func takeReleasable() -> [any Sendable]? {
    if releasable.isEmpty { return nil }
    defer { releasable = [] }
    return releasable
  }

  // MARK: Loops

  mutating func begin(_ loop: Int) {
    loops[loop] = Loop()
    outdatedLoops += 1
  }

  mutating func end(_ loop: Int) {
    if let error = failures.removeValue(forKey: loop) { releasable.append(error) }
    guard let ended = loops.removeValue(forKey: loop), ended.edition == 0 || ended.edition != latest?.edition else {
      return
    }
    noteValueDelivered()
  }

  private mutating func noteValueDelivered() {
    outdatedLoops -= 1
    if outdatedLoops == 0 { dropValue() }
  }

  private mutating func dropValue() {
    if let value = latest?.value { releasable.append(value) }
    latest?.value = nil
  }

  /// Returns the next step of a loop that needs the commits up to `position`. `isMatched` is true if these commits have
  /// been matched with the loops.
  mutating func step(_ number: Int, holding position: Int, isMatched: Bool) -> Step {
    if isEnded { return .end }
    if let error = failures.removeValue(forKey: number) { return .fail(error) }
    guard var loop = loops[number] else { return .end }
    if !loop.hasAsked {
      // Require a fetch that starts from now on. An earlier fetch might lack commits of other processes that are not
      // detected yet.
      (loop.hasAsked, loop.fetchNumber) = (true, fetchCount)
    }
    loop = current(loop)
    defer { loops[number] = loop }
    if isStale(loop) {
      guard let latest, let value = latest.value, latest.fetch.number > loop.fetchNumber,
        latest.fetch.position >= invalidatedAt
      else {
        if !isFetched(for: loop) { needsFetch = true }
        return .wait(isNeeded: true)
      }
      // Wait, because the filter must first decide whether the result is stale.
      guard undecidedRows.isEmpty else { return .wait(isNeeded: true) }
      guard isMatched || latest.fetch.position >= position else { return .match }
      loop.edition = latest.edition
      (loop.fetchNumber, loop.position) = (latest.fetch.number, latest.fetch.position)
      noteValueDelivered()
      return .take(value, latest.contents)
    }
    return .wait(isNeeded: undecidedRows.contains { $0.position > loop.position })
  }

  /// If the loop already has the value of the latest fetch, returns the loop with the number and position of this
  /// fetch. Otherwise returns the loop unchanged. A fetch whose value equals the previous value does not change the
  /// edition.
  private func current(_ loop: Loop) -> Loop {
    guard let latest, loop.edition == latest.edition else { return loop }
    var loop = loop
    (loop.fetchNumber, loop.position) = (latest.fetch.number, latest.fetch.position)
    return loop
  }

  /// True if the fetch in progress will return a result for the loop.
  private func isFetched(for loop: Loop) -> Bool {
    fetchPosition >= 0 && fetchPosition >= invalidatedAt && fetchCount > loop.fetchNumber
  }

  private func isStale(_ loop: Loop) -> Bool { loop.edition == 0 || invalidatedAt > current(loop).position }

  mutating func wait(_ waiter: Waiter, _ loop: Int, isOverdue: Bool) {
    waiting[ObjectIdentifier(waiter)] = (waiter, loop)
    if isOverdue { overdue.insert(ObjectIdentifier(waiter)) }
  }

  /// Removes a waiter; returns true if no other loop waits.
  mutating func leave(_ waiter: Waiter) -> Bool {
    if !overdue.isEmpty { overdue.remove(ObjectIdentifier(waiter)) }
    guard waiting.removeValue(forKey: ObjectIdentifier(waiter)) != nil else { return false }
    dropUnneededFetch()
    return waiting.isEmpty
  }

  /// Drops a pending fetch that no loop waits for.
  mutating func dropUnneededFetch() { if waiting.isEmpty { needsFetch = false } }

  var priority: TaskPriority { waiting.values.map(\.waiter.priority).max() ?? .medium }

  mutating func requestTask() -> Bool {
    guard task == nil, !isTaskRequested, hasWork else { return false }
    isTaskRequested = true
    return true
  }

  /// True if a waiting loop needs a fetch or a filter decision.
  var hasWork: Bool { !isEnded && !waiting.isEmpty && (needsFetch || !undecidedRows.isEmpty) }

  private func sleepers(where isConcerned: (Int, Loop) -> Bool) -> [ObjectIdentifier] {
    waiting.compactMap { id, entry in loops[entry.loop].map { isConcerned(entry.loop, $0) } == true ? id : nil }
  }

  private mutating func removeWaiters(_ sleepers: [ObjectIdentifier]) -> [any Wakeable] {
    sleepers.compactMap { waiting.removeValue(forKey: $0)?.waiter }
  }

  /// Removes and returns overdue waiters that now need a fetch. Call before each release of the lock.
  mutating func takeOverdue() -> [any Wakeable] {
    if overdue.isEmpty { return [] }
    let late = overdue.filter { id in
      waiting[id].flatMap { loops[$0.loop] }.map(isStale) ?? false
    }
    return removeWaiters(Array(late))
  }

  // MARK: Commits

  /// Handles a commit. `commit` is nil if the changes are unknown.
  mutating func didCommit(_ commit: CommittedChanges?, at position: Int) {
    // Do nothing if every loop has a result that includes the commit.
    if outdatedLoops == 0, let latest, latest.fetch.position >= position { return }
    switch staleness(after: commit) {
    case .fresh: break
    case .stale: invalidate(position)
    case .rows(let rows):
      guard undecidedRows.count + rows.count <= Self.maximumRows else { return invalidate(position) }
      undecidedRows += rows.map { UndecidedRow(position: position, images: $0) }
    }
  }

  /// Invalidates all results that do not include the commit at `position`.
  private mutating func invalidate(_ position: Int) {
    invalidatedAt = max(invalidatedAt, position)
    undecidedRows.removeAll { $0.position <= position }
    if let latest, latest.fetch.position < invalidatedAt { dropValue() }
    // Waiting loops need another fetch, unless the running fetch includes the commit.
    if !waiting.isEmpty, position > fetchPosition { needsFetch = true }
  }

  /// Invalidates a fetch whose columns became known only after its rows were read, if there were commits since the
  /// fetch began.
  mutating func didExpectLate(_ fetch: Fetch, until position: Int) {
    if position > fetch.position { invalidate(position) }
  }

  private func staleness(after commit: CommittedChanges?) -> Staleness {
    guard let commit, let read, !read.readsUnobserved else { return .stale }
    var rows: [RowImages] = []
    for (name, table) in commit.tables {
      guard let columns = read.tables[name], table.isMembershipChanged || !table.columns.isDisjoint(with: columns)
      else { continue }
      guard rule.decidesByRow, let images = table.images, images.allSatisfy(\.isWhole) else { return .stale }
      let undecided = images.filter { row in
        !(rule.filter?.excludes(row) ?? false) && !(pageEnd?.precedes(row) ?? false)
      }
      if undecided.isEmpty { continue }
      guard let filter = rule.filter, undecided.count <= Self.maximumAsked, !undecided.contains(where: filter.takes)
      else { return .stale }
      // All rows belong to one table, because a query of several tables has no row filter.
      rows += undecided
    }
    return rows.isEmpty ? .fresh : .rows(rows)
  }

  mutating func end() -> [any Wakeable] {
    isEnded = true
    dropValue()
    return removeWaiters(Array(waiting.keys))
  }

  // MARK: Fetch

  /// Returns the next work of the task; starts a fetch if a loop needs a fetch.
  mutating func nextWork(_ feed: PoolFeed) -> Work {
    guard hasWork else { return .nothing }
    if needsFetch {
      needsFetch = false
      fetchCount += 1
      pageEnd = nil
      // Read the position after `pageEnd` is reset: a later commit is then included, or invalidates the fetch.
      fetchPosition = feed.position
      return .read(Fetch(number: fetchCount, position: fetchPosition), knownRule)
    }
    guard let filter = rule.filter, let last = undecidedRows.last else {
      for row in undecidedRows { invalidate(row.position) }
      return nextWork(feed)
    }
    return .ask(filter, undecidedRows.map(\.images), upTo: last.position)
  }

  /// Stores the filter's decision on the rows up to a commit; returns the waiters to wake.
  mutating func answer(_ isConcerned: Bool, upTo position: Int) -> [any Wakeable] {
    undecidedRows.removeAll { $0.position <= position }
    if isConcerned { invalidate(position) }
    guard undecidedRows.isEmpty, latest?.value != nil else { return [] }
    // Loops whose own result is stale can receive the available result.
    return removeWaiters(sleepers { _, loop in isStale(loop) })
  }

  /// Stores the result of a fetch; returns the waiters to wake.
  mutating func take(
    _ fetch: Fetch, _ value: Value, _ contents: LiveQueryContents?, isSame: Bool, _ pageEnd: PageBoundary?
  ) -> [any Wakeable] {
    self.pageEnd = pageEnd
    dropValue()
    if !isSame {
      editions += 1
      outdatedLoops = loops.count
    }
    latest = Latest(fetch: fetch, edition: editions, value: value, contents: contents)
    if outdatedLoops == 0 { dropValue() }
    if let last = undecidedRows.last(where: { $0.position <= fetch.position }) {
      // The fetched value includes these rows, so the filter will not decide on them. Loops with older results might
      // wait for such a decision. Invalidate the older results instead.
      invalidate(last.position)
    }
    fetchPosition = -1
    guard outdatedLoops > 0 else { return [] }
    return removeWaiters(sleepers { _, loop in loop.edition != editions && isStale(loop) })
  }

  /// Records that a fetch has failed; returns the waiters to wake. The waiters throw the error.
  mutating func fail(_ fetch: Fetch, _ error: any Error) -> [any Wakeable] {
    fetchPosition = -1
    let failed = sleepers { _, loop in isStale(loop) && current(loop).fetchNumber < fetch.number }
    for id in failed { if let loop = waiting[id]?.loop { failures[loop] = error } }
    return removeWaiters(failed)
  }

  /// Discards the running fetch, because no loop waits for its result, or because the fetch must be repeated.
  mutating func takeBack() {
    fetchPosition = -1
    if !waiting.isEmpty { needsFetch = true }
  }
}
