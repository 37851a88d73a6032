import SqlableCore

/// The rows that a loop over changes observes.
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
  private let state: LockedValue<State>

  private struct State {
    /// A slice, because removing the first element of a slice moves no elements.
    var commits: ArraySlice<[ChangeEvent<RowChange>]> = []
    var count = 0
    var isEnded = false
    var waiter: Waiter?
  }

  package init(_ feed: PoolFeed, _ observed: ObservedRows, _ limit: Int, beginsWithMissed: Bool = false) {
    self.feed = feed
    self.observed = observed
    self.limit = limit
    state = LockedValue(beginsWithMissed ? State(commits: [[.missed]], count: 1) : State())
    number = feed.newNumber()
    feed.add(self, number)
  }

  deinit { feed.remove(number) }

  /// Buffers the events of a commit. Call this method in commit order.
  func take(_ events: [ChangeEvent<RowChange>], isMissed: Bool, _ matches: inout Matches) {
    let waiter = state.withLock { state -> Waiter? in
      guard !state.isEnded else { return nil }
      if isMissed || (state.count > 0 && state.count + events.count > limit) {
        // `.missed` covers the buffered events, too.
        (state.commits, state.count) = ([[.missed]], 1)
      } else {
        state.commits.append(events)
        state.count += events.count
      }
      return state.waiter.take()
    }
    if let waiter { matches.wake([waiter]) }
  }

  /// Puts back the events that a loop took but did not deliver.
  func putBack(_ events: [ChangeEvent<RowChange>]) {
    state.withLock { state in
      state.commits.insert(events, at: state.commits.startIndex)
      state.count += events.count
    }
  }

  func end(_ matches: inout Matches) {
    let waiter = state.withLock { state in
      state.isEnded = true
      return state.waiter.take()
    }
    matches.keep(self)
    if let waiter { matches.wake([waiter]) }
  }

  func next(isolation actor: isolated (any Actor)?) async -> [ChangeEvent<RowChange>]? {
    // Check for cancellation in each iteration, because a loop that always finds events never waits.
    while !Task.isCancelled {
      let waiter = Waiter()
      let (commit, waits) = state.withLock { state -> ([ChangeEvent<RowChange>]?, Bool) in
        if let commit = state.commits.popFirst() {
          state.count -= commit.count
          return (commit, false)
        }
        guard !state.isEnded else { return (nil, false) }
        state.waiter = waiter
        return (nil, true)
      }
      guard waits else { return commit }
      guard await waiter.wait(isolation: actor) else { return nil }
    }
    return nil
  }
}
