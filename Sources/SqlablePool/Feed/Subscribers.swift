import SqlableCore

/// A live result from the feed's point of view.
protocol FollowedLiveQuery: AnyObject, Wakeable {
  var number: Int { get }
  /// Handles a commit that might affect the result; nil stands for a commit with unknown changes.
  func didCommit(_ commit: CommittedChanges?, at position: Int, _ matches: inout Matches)
  func end(_ matches: inout Matches)
}

/// The work to do after commits were matched with subscribers and the lock was released.
struct Matches: Sendable {
  var commits = 0
  private(set) var woken: [any Wakeable] = []
  private(set) var called: [any Wakeable] = []
  /// Objects to release after the lock is released: a deinit can take the same lock, or run a caller's code.
  private var retained: [any Sendable] = []

  mutating func keep(_ object: any Sendable) { retained.append(object) }

  mutating func wake(_ sleepers: [any Wakeable]) { woken += sleepers }

  mutating func call(_ result: any Wakeable) { called.append(result) }
}

/// All subscribers, indexed by the tables and values that they observe.
struct Subscribers {
  private var changes = ChangeIndex()
  private var results = LiveQueryIndex()
  /// The new subscribers, each with the value of `ObserverRegistry.changes` when the subscriber was added; `.max` until
  /// this value is known. Transactions with an earlier value might not record the subscriber's tables.
  private var recent: [Int: Int] = [:]

  /// The number of subscribers that need all commits: new subscribers, and results that read unobservable tables.
  var subscriberCount: Int { recent.count + results.countEverywhere }

  mutating func add(_ subscription: ChangeSubscription, _ number: Int, since position: Int) {
    changes.add(subscription, number, since: position)
    recent[number] = .max
  }

  mutating func add(_ result: any FollowedLiveQuery, _ number: Int) {
    results.add(result, number)
    recent[number] = .max
  }

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

  /// Notifies the subscribers that a commit affects. Call this method in commit order.
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
    guard commit.loggedTables == nil else { return matchLogged(commit, entry.position, &matches) }
    // A subscriber might have joined after the transaction read which tables to record. The recorded changes then do
    // not show whether the commit affects the subscriber. Once one transaction records the tables of a subscriber, all
    // later transactions do.
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

  /// Notifies the subscribers of another connection's commit, which was read from the change log.
  private func matchLogged(_ commit: CommittedChanges, _ position: Int, _ matches: inout Matches) {
    // Filter a copy of `recent`, and leave the property as it is: the pool's next transaction might not yet record the
    // tables of all subscribers.
    let recent = recent.filter { commit.isUnknown(toOneSince: $0.value) }
    let tables = commit.loggedTables ?? []
    for number in changes.numbers(outside: tables).union(recent.keys) { changes.miss(number, position, &matches) }
    let unknown = results.numbers(outside: tables).union(recent.keys)
    for number in unknown { results.notify(number, nil, position, &matches) }
    changes.match(commit.rows, position, except: recent, &matches)
    for number in results.concerned(by: commit.tables).subtracting(unknown) {
      results.notify(number, commit, position, &matches)
    }
  }
}
