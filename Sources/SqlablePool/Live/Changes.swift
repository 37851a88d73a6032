import SqlableCore
import Synchronization

extension SqlitePool {
  /// Returns the rows of the model's table that transactions change from now on, as an asynchronous sequence.
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
  /// Each change is delivered once, after its commit, in the order of commits and of changes; rolled-back changes are
  /// not delivered. The sequence begins when it is made, so its first loop misses nothing; a later loop continues where
  /// an earlier one ended, with the rows committed in between. A loop that begins while another one runs begins with
  /// ``ChangeEvent/missed``, and has the rows from then on. A loop ends when its task is cancelled and when the pool is
  /// closed. A slow loop blocks nothing: its rows wait in a buffer, which is dropped as a whole when it is full, with
  /// `.missed` in its place.
  ///
  /// - Parameters:
  ///   - model: The model whose rows to observe.
  ///   - change: The kind of change; nil for all three.
  ///   - tableName: The table, if it is not the model's own.
  ///   - id: The row's id, or its key if that is not an integer; nil for all rows.
  ///   - limit: The maximum number of buffered rows, unless a single commit has more.
  ///
  /// For a full-text table that stores its own texts, which SQLite can't observe, and for a contradictory model, an
  /// error is passed to ``ObservedDatabase/didFail`` and the sequence ends at once. So does that of a closed pool.
  public func changes<Model: Sqlable>(
    on model: Model.Type, _ change: Change? = nil, in tableName: String? = nil, id: (any SqlValue)? = nil,
    buffering limit: Int = 10_000
  ) -> Changes<RowChange> {
    Changes(subscription(limit) { try ObservedRows(model, change, in: tableName, id: id) }) { $0 }
  }

  /// Returns the rows that transactions change from now on, with their values before and after the change.
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
/// While it is kept, rows are buffered for its next loop.
public struct Changes<Row: Sendable>: AsyncSequence, Sendable {
  /// The same rows, grouped by commit.
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

    /// Returns the next row; nil if the task was cancelled or the pool closed.
    public mutating func next() async -> ChangeEvent<Row>? { await next(isolation: #isolation) }

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

    /// Returns the rows of the next commit; nil if the task was cancelled or the pool closed.
    public mutating func next() async -> [ChangeEvent<Row>]? { await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> [ChangeEvent<Row>]? {
      await loop?.nextCommit(isolation: actor)
    }
  }
}

/// One loop over a sequence, whose next loop continues where this one ends.
private final class ChangeLoop<Row: Sendable> {
  private let subscription: ChangeSubscription
  private let idle: IdleSubscription
  private let make: @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]
  /// The commit whose rows are delivered one by one, as received and as delivered. Shared with the other loops over the
  /// same rows, so it is read by index.
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
  }

  deinit {
    if deliveredCount < commit.count { subscription.putBack(Array(commit[deliveredCount...])) }
    idle.putBack(subscription)
  }

  func nextRow(isolation actor: isolated (any Actor)?) async -> ChangeEvent<Row>? {
    while !Task.isCancelled {
      if deliveredCount < events.count {
        deliveredCount += 1
        return events[deliveredCount - 1]
      }
      // Released before the wait, which may be long: the rows may be large.
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

/// The subscription of a sequence while no loop uses it; none if subscribing has failed.
private final class IdleSubscription: Sendable {
  private let subscription: LockedValue<ChangeSubscription?>
  private let another: @Sendable () -> ChangeSubscription?

  init(_ subscription: ChangeSubscription?) {
    self.subscription = LockedValue(subscription)
    // Without the subscription itself: it must end with the last of the sequence and its loops.
    let parts = subscription.map { ($0.feed, $0.observed, $0.limit) }
    another = { parts.map { ChangeSubscription($0.0, $0.1, $0.2, beginsWithMissed: true) } }
  }

  /// Returns the subscription, or another one if a loop uses it.
  func take() -> ChangeSubscription? { subscription.withLock { $0.take() } ?? another() }

  /// Keeps the subscription for the next loop, unless one is there: of several loops, the first to end is continued.
  func putBack(_ ended: ChangeSubscription) {
    subscription.withLock { subscription in
      if subscription == nil { subscription = ended }
    }
  }
}
