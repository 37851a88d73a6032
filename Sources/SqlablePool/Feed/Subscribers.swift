import SqlableCore

/// A live result, as the feed sees it.
protocol FollowedLiveQuery: AnyObject, Wakeable {
  /// Unique among subscribers.
  var number: Int { get }
  /// To be called for a commit that may concern it; nil is one that may have changed anything.
  func didCommit(_ commit: CommittedChanges?, at position: Int, _ matches: inout Matches)
  /// To be called when the pool is closed.
  func end(_ matches: inout Matches)
}

/// The work left after commits were matched with subscribers and the lock is released.
struct Matches: Sendable {
  /// The number of commits matched.
  var commits = 0
  private(set) var woken: [any Wakeable] = []
  /// Live results that have work to do.
  private(set) var called: [any Wakeable] = []
  /// Objects to release after the lock. The deinit of a subscriber takes the same lock, and the deinit of a value may
  /// run a caller's code.
  private var retained: [any Sendable] = []

  mutating func keep(_ object: any Sendable) { retained.append(object) }

  mutating func wake(_ sleepers: [any Wakeable]) { woken += sleepers }

  mutating func call(_ result: any Wakeable) { called.append(result) }
}

/// All subscribers, indexed by what they observe.
struct Subscribers {
  private var changes = ChangeIndex()
  private var results = LiveQueryIndex()
  /// New subscribers, with the count of observer changes from which on their whole interest is recorded; `.max` until
  /// that is known.
  private var recent: [Int: Int] = [:]

  /// The number of subscribers that a commit may concern even if it recorded nothing: new ones, and results that read
  /// what can't be observed, such as virtual tables.
  var attentive: Int { recent.count + results.countEverywhere }

  mutating func add(_ subscription: ChangeSubscription, _ number: Int, since position: Int) {
    changes.add(subscription, number, since: position)
    recent[number] = .max
  }

  mutating func add(_ result: any FollowedLiveQuery, _ number: Int) {
    results.add(result, number)
    recent[number] = .max
  }

  /// Records what a live result reads and, for a single table, what its filter demands of columns.
  mutating func expect(_ read: ReadColumns, _ demands: [RequiredValue], columns: [String], _ number: Int) {
    results.expect(read, demands, columns: columns, number)
    recent[number] = .max
  }

  mutating func join(_ number: Int, _ joined: Int) {
    if recent[number] != nil { recent[number] = joined }
  }

  mutating func remove(_ number: Int) {
    changes.remove(number)
    results.remove(number)
    recent[number] = nil
  }

  /// Notifies the subscribers that a commit concerns. To be called in the order of commits.
  mutating func match(_ entry: CommitQueue.Entry, _ matches: inout Matches) {
    guard let commit = entry.commit else {
      for subscription in changes.all { subscription.end(&matches) }
      for result in results.all { result.end(&matches) }
      return
    }
    guard !commit.isUnknown else {
      changes.missAll(entry.position, &matches)
      for number in results.numbers { results.notify(number, nil, entry.position, &matches) }
      return
    }
    // A subscriber that joined after the transaction had read the interests may be concerned, whatever was recorded.
    // Subscribers that this transaction knew are known to later transactions.
    if !recent.isEmpty { recent = recent.filter { commit.isUnknown(toOneSince: $0.value) } }
    for number in recent.keys {
      changes.miss(number, entry.position, &matches)
      results.notify(number, nil, entry.position, &matches)
    }
    changes.match(commit.rows, entry.position, except: recent, &matches)
    for number in results.concerned(by: commit.tables) where recent[number] == nil {
      results.notify(number, commit, entry.position, &matches)
    }
  }
}
