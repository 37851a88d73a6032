import Synchronization

/// Tells the pool's sequences of its commits, and of those of other processes.
///
/// Sequences are held weakly, by number: dropping one ends it.
final class PoolFeed: CommitSink {
  private struct State {
    var changes: [Int: Weak<ChangeSubscription>] = [:]
    var results: [Int: Weak<ResultSubscription>] = [:]
    var interest = ObservedTables()
    var isEnded = false
    var isWatched = false
    var others: OtherProcesses?
  }

  private struct Weak<Object: AnyObject> {
    weak var object: Object?
  }

  private let state = Guarded(State())
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

  var interest: ObservedTables { state.withLock { $0.interest } }

  // MARK: Who listens

  func add(_ subscription: ChangeSubscription, _ number: Int) {
    change { $0.changes[number] = Weak(object: subscription) }
    watchOthers { subscription.end() }
  }

  func add(_ subscription: ResultSubscription, _ number: Int) {
    change { $0.results[number] = Weak(object: subscription) }
    watchOthers { subscription.end() }
  }

  /// Begins to look for others, when that was not done before; calls `end` where nothing comes any more.
  private func watchOthers(orElse end: () -> Void) {
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

  func removeChanges(_ number: Int) { change { $0.changes[number] = nil } }

  func removeResult(_ number: Int) { change { $0.results[number] = nil } }

  /// To be called when a live result has found out what it reads.
  func interestDidChange() { change { _ in } }

  private func change(_ body: (inout State) -> Void) {
    // Kept until the lock is given back: who is the last to let go of one comes here again.
    var listening: [AnyObject] = []
    let isNew = state.withLock { state in
      body(&state)
      var interest = ObservedTables()
      for subscription in state.changes.values {
        guard let subscription = subscription.object else { continue }
        listening.append(subscription)
        interest.commits = true
        let table = subscription.observed.observer.table
        interest.named.insert(table)
        if subscription.observed.withValues { interest.valued.insert(table.foldedName) }
      }
      for subscription in state.results.values {
        guard let subscription = subscription.object else { continue }
        listening.append(subscription)
        interest.commits = true
        for (table, reading) in subscription.interest { interest.read(table, reading) }
      }
      defer { state.interest = interest }
      return state.interest != interest
    }
    if isNew { registry.sinkDidChange() }
    withExtendedLifetime(listening) {}
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
  /// How often the writer has looked whether others have committed.
  var writerLooks: Int { lookCount.load(ordering: .acquiring) }

  func commitBegins() { commitCount.add(1, ordering: .acquiringAndReleasing) }

  func commitEnds() { commitCount.add(1, ordering: .acquiringAndReleasing) }

  func transactionBegins(afterOthers: Bool) {
    lookCount.add(1, ordering: .acquiringAndReleasing)
    if afterOthers { didCommitElsewhere() }
  }

  /// To be called when somebody else has committed.
  func didCommitElsewhere() { didCommit(CommittedChanges(isUnknown: true)) }

  func didCommit(_ commit: CommittedChanges) {
    let (changes, results) = state.withLock { state in
      (state.changes.values.compactMap(\.object), state.results.values.compactMap(\.object))
    }
    for subscription in changes { subscription.didCommit(commit) }
    for subscription in results { subscription.didCommit(commit) }
  }

  /// To be called when the pool is closed: all sequences end.
  func end() {
    let (changes, results, others) = state.withLock { state in
      state.isEnded = true
      return (state.changes.values.compactMap(\.object), state.results.values.compactMap(\.object), state.others)
    }
    others?.end()
    for subscription in changes { subscription.end() }
    for subscription in results { subscription.end() }
  }
}
