import SqlableCore

/// A signal that wakes one waiting task after commits that might have changed rows of a table.
///
/// The signal reads nothing. A commit of the pool sets the signal if the commit changed the table. Commits of other
/// processes, restores and schema changes always set the signal.
package final class CommitSignal: FollowedLiveQuery {
  let number: Int
  let priority = Task.currentPriority
  private let feed: PoolFeed
  private let isSet = Mailbox(false)

  /// - Parameter columns: The columns whose updates set the signal. Inserts and deletes always set the signal.
  package convenience init(_ pool: SqlitePool, table: String, columns: [String]) {
    self.init(pool.feed, table: table, columns: columns)
  }

  package init(_ feed: PoolFeed, table: String, columns: [String]) {
    self.feed = feed
    number = feed.newNumber()
    feed.add(self, number)
    let names = Set(columns.map(\.foldedName))
    feed.expect(ReadColumns(tables: [table.foldedName: names]), RowRule(), number)
    feed.loopBegins()
  }

  deinit {
    feed.remove(number)
    feed.loopEnds()
  }

  /// Waits until the signal is set, and resets the signal. Returns false if the pool was closed or the task is
  /// cancelled.
  ///
  /// Read the table after creating the signal, and each time this method returns true.
  package func wait(isolation actor: isolated (any Actor)?) async -> Bool {
    await isSet.next(isolation: actor) { isSet in
      defer { isSet = false }
      return isSet ? true : nil
    } ?? false
  }

  package func wake() { isSet.post { $0 = true }?.wake() }

  func didCommit(_ commit: CommittedChanges?, at position: Int, _ matches: inout Matches) {
    if let waiter = isSet.post({ $0 = true }) { matches.wake([waiter]) }
  }

  func end(_ matches: inout Matches) {
    let waiter = isSet.end()
    matches.keep(self)
    if let waiter { matches.wake([waiter]) }
  }
}
