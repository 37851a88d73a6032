/// One loop over a live result: whether what it was last given may be outdated.
final class ResultSubscription: Sendable {
  private let feed: PoolFeed
  private let number: Int
  private let state = Guarded(State())

  private struct State {
    /// What the result is read from; nil until that is known.
    var read: ReadColumns?
    /// What decides by row, where something does.
    var filter: RowFilter?
    var doubt = Doubt.certain
    var isEnded = false
    var waiter: Waiter?
    /// The count of changes of observers since which what it is read from is recorded; not known at first.
    var joined = Int.max
  }

  /// What has happened since the result was last read.
  enum Doubt {
    case none
    /// These rows were changed, and nothing else that it is read from.
    case rows([RowImages])
    case certain
  }

  /// How many rows are kept at most until the loop looks at them.
  private static let maximumRows = 4 * TableChanges.maximumImages

  init(_ feed: PoolFeed) {
    self.feed = feed
    number = feed.newNumber()
    feed.add(self, number)
  }

  deinit { feed.remove(number) }

  /// Says what the result is read from.
  func expect(_ read: ReadColumns, _ filter: RowFilter?) {
    state.withLock { state in
      (state.read, state.filter) = (read, filter)
      state.joined = .max
    }
    feed.expect(read, byRow: filter != nil, number)
    let joined = feed.join(number)
    state.withLock { $0.joined = joined }
  }

  func didCommit(_ commit: CommittedChanges) {
    let waiter = state.withLock { state -> Waiter? in
      let doubt = commit.doubt(about: state.read, state.filter, since: state.joined)
      switch (state.doubt, doubt) {
      case (_, .none): return nil
      case (.none, _): state.doubt = doubt
      case (.rows(let earlier), .rows(let rows)) where earlier.count + rows.count <= ResultSubscription.maximumRows:
        state.doubt = .rows(earlier + rows)
      default: state.doubt = .certain
      }
      return state.waiter.take()
    }
    waiter?.wake()
  }

  func end() {
    let waiter = state.withLock { state in
      state.isEnded = true
      return state.waiter.take()
    }
    waiter?.wake()
  }

  /// Waits until the result may be outdated, and says by what; nil when the pool was closed.
  ///
  /// Throws `CancellationError`.
  func next(isolation actor: isolated (any Actor)?) async throws -> Doubt? {
    while true {
      try Task.checkCancellation()
      let waiter = Waiter()
      let (doubt, isEnded) = state.withLock { state -> (Doubt, Bool) in
        if state.isEnded { return (.none, true) }
        defer { state.doubt = .none }
        if case .none = state.doubt { state.waiter = waiter }
        return (state.doubt, false)
      }
      if isEnded { return nil }
      guard case .none = doubt else { return doubt }
      guard await waiter.wait(isolation: actor) else { throw CancellationError() }
    }
  }
}

extension CommittedChanges {
  /// What a commit means for a result that is read from these columns.
  fileprivate func doubt(about read: ReadColumns?, _ filter: RowFilter?, since joined: Int) -> ResultSubscription.Doubt
  {
    guard let read, !isUnknown(toOneSince: joined), !read.readsUnobserved else { return .certain }
    var doubt = ResultSubscription.Doubt.none
    // Of the fewer: a result is read from few tables, and so may the commit be.
    for (name, table) in tables {
      guard let columns = read.tables[name], table.isMembershipChanged || !table.columns.isDisjoint(with: columns)
      else {
        continue
      }
      guard let filter, let images = table.images, images.allSatisfy(\.isWhole) else { return .certain }
      // One table only: else there would be no filter that decides.
      let rows = images.filter { !filter.excludes($0) }
      if !rows.isEmpty { doubt = .rows(rows) }
    }
    return doubt
  }
}
