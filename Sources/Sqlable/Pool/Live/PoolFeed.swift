import Synchronization

/// Tells the pool's sequences of its commits, and of those of other processes.
///
/// Sequences are held weakly, by number: dropping one ends it.
final class PoolFeed: CommitSink {
  private struct State {
    var changes: [Int: (subscription: Weak<ChangeSubscription>, observed: ObservedRows)] = [:]
    var results: [Int: (subscription: Weak<ResultSubscription>, reads: Reads)] = [:]
    var wants = Wants()
    var isEnded = false
    var isWatched = false
    var others: OtherProcesses?
  }

  /// What a live result wants of tables, by their folded names.
  typealias Reads = [[UInt8]: ObservedTables.Reading]

  private struct Weak<Object: AnyObject> {
    weak var object: Object?
  }

  /// What all want together, counted: who comes or goes costs no look at the others.
  private struct Wants {
    private(set) var interest = ObservedTables()
    private var named: [String: Int] = [:]
    private var valued: [[UInt8]: Int] = [:]
    private var columns: [[UInt8]: [[UInt8]: Int]] = [:]
    private var reads: [[UInt8]: (all: Int, images: Int)] = [:]
    private var count = 0

    mutating func note(_ observed: ObservedRows, _ change: Int) {
      note(change)
      let table = observed.observer.table
      if Wants.note(table, &named, change) { interest.named.insert(table) } else { interest.named.remove(table) }
      guard observed.withValues else { return }
      let folded = table.foldedName
      if Wants.note(folded, &valued, change) { interest.valued.insert(folded) } else { interest.valued.remove(folded) }
    }

    mutating func note(_ reads: Reads, _ change: Int) {
      note(change)
      for (table, reading) in reads {
        for column in reading.columns { _ = Wants.note(column, &columns[table, default: [:]], change) }
        var counts = self.reads[table] ?? (0, 0)
        counts.all += change
        counts.images += reading.wantsImages ? change : 0
        self.reads[table] = counts.all > 0 ? counts : nil
        if counts.all == 0 { columns[table] = nil }
        interest.read[table] =
          counts.all > 0
          ? .init(columns: Set((columns[table] ?? [:]).keys), wantsImages: counts.images > 0) : nil
      }
    }

    private mutating func note(_ change: Int) {
      count += change
      interest.commits = count > 0
    }

    /// Whether somebody wants it then.
    private static func note<Name>(_ name: Name, _ counts: inout [Name: Int], _ change: Int) -> Bool {
      let count = (counts[name] ?? 0) + change
      counts[name] = count > 0 ? count : nil
      return count > 0
    }
  }

  private let state = Guarded(State())
  /// Held while the looking for others begins.
  private let beginning = Guarded(())
  private let numbers = Atomic(0)
  private let registry: ObserverRegistry
  private let commitCount = Atomic(0)
  private let lookCount = Atomic(0)
  /// Begins to look for what other processes commit; called once, when somebody listens for the first time.
  private let watch: @Sendable (PoolFeed) -> OtherProcesses?
  private let columnsRead = Guarded<[ReadKey: ReadColumns]>([:])

  init(registry: ObserverRegistry, watch: @escaping @Sendable (PoolFeed) -> OtherProcesses?) {
    self.registry = registry
    self.watch = watch
    registry.sink = self
  }

  func newNumber() -> Int { numbers.add(1, ordering: .relaxed).newValue }

  /// Whether somebody listens.
  var isHeard: Bool { state.withLock { !$0.changes.isEmpty || !$0.results.isEmpty } }

  var interest: ObservedTables { state.withLock { $0.wants.interest } }

  // MARK: Who listens

  func add(_ subscription: ChangeSubscription, _ number: Int) {
    change { state in
      state.changes[number] = (Weak(object: subscription), subscription.observed)
      state.wants.note(subscription.observed, 1)
    }
    watchOthers { subscription.end() }
  }

  func add(_ subscription: ResultSubscription, _ number: Int) {
    change { state in
      state.results[number] = (Weak(object: subscription), [:])
      state.wants.note(Reads(), 1)
    }
    watchOthers { subscription.end() }
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

  func removeChanges(_ number: Int) {
    change { state in
      if let removed = state.changes.removeValue(forKey: number) { state.wants.note(removed.observed, -1) }
    }
  }

  func removeResult(_ number: Int) {
    change { state in
      if let removed = state.results.removeValue(forKey: number) { state.wants.note(removed.reads, -1) }
    }
  }

  /// To be called when a live result has found out what it reads.
  func result(_ number: Int, reads: Reads) {
    change { state in
      guard let earlier = state.results[number]?.reads else { return }
      state.wants.note(earlier, -1)
      state.wants.note(reads, 1)
      state.results[number]?.reads = reads
    }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      let interest = state.wants.interest
      body(&state)
      // With the lock held: whoever comes next and changes nothing is not to take the count from before for one that holds for
      // what it found.
      if state.wants.interest != interest { registry.sinkDidChange() }
    }
  }

  // MARK: What statements read

  /// A statement, and the schema that it was compiled in.
  struct ReadKey: Hashable {
    let text: String
    let schemaVersion: Int64
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
    let (changes, results) = state.withLock { state in
      (state.changes.values.compactMap(\.subscription.object), state.results.values.compactMap(\.subscription.object))
    }
    for subscription in changes { subscription.didCommit(commit) }
    for subscription in results { subscription.didCommit(commit) }
  }

  /// To be called when the pool is closed: all sequences end.
  func end() {
    let (changes, results, others) = state.withLock { state in
      state.isEnded = true
      return (state.changes.values.compactMap(\.subscription.object), state.results.values.compactMap(\.subscription.object), state.others)
    }
    others?.end()
    for subscription in changes { subscription.end() }
    for subscription in results { subscription.end() }
  }
}
