/// A live result, as the feed knows it.
protocol FollowedResult: AnyObject, Wakeable {
  /// No other subscriber's.
  var number: Int { get }
  /// Takes note of a commit that may concern it, or, without one, of one that may have changed anything.
  func didCommit(_ commit: CommittedChanges?, at position: Int, _ matches: inout Matches)
  /// Ends it, since the pool is closed.
  func end(_ matches: inout Matches)
}

/// What comes of matching commits with subscribers, for the time after the lock is given back.
struct Matches: Sendable {
  /// How many commits were matched.
  var commits = 0
  private(set) var woken: [any Wakeable] = []
  /// Results that have something to find out.
  private(set) var called: [any Wakeable] = []
  /// What is let go of then: a subscriber asks for the same lock when it goes, and what it was given may call
  /// anybody's code.
  private var found: [any Sendable] = []

  mutating func keep(_ found: any Sendable) { self.found.append(found) }

  mutating func wake(_ sleepers: [any Wakeable]) { woken += sleepers }

  mutating func call(_ result: any Wakeable) { called.append(result) }
}

/// Those who listen, found by what they listen to.
struct Subscribers {
  private var changes = ChangeIndex()
  private var results = ResultIndex()
  /// Those who came not long ago, with the count of changes of observers since which all that they want is recorded;
  /// the greatest number while that is not known.
  private var recent: [Int: Int] = [:]

  /// How many there are whom a commit may concern that recorded nothing: those who came not long ago, and results of
  /// what nobody tells of, as of virtual tables.
  var attentive: Int { recent.count + results.countEverywhere }

  mutating func add(_ subscription: ChangeSubscription, _ number: Int, since position: Int) {
    changes.add(subscription, number, since: position)
    recent[number] = .max
  }

  mutating func add(_ result: any FollowedResult, _ number: Int) {
    results.add(result, number)
    recent[number] = .max
  }

  /// Notes what a live result is read from, and what its filter demands of columns of the only table.
  mutating func expect(_ read: ReadColumns, _ demands: [RowDemand], columns: [String], _ number: Int) {
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

  /// Tells those whom a commit concerns. To be called in the order of commits.
  mutating func match(_ entry: CommitLog.Entry, _ matches: inout Matches) {
    guard let commit = entry.commit else {
      for subscription in changes.all { subscription.end(&matches) }
      for result in results.all { result.end(&matches) }
      return
    }
    guard !commit.isUnknown else {
      changes.missAll(entry.position, &matches)
      for number in results.numbers { results.tell(number, nil, entry.position, &matches) }
      return
    }
    // Whoever came after it was looked at what is wanted may be concerned, whatever was recorded; to later
    // transactions those are known who were known to this one.
    if !recent.isEmpty { recent = recent.filter { commit.isUnknown(toOneSince: $0.value) } }
    for number in recent.keys {
      changes.miss(number, entry.position, &matches)
      results.tell(number, nil, entry.position, &matches)
    }
    changes.match(commit.rows, entry.position, except: recent, &matches)
    for number in results.concerned(by: commit.tables) where recent[number] == nil {
      results.tell(number, commit, entry.position, &matches)
    }
  }
}
