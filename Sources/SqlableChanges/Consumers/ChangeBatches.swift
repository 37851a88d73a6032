import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Returns the changes of a model's table for a named consumer. The database stores the consumer's position.
  ///
  /// ```swift
  /// for try await batch in pool.changes(on: Bicycle.self, as: "search-index") {
  ///   if batch.isSnapshot { try await index.clear() }
  ///   for try await change in batch.changes { try await index.apply(change.row) }
  ///   try await batch.acknowledge()
  /// }
  /// ```
  ///
  /// Each change is delivered at least once, in the order of commits and of changes in a commit. A batch never ends
  /// inside a commit. A batch begins inside a commit only after a `deliver` with this name has stopped in the middle of
  /// that commit. A batch has the changes of all commits since the previous batch. Asking for the next batch
  /// acknowledges the previous one. After an error, a `break` or the end of the process, the next loop with this name
  /// starts with the first change that is not acknowledged.
  ///
  /// Across all processes, one loop at a time owns a consumer. Other loops with the same name wait. If the owner is
  /// killed, a waiting loop takes over after `lease`, by the clock of the machine. A live owner keeps its lease: when
  /// another loop asks for the consumer, the owner answers. An owner that does not answer within `lease`, such as a
  /// suspended process, loses the consumer. Its `acknowledge()` then throws `.changeLog(.ownerChanged)`.
  ///
  /// `tableName` names the table if it is not the model's own. `startingWith` applies only to a consumer without a
  /// position in the database. `lease` is between 0.1 seconds and a day.
  ///
  /// Throws the errors of ``changes(on:in:since:file:line:)``, and errors of writing. After `.changeLog(.otherHistory)`
  /// and `.changeLog(.trimmed)`, call ``removeChangeConsumer(_:file:line:)`` and start again with
  /// ``ConsumerStart/rows``.
  public func changes<Model: Sqlable & Sendable>(
    on model: Model.Type, in tableName: String? = nil, as name: String, startingWith start: ConsumerStart = .rows,
    lease: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
  ) -> ChangeBatches<LoggedModelChange<Model>> {
    ChangeBatches(
      database: self, followed: .of(model, in: tableName), name: name, start: start, lease: lease,
      callSite: CallSite(file: file, line: line))
  }

  /// Returns the changes of all logged tables for a named consumer, with their values as ``DynamicRow``.
  ///
  /// ```swift
  /// for try await batch in pool.changes(as: "audit") {
  ///   for try await change in batch.changes { try await audit.add(change.table, change.old, change.new) }
  ///   try await batch.acknowledge()
  /// }
  /// ```
  ///
  /// Includes tables whose log keeps only keys or chosen columns. The consumer has the behaviour and the errors of
  /// ``changes(on:in:as:startingWith:lease:file:line:)``. ``ConsumerStart/rows`` delivers the rows of all tables that
  /// are logged at that time. A table whose log is created later is delivered from its first logged change.
  public func changes(
    as name: String, startingWith start: ConsumerStart = .rows, lease: Duration = .seconds(10),
    file: StaticString = #fileID, line: UInt = #line
  ) -> ChangeBatches<LoggedChange> {
    ChangeBatches(
      database: self, followed: .ofAllTables, name: name, start: start, lease: lease,
      callSite: CallSite(file: file, line: line))
  }
}

/// A sequence of batches of logged changes; see ``SqlitePool/changes(on:in:as:startingWith:lease:file:line:)``.
public struct ChangeBatches<Change: Sendable>: AsyncSequence, Sendable {
  private let database: any ConsumerDatabase
  private let followed: FollowedChanges<Change>
  let name: String
  private let start: ConsumerStart
  private let lease: Duration
  let callSite: CallSite

  package init(
    database: any ConsumerDatabase, followed: FollowedChanges<Change>, name: String, start: ConsumerStart,
    lease: Duration,
    callSite: CallSite
  ) {
    (self.database, self.followed, self.name, self.start) = (database, followed, name, start)
    (self.lease, self.callSite) = (lease, callSite)
  }

  public func makeAsyncIterator() -> Iterator {
    let lease = ConsumerLease(database, name, of: followed, start, lease, callSite)
    return Iterator(consumer: Consumer(database, followed, lease, callSite))
  }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let consumer: Consumer<Change>
    private var batch: ChangeBatch<Change>?
    private var isEnded = false

    fileprivate init(consumer: Consumer<Change>) { self.consumer = consumer }

    /// Acknowledges the previous batch, and returns the next; nil after the database was closed, and after an
    /// error.
    public mutating func next() async throws -> ChangeBatch<Change>? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ChangeBatch<Change>? {
      guard !isEnded else { return nil }
      do {
        try Task.checkCancellation()
        try await batch?.acknowledge()
        batch = nil
        batch = try await consumer.next(isolation: actor)
      } catch {
        (isEnded, batch) = (true, nil)
        throw error
      }
      isEnded = batch == nil
      return batch
    }
  }
}

/// The changes of one or several commits, for a named consumer.
public final class ChangeBatch<Change: Sendable>: Sendable {
  /// The changes, in order. A loop reads them in pages of about 1,000; each loop starts with the first change.
  ///
  /// In a snapshot, each row of the table is an insert, in no particular order.
  public let changes: BatchChanges<Change>
  /// True for a snapshot of all rows, which a new consumer receives first; see ``ConsumerStart/rows``.
  public let isSnapshot: Bool
  /// The rows of a snapshot; nil for a batch of changes.
  let rows: LogSnapshot<Change>?
  let consumer: Consumer<Change>
  let start: ChangePosition
  /// `stored` is the position in the database: `start`, or a position that `store` has stored. `last` is the position
  /// of the last change that the loop has received; nil for a snapshot before the first change.
  private let state: LockedValue<State>
  private typealias State = (stored: ChangePosition, end: ChangePosition, last: ChangePosition?, isAcknowledged: Bool)

  /// Makes a batch of the changes after `start`; `page` is its first page.
  init(_ consumer: Consumer<Change>, after start: ChangePosition, _ page: LogPage<Change>) {
    (self.consumer, self.start, isSnapshot) = (consumer, start, false)
    let state = LockedValue<State>((start, page.snapshotEnd, page.last, false))
    self.state = state
    rows = nil
    let pages = LogPages(consumer: consumer, first: page) { last in state.withLock { $0.last = last } }
    changes = BatchChanges(pages: pages, rows: nil)
  }

  /// Makes a batch of all rows of the table, for a consumer that started at `start`.
  init(snapshotFor consumer: Consumer<Change>, after start: ChangePosition) {
    (self.consumer, self.start, isSnapshot) = (consumer, start, true)
    let state = LockedValue<State>((start, start, nil, false))
    self.state = state
    rows = consumer.rows { end, last in state.withLock { ($0.end, $0.last) = (end, last) } }
    changes = BatchChanges(pages: nil, rows: rows)
  }

  /// The position after the last change. For a snapshot, the end of the log when the last loop over the rows began.
  public var position: ChangePosition { state.withLock { $0.end } }

  /// Returns all changes of the batch.
  public func all() async throws -> [Change] {
    var all: [Change] = []
    for try await change in changes { all.append(change) }
    return all
  }

  /// Stores the position after this batch, so that the batch's changes are not delivered again. Further calls do
  /// nothing.
  ///
  /// Throws `.changeLog(.ownerChanged)` if another loop has taken over the consumer. Throws `.changeLog(.otherHistory)`
  /// if a restore has undone a change at or before ``position``, even if the undone change belongs to another table.
  /// Throws `.changeLog(.trimmed)` if changes of the followed table that the loop has not read were deleted from the
  /// log.
  public func acknowledge() async throws {
    let (stored, end, last, isAcknowledged) = state.withLock { $0 }
    guard !isAcknowledged else { return }
    try await consumer.acknowledge(from: stored, to: end, last: last)
    state.withLock { $0.isAcknowledged = true }
  }

  /// Stores the position of one of the batch's changes, so that the changes up to this position are not delivered
  /// again. Does nothing if `trim` has deleted changes after this position. In this case, `acknowledge` later throws,
  /// unless the loop has read the deleted changes before.
  func store(_ position: ChangePosition) async throws {
    let stored = state.withLock { $0.stored }
    do { try await consumer.acknowledge(from: stored, to: position, last: position) } catch let error as SqlError {
      guard error.kind == .changeLog(.trimmed) else { throw error }
      return
    }
    state.withLock { $0.stored = position }
  }
}

/// The changes of a batch, one after another; see ``ChangeBatch/changes``.
public struct BatchChanges<Change: Sendable>: AsyncSequence, Sendable {
  fileprivate let pages: LogPages<Change>?
  fileprivate let rows: LogSnapshot<Change>?

  public func makeAsyncIterator() -> Iterator { Iterator(pages: pages, rows: rows?.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    private let pages: LogPages<Change>?
    private var rows: LogSnapshot<Change>.Iterator?
    private var page: LogPage<Change>?
    /// The items of `page`. Stored separately, so that `nextItem` copies one item and not the whole page.
    private var items: [LogItem<Change>]
    private var delivered = 0

    fileprivate init(pages: LogPages<Change>?, rows: LogSnapshot<Change>.Iterator?) {
      (self.pages, self.rows) = (pages, rows)
      (page, items) = (pages?.first, pages?.first.items ?? [])
    }

    /// Returns the next change; nil after the last change.
    public mutating func next() async throws -> Change? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Change? {
      guard rows == nil else {
        try Task.checkCancellation()
        return try await rows?.next(isolation: actor)?.change.get()
      }
      return try await nextItem(isolation: actor)?.result.get()
    }

    /// Returns the next change in the log, or the error of decoding it; nil after the last change.
    mutating func nextItem(isolation actor: isolated (any Actor)?) async throws -> LogItem<Change>? {
      try Task.checkCancellation()
      while delivered == items.count {
        guard let pages, let page, !page.isLast else { return nil }
        let next = try await pages.consumer.page(after: page.end, upTo: pages.first.snapshotEnd)
        if next.isLast { pages.wereRead(next.last ?? page.end) }
        (self.page, items, delivered) = (next, next.items, 0)
      }
      delivered += 1
      return items[delivered - 1]
    }
  }
}

/// The pages of a batch: the first page, and the consumer that reads the following pages.
private struct LogPages<Change: Sendable>: Sendable {
  let consumer: Consumer<Change>
  let first: LogPage<Change>
  /// A closure that gets the position of the batch's last change when the last page was read. Not called for a batch of
  /// one page.
  let wereRead: @Sendable (ChangePosition) -> Void
}
