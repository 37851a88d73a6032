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
  /// not delivered. The sequence begins when it is made, so the first loop misses nothing; a second loop begins at its
  /// own start. It ends when the task is cancelled and when the pool is closed. A slow loop blocks nothing: its rows
  /// wait in a buffer, which is dropped as a whole when it is full, with ``ChangeEvent/missed`` in its place.
  ///
  /// - Parameters:
  ///   - model: The model whose rows to observe.
  ///   - change: The kind of change; nil for all three.
  ///   - tableName: The table, if it is not the model's own.
  ///   - id: The row's id, or its key if that is not an integer; nil for all rows.
  ///   - limit: The maximum number of buffered rows, unless a single commit has more.
  ///
  /// For a full-text table that stores its own texts, which SQLite can't observe, and for a contradictory model, an
  /// error is passed to ``didFail`` and the sequence ends at once. So does that of a closed pool.
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
public struct Changes<Row: Sendable>: AsyncSequence, Sendable {
  /// The same rows, grouped by commit.
  ///
  /// ```swift
  /// for await commit in pool.changes(on: Bicycle.self).commits { print(commit.count) }
  /// ```
  public let commits: Commits<Row>

  init(
    _ subscription: ChangeSubscription?, _ make: @escaping @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]
  ) {
    commits = Commits(first: FirstUse(subscription), make: make)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(commits: commits.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    private var commits: Commits<Row>.Iterator
    /// Shared with the other loops over the same rows, so it is read by index.
    private var events: [ChangeEvent<Row>] = []
    private var taken = 0

    fileprivate init(commits: Commits<Row>.Iterator) { self.commits = commits }

    /// Returns the next row; nil if the task was cancelled or the pool closed.
    public mutating func next() async -> ChangeEvent<Row>? { await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> ChangeEvent<Row>? {
      while !Task.isCancelled {
        if taken < events.count {
          taken += 1
          return events[taken - 1]
        }
        // Released before the wait, which may be long: the rows may be large.
        (events, taken) = ([], 0)
        guard let commit = await commits.next(isolation: actor) else { return nil }
        events = commit
      }
      return nil
    }
  }
}

/// A sequence of commits with their changed rows; see ``Changes/commits``.
public struct Commits<Row: Sendable>: AsyncSequence, Sendable {
  fileprivate let first: FirstUse
  fileprivate let make: @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: first.take(), make: make) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: ChangeSubscription?
    fileprivate let make: @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]

    /// Returns the rows of the next commit; nil if the task was cancelled or the pool closed.
    public mutating func next() async -> [ChangeEvent<Row>]? { await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> [ChangeEvent<Row>]? {
      await subscription?.next(isolation: actor).map(make)
    }
  }
}

/// The subscription made with a sequence, for the first loop over it; none if subscribing has failed.
private final class FirstUse: Sendable {
  private let subscription: Guarded<ChangeSubscription?>
  private let again: @Sendable () -> ChangeSubscription?

  init(_ subscription: ChangeSubscription?) {
    self.subscription = Guarded(subscription)
    // Without the subscription itself, which must end with its loop.
    let parts = subscription.map { ($0.feed, $0.observed, $0.limit) }
    again = { parts.map { ChangeSubscription($0.0, $0.1, $0.2) } }
  }

  func take() -> ChangeSubscription? {
    let first = subscription.withLock { subscription in
      defer { subscription = nil }
      return subscription
    }
    return first ?? again()
  }
}
