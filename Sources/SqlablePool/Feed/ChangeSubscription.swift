import SqlableCore

package struct ObservedRows: Sendable {
  package let observer: ObserverRegistry.Observer
  let withValues: Bool
  /// True if the model's key has a custom collation.
  let hasCustomCollation: Bool

  package init<Model: Sqlable>(
    _ model: Model.Type, _ change: Change?, in tableName: String?, id: (any SqlValue)?, withValues: Bool = false
  ) throws {
    observer = try ObserverRegistry.Observer(of: model, change, in: tableName, id: id) { _ in }
    self.withValues = withValues
    let table = try TableInfo.of(model)
    hasCustomCollation = table.key.contains { position in
      if case .named(let name) = table.columns[position].definition.options.collation {
        PageOrder.Collation(name) == nil
      } else {
        false
      }
    }
  }
}

/// A subscription to changes, with its undelivered events. One loop at a time uses a subscription.
package final class ChangeSubscription: Sendable {
  let feed: PoolFeed
  let observed: ObservedRows
  let limit: Int
  private let number: Int
  private let events: Mailbox<Events>

  private struct Events {
    /// A slice, because removing the first element of a slice moves no elements.
    var commits: ArraySlice<[ChangeEvent<RowChange>]> = []
    var count = 0
  }

  package init(_ feed: PoolFeed, _ observed: ObservedRows, _ limit: Int, beginsWithMissed: Bool = false) {
    self.feed = feed
    self.observed = observed
    self.limit = limit
    events = Mailbox(beginsWithMissed ? Events(commits: [[.missed]], count: 1) : Events())
    number = feed.newNumber()
    feed.add(self, number)
  }

  deinit { feed.remove(number) }

  /// Buffers the events of a commit. Call this method in commit order.
  func take(_ commit: [ChangeEvent<RowChange>], isMissed: Bool, _ matches: inout Matches) {
    let waiter = events.post { events in
      if isMissed || (events.count > 0 && events.count + commit.count > limit) {
        // The event `.missed` replaces the buffered events.
        events = Events(commits: [[.missed]], count: 1)
      } else {
        events.commits.append(commit)
        events.count += commit.count
      }
    }
    if let waiter { matches.wake([waiter]) }
  }

  /// Puts back the events that a loop took but did not deliver.
  func putBack(_ rest: [ChangeEvent<RowChange>]) {
    events.change { events in
      events.commits.insert(rest, at: events.commits.startIndex)
      events.count += rest.count
    }
  }

  func end(_ matches: inout Matches) {
    let waiter = events.end()
    matches.keep(self)
    if let waiter { matches.wake([waiter]) }
  }

  func next(isolation actor: isolated (any Actor)?) async -> [ChangeEvent<RowChange>]? {
    await events.next(isolation: actor) { events in
      let commit = events.commits.popFirst()
      events.count -= commit?.count ?? 0
      return commit
    }
  }
}
