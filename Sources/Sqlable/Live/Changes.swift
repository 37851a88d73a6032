import Synchronization

extension SqlitePool {
  /// The rows of the model's table that transactions change, from now on, as an asynchronous sequence.
  ///
  /// ```swift
  /// for await event in pool.changes(on: Bicycle.self, .update, id: 2) {
  ///   switch event {
  ///   case .row(let row): print(row.change, row.id)
  ///   case .missed: …                          // another process wrote: look for yourself
  ///   }
  /// }
  /// ```
  ///
  /// They come after the commit, in the order of commits and of change, each once; what was rolled back does not come.
  /// The sequence begins when it is made, so that nothing is lost before the loop begins; a second loop over it begins
  /// at its own start. It ends with the task's cancellation and when the pool is closed. A slow loop holds up nobody:
  /// what it has not taken waits in a buffer, and is dropped as a whole, with ``ChangeEvent/missed`` in its place, when
  /// there is more.
  ///
  /// - Parameters:
  ///   - change: the change to hear of; nil for all three.
  ///   - tableName: the table, where it is another one than the model's own.
  ///   - id: the row's id, or its key where that is no integer; nil for all rows.
  ///   - limit: how many rows wait at most, or those of one commit where these are more.
  ///
  /// For a full-text table that keeps its texts itself, of which SQLite tells nothing, and for a model that contradicts
  /// itself, an error reaches ``didFail``, and the sequence ends at once; so does that of a closed pool.
  public func changes<Model: Sqlable>(
    on model: Model.Type, _ change: Change? = nil, in tableName: String? = nil, id: (any SqlValue)? = nil,
    buffering limit: Int = 10_000
  ) -> Changes<RowChange> {
    Changes(subscription(limit) { try ObservedRows(model, change, in: tableName, id: id) }) { $0 }
  }

  /// The same rows with their values before and after the change.
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

/// Changed rows, one after the other; see ``SqlitePool/changes(on:_:in:id:buffering:)``.
public struct Changes<Row: Sendable>: AsyncSequence, Sendable {
  /// The same rows, those of a commit together.
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
    /// All loops over the same rows have the same array.
    private var events: [ChangeEvent<Row>] = []
    private var taken = 0

    fileprivate init(commits: Commits<Row>.Iterator) { self.commits = commits }

    /// The next row; nil when the task was cancelled or the pool closed.
    public mutating func next() async -> ChangeEvent<Row>? { await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> ChangeEvent<Row>? {
      while !Task.isCancelled {
        if taken < events.count {
          taken += 1
          return events[taken - 1]
        }
        // Before the wait, which may be long: their rows may be large.
        (events, taken) = ([], 0)
        guard let commit = await commits.next(isolation: actor) else { return nil }
        events = commit
      }
      return nil
    }
  }
}

/// Changed rows, commit by commit; see ``Changes/commits``.
public struct Commits<Row: Sendable>: AsyncSequence, Sendable {
  fileprivate let first: FirstUse
  fileprivate let make: @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: first.take(), make: make) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: ChangeSubscription?
    fileprivate let make: @Sendable ([ChangeEvent<RowChange>]) -> [ChangeEvent<Row>]

    /// The next commit's rows; nil when the task was cancelled or the pool closed.
    public mutating func next() async -> [ChangeEvent<Row>]? { await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> [ChangeEvent<Row>]? {
      await subscription?.next(isolation: actor).map(make)
    }
  }
}

/// A subscription that was made with its sequence, for the first loop over it; none when there is nothing to hear of.
private final class FirstUse: Sendable {
  private let subscription: Guarded<ChangeSubscription?>
  private let again: @Sendable () -> ChangeSubscription?

  init(_ subscription: ChangeSubscription?) {
    self.subscription = Guarded(subscription)
    // Without the subscription itself, which ends with its loop.
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
