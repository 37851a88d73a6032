import SqlableCore

/// The tables that the subscribers of a feed observe.
struct FeedInterests {
  /// The tables to record: those of all subscribers, and some of removed subscribers.
  private(set) var interest = ObservedTables()
  private var bySubscriber: [Int: ObservedTables] = [:]
  /// The number of subscribers removed since `interest` was last computed.
  private var removedCount = 0

  /// Adds the tables that a subscriber observes. Returns true if further tables must now be recorded.
  mutating func want(_ interest: ObservedTables, _ number: Int) -> Bool {
    bySubscriber[number] = interest
    let before = self.interest
    self.interest.formUnion(interest)
    return self.interest != before
  }

  /// Removes a subscriber. Recomputes the set of recorded tables only after many removals, because recording too many
  /// tables is harmless. Returns true if the set has changed.
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
