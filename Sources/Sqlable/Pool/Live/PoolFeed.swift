import Synchronization

/// Tells the pool's sequences of its commits, and of those of other processes.
///
/// Sequences are held weakly, by number: dropping one ends it.
final class PoolFeed: CommitSink {
  private struct State {
    var changes = Subscriptions<ChangeSubscription>()
    var results = Subscriptions<ResultSubscription>()
    /// What is recorded: all that is wanted, and what was wanted not long ago.
    var interest = ObservedTables()
    /// What each wants.
    var wanted: [Int: ObservedTables] = [:]
    /// Those who came not long ago, with the count of changes of observers since which all that they want is recorded; the greatest
    /// number while that is not known.
    var recent: [Int: Int] = [:]
    /// How many have gone since the interest was worked out.
    var gone = 0
    var isEnded = false
    var isWatched = false
    var others: OtherProcesses?

    /// Takes note of what one wants; gives whether the interest is another.
    mutating func want(_ interest: ObservedTables, _ number: Int) -> Bool {
      wanted[number] = interest
      recent[number] = .max
      let before = self.interest
      self.interest.formUnion(interest)
      return self.interest != before
    }

    /// Forgets one; gives whether the interest is another. That is worked out now and then: to record too much does no harm.
    mutating func forget(_ number: Int) -> Bool {
      wanted[number] = nil
      recent[number] = nil
      changes.remove(number)
      results.remove(number)
      gone += 1
      guard gone > wanted.count else { return false }
      gone = 0
      let before = interest
      interest = wanted.values.reduce(into: ObservedTables()) { $0.formUnion($1) }
      return interest != before
    }
  }

  /// Those who listen, by the tables that concern them.
  private struct Subscriptions<Subscription: AnyObject> {
    private struct Weak {
      weak var object: Subscription?
      var tables: [[UInt8]]
    }

    private var all: [Int: Weak] = [:]
    private var byTable: [[UInt8]: Set<Int>] = [:]
    /// Whom every commit concerns.
    private var always: Set<Int> = []

    var count: Int { all.count }
    var objects: [Subscription] { all.values.compactMap(\.object) }

    /// Without tables every commit concerns it.
    mutating func set(_ object: Subscription, _ number: Int, tables: [[UInt8]]?) {
      remove(number)
      all[number] = Weak(object: object, tables: tables ?? [])
      guard let tables else {
        always.insert(number)
        return
      }
      for table in tables { byTable[table, default: []].insert(number) }
    }

    mutating func set(_ number: Int, tables: [[UInt8]]?) {
      if let object = all[number]?.object { set(object, number, tables: tables) }
    }

    mutating func remove(_ number: Int) {
      guard let known = all.removeValue(forKey: number) else { return }
      always.remove(number)
      for table in known.tables {
        byTable[table]?.remove(number)
        if byTable[table]?.isEmpty == true { byTable[table] = nil }
      }
    }

    func concerned(by tables: some Sequence<[UInt8]>, and others: Set<Int>) -> [Subscription] {
      tables.reduce(into: always.union(others)) { numbers, table in
        if let concerned = byTable[table] { numbers.formUnion(concerned) }
      }.compactMap { all[$0]?.object }
    }
  }

  private let state = Guarded(State())
  /// Held while the looking for others begins.
  private let beginning = Guarded(())
  private let numbers = Atomic(0)
  private let registry: ObserverRegistry
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

  /// How many listen.
  var count: Int { state.withLock { $0.changes.count + $0.results.count } }

  var interest: ObservedTables { state.withLock { $0.interest } }

  // MARK: Who listens

  func add(_ subscription: ChangeSubscription, _ number: Int) {
    let table = subscription.observed.observer.table
    var interest = ObservedTables(named: [table], commits: true)
    if subscription.observed.withValues { interest.valued = [table.foldedName] }
    change { state in
      state.changes.set(subscription, number, tables: [table.foldedName])
      return state.want(interest, number)
    }
    watchOthers { subscription.end() }
  }

  func add(_ subscription: ResultSubscription, _ number: Int) {
    change { state in
      state.results.set(subscription, number, tables: nil)
      return state.want(ObservedTables(commits: true), number)
    }
    watchOthers { subscription.end() }
  }

  /// To be called when a live result has found out what it reads.
  func expect(_ read: ReadColumns, byRow: Bool, _ number: Int) {
    let interest = ObservedTables(
      read: read.tables.mapValues { ObservedTables.Reading(columns: $0, wantsImages: byRow) }, commits: true)
    change { state in
      state.results.set(number, tables: read.readsUnobserved ? nil : Array(read.tables.keys))
      return state.want(interest, number)
    }
  }

  func remove(_ number: Int) { change { $0.forget(number) } }

  /// To be called when all is noted that one wants: gives the count of changes of observers since which it is recorded.
  func join(_ number: Int) -> Int {
    state.withLock { state in
      let joined = ObserverRegistry.changes
      if state.recent[number] != nil { state.recent[number] = joined }
      return joined
    }
  }

  private func change(_ body: (inout State) -> Bool) {
    state.withLock { state in
      // With the lock held: whoever comes next and changes nothing is not to take the count from before for one that holds for
      // what it found.
      if body(&state) { registry.sinkDidChange() }
    }
  }

  /// Begins to look for others, when that was not done before; calls `end` where nothing comes any more.
  private func watchOthers(orElse end: () -> Void) {
    // One after the other: the second is not to go on before it is known what there was until now.
    beginning.lock()
    defer { beginning.unlock() }
    let (isEnded, isFirst) = state.withLock { state in
      defer { state.isWatched = true }
      return (state.isEnded, !state.isWatched)
    }
    if isEnded { return end() }
    guard isFirst, let others = watch(self) else { return }
    let isTooLate = state.withLock { state in
      if !state.isEnded { state.others = others }
      return state.isEnded
    }
    if isTooLate { others.end() }
  }

  /// Looks for others, where that is done, and does not return before.
  func lookForOthers() { state.withLock { $0.others }?.lookNow() }

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
  func filter(_ query: Query, of table: TableInfo, _ columns: [FilterTables.Column]) -> RowFilter? {
    guard let key = RowFilter.Key(query, of: table, columns) else { return nil }
    return filters.withLock { filters in
      if let known = filters[key] { return known }
      if filters.count >= PoolFeed.maximumKnown { filters = [:] }
      let filter = RowFilter(key, of: table, filterTables)
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

  func looksForOthers() { lookCount.add(1, ordering: .acquiringAndReleasing) }

  /// To be called when somebody else has committed.
  func didCommitElsewhere() { didCommit(CommittedChanges(isUnknown: true)) }

  func didCommit(_ commit: CommittedChanges) {
    let rows = commit.isUnknown ? [] : commit.tablesOfRows
    let (changes, results) = state.withLock { state in
      guard !commit.isUnknown else { return (state.changes.objects, state.results.objects) }
      // Whoever came after it was looked at what is wanted may be concerned, whatever was recorded; to later transactions those are
      // known who were known to this one.
      state.recent = state.recent.filter { commit.isUnknown(toOneSince: $0.value) }
      let recent = Set(state.recent.keys)
      return (
        state.changes.concerned(by: rows, and: recent), state.results.concerned(by: commit.tables.keys, and: recent)
      )
    }
    for subscription in changes { subscription.didCommit(commit) }
    for subscription in results { subscription.didCommit(commit) }
  }

  /// To be called when the pool is closed: all sequences end.
  func end() {
    let (changes, results, others) = state.withLock { state in
      state.isEnded = true
      return (state.changes.objects, state.results.objects, state.others)
    }
    others?.end()
    for subscription in changes { subscription.end() }
    for subscription in results { subscription.end() }
  }
}

extension CommittedChanges {
  /// The folded names of the tables whose rows it has.
  fileprivate var tablesOfRows: Set<[UInt8]> {
    var names: Set<[UInt8]> = []
    var latest = ""
    // Rows of one table come in a row.
    for row in rows where !row.table.isExactly(latest) {
      latest = row.table
      names.insert(latest.foldedName)
    }
    return names
  }
}
