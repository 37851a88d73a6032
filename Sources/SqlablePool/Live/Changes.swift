import SqlableCore
import Synchronization

extension SqlitePool {
  /// Returns an asynchronous sequence of the rows that later transactions change in the model's table.
  ///
  /// ```swift
  /// for await event in pool.changes(on: Bicycle.self, .update, id: 2) {
  ///   switch event {
  ///   case .row(let row): print(row.change, row.id)
  ///   case .missed: …                          // another process wrote, for example: read again
  ///   }
  /// }
  /// ```
  ///
  /// The sequence delivers each change once, after the commit, in the order of commits and of changes in a commit.
  /// Changes that are rolled back are not delivered. Recording starts when the sequence is created, so the first loop
  /// misses no change. A later loop continues where the earlier loop ended and receives the rows committed in between.
  ///
  /// Changes by other processes are delivered too if the table has a change log and the program links SqlableChanges.
  ///
  /// If one loop runs while another starts, the second loop starts with ``ChangeEvent/missed`` and receives later rows.
  /// A loop ends when its task is cancelled or the pool closes. A slow loop blocks nothing, because its rows wait in a
  /// buffer. When the buffer is full, the buffer is emptied and the loop receives `.missed`.
  ///
  /// - Parameters:
  ///   - model: The model whose rows to observe.
  ///   - change: The kind of change; nil for all three kinds.
  ///   - tableName: The table, if the table is not the model's own.
  ///   - id: The row's id, or its key if the key is not an integer; nil for all rows.
  ///   - limit: The maximum number of buffered rows; a single commit is allowed to exceed this limit.
  ///
  /// SQLite can't observe a full-text table that stores its own texts. For such a table, and for a contradictory model,
  /// ``ObservedDatabase/didFail`` receives an error and the sequence ends immediately. The sequence of a closed pool
  /// also ends immediately.
  public func changes<Model: Sqlable>(
    on model: Model.Type, _ change: Change? = nil, in tableName: String? = nil, id: (any SqlValue)? = nil,
    buffering limit: Int = 10_000
  ) -> Changes<RowChange> {
    Changes(subscription(limit) { try ObservedRows(model, change, in: tableName, id: id) }) { $0 }
  }

  /// Returns the rows that later transactions change, with their values before and after the change.
  ///
  /// ```swift
  /// for await case .row(let bike) in pool.modelChanges(on: Bicycle.self) {
  ///   print(try bike.old()?.color, try bike.new()?.color)
  /// }
  /// ```
  public func modelChanges<Model: Sqlable>(
    on model: Model.Type, _ change: Change? = nil, in tableName: String? = nil, id: (any SqlValue)? = nil,
    buffering limit: Int = 10_000
  ) -> Changes<ModelChange<Model>> {
    let reader = ImageReader()
    return Changes(subscription(limit) { try ObservedRows(model, change, in: tableName, id: id, withValues: true) }) {
      $0.map { event in
        switch event {
        case .row(let row): .row(ModelChange(row, reader))
        case .missed: .missed
        }
      }
    }
  }

  private func subscription(_ limit: Int, _ observed: () throws -> ObservedRows) -> ChangeSubscription? {
    do {
      try checkFork()
      return ChangeSubscription(feed, try observed(), limit)
    } catch {
      root.fail(error)
      return nil
    }
  }
}

/// A sequence of changed rows; see ``SqlitePool/changes(on:_:in:id:buffering:)``.
///
/// Rows are buffered for the next loop as long as the sequence exists.
public struct Changes<Row: Sendable>: AsyncSequence, Sendable {
  /// The rows of this sequence, grouped by commit.
  ///
  /// ```swift
  /// for await commit in pool.changes(on: Bicycle.self).commits { print(commit.count) }
  /// ```
  public let commits: Commits<Row>

  package init(
    _ subscription: ChangeSubscription?, _ make: @escaping @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]
  ) {
    commits = Commits(idle: IdleSubscription(subscription), make: make)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(loop: commits.makeLoop()) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let loop: ChangeLoop<Row>?

    /// Returns the next row; nil if the task is cancelled or the pool closes.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ChangeEvent<Row>? {
      await loop?.nextRow(isolation: actor)
    }
  }
}

/// A sequence of commits with their changed rows; see ``Changes/commits``.
public struct Commits<Row: Sendable>: AsyncSequence, Sendable {
  fileprivate let idle: IdleSubscription
  fileprivate let make: @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]

  public func makeAsyncIterator() -> Iterator { Iterator(loop: makeLoop()) }

  fileprivate func makeLoop() -> ChangeLoop<Row>? { idle.take().map { ChangeLoop($0, returningTo: idle, make) } }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let loop: ChangeLoop<Row>?

    /// Returns the rows of the next commit; nil if the task is cancelled or the pool closes.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> [ChangeEvent<Row>]? {
      await loop?.nextCommit(isolation: actor)
    }
  }
}

/// One loop over a sequence. The next loop continues where this loop ends.
private final class ChangeLoop<Row: Sendable> {
  private let subscription: ChangeSubscription
  private let idle: IdleSubscription
  private let make: @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]
  /// The rows of the commit that the loop is delivering. Loops share this array, so the loop counts the delivered rows
  /// and does not remove them.
  private var commit: [ChangeEvent<RowChange>] = []
  private var events: [ChangeEvent<Row>] = []
  private var deliveredCount = 0

  init(
    _ subscription: ChangeSubscription, returningTo idle: IdleSubscription,
    _ make: @escaping @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]
  ) {
    self.subscription = subscription
    self.idle = idle
    self.make = make
    subscription.feed.loopBegins()
  }

  deinit {
    subscription.feed.loopEnds()
    if deliveredCount < commit.count { subscription.putBack(Array(commit[deliveredCount...])) }
    idle.putBack(subscription)
  }

  func nextRow(isolation actor: isolated (any Actor)?) async -> ChangeEvent<Row>? {
    while !Task.isCancelled {
      if deliveredCount < events.count {
        deliveredCount += 1
        return events[deliveredCount - 1]
      }
      // Release the rows before the wait: the rows can be large and the wait can be long.
      (commit, events, deliveredCount) = ([], [], 0)
      guard let next = await subscription.next(isolation: actor) else { return nil }
      (commit, events) = (next, make(next))
    }
    return nil
  }

  func nextCommit(isolation actor: isolated (any Actor)?) async -> [ChangeEvent<Row>]? {
    await subscription.next(isolation: actor).map(make)
  }
}

/// A holder of a sequence's subscription. Empty while a loop uses the subscription, or if subscribing failed.
private final class IdleSubscription: Sendable {
  private let subscription: LockedValue<ChangeSubscription?>
  private let another: @Sendable () -> ChangeSubscription?

  init(_ subscription: ChangeSubscription?) {
    self.subscription = LockedValue(subscription)
    // Don't capture the subscription, because the subscription must end with its sequence and loops.
    let parts = subscription.map { ($0.feed, $0.observed, $0.limit) }
    another = { parts.map { ChangeSubscription($0.0, $0.1, $0.2, beginsWithMissed: true) } }
  }

  /// Returns the idle subscription; if a loop uses the subscription, creates another.
  func take() -> ChangeSubscription? { subscription.withLock { $0.take() } ?? another() }

  /// Stores the subscription of a loop that ended, for the next loop. Does nothing if a subscription is already stored.
  func putBack(_ ended: ChangeSubscription) {
    subscription.withLock { subscription in
      if subscription == nil { subscription = ended }
    }
  }
}
