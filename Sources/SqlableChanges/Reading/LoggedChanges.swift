import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Returns the position of the last logged change without blocking the thread; see
  /// ``SqlDatabase/changePosition(file:line:)``.
  public func changePosition(file: StaticString = #fileID, line: UInt = #line) async throws -> ChangePosition {
    try await read(file: file, line: line) { db in try LogState(db).end }
  }

  /// Returns the logged changes of all tables after a position: first the changes until now, then each later change.
  ///
  /// ```swift
  /// for try await change in pool.changes(since: position) {
  ///   try await send(change.new, id: change.position.description)
  /// }
  /// ```
  ///
  /// The sequence delivers each change once, in the order of commits and of changes in a commit, including the commits
  /// of other processes. A loop can begin at the position of any change, even after a restart of the program. About
  /// 1,000 changes are in memory.
  ///
  /// A loop at the end of the log waits for the next commit like a live result, and reads nothing in between. Changes
  /// of other processes are noticed if the pool's ``PoolConfiguration/pollInterval`` is not nil.
  ///
  /// The sequence ends when the pool closes. It throws `.changeLog(.otherHistory)` for a position of another database,
  /// or of a change that a restore has undone. It throws `.changeLog(.trimmed)` if later changes were deleted from the
  /// log. `.schema(.mismatch)` means that a table has changed: run ``ChangeLog/create(_:file:line:)-(SqlDatabase,_,_)``
  /// again. It also throws the errors of reading, and `CancellationError`. After an error, the loop ends.
  public func changes(
    since position: ChangePosition, file: StaticString = #fileID, line: UInt = #line
  ) -> LoggedChanges<LoggedChange> {
    LoggedChanges(self, LogSource(), since: position, CallSite(file: file, line: line))
  }

  /// Returns the logged changes of a model's table after a position, as structs.
  ///
  /// ```swift
  /// for try await change in pool.changes(on: Bicycle.self, since: position) {
  ///   switch change.row {
  ///   case .insert(let bike): index.add(bike)
  ///   case .update(let old, let new): index.replace(old, with: new)
  ///   case .delete(let bike): index.remove(bike)
  ///   }
  /// }
  /// ```
  ///
  /// If a change was logged before a column was added to the model, the struct has the column's default. `tableName`
  /// names another table with the model's layout. Throws the errors of ``changes(since:file:line:)``, `.decoding` for a
  /// value that does not fit the model, and `.misuse` if the table has no log, or if the log does not keep a column of
  /// the model.
  public func changes<Model: Sqlable & Sendable>(
    on model: Model.Type, in tableName: String? = nil, since position: ChangePosition, file: StaticString = #fileID,
    line: UInt = #line
  ) -> LoggedChanges<LoggedModelChange<Model>> {
    let table = TableInfo.unchecked(model)
    let source = LogSource<LoggedModelChange<Model>>(tableName.map(table.named) ?? table)
    return LoggedChanges(self, source, since: position, CallSite(file: file, line: line))
  }
}

/// A sequence of logged changes; see ``SqlitePool/changes(since:file:line:)``.
///
/// Each loop over the sequence starts at the same position.
public struct LoggedChanges<Element: Sendable>: AsyncSequence, Sendable {
  private let database: any LogDatabase
  private let source: LogSource<Element>
  private let start: ChangePosition
  private let callSite: CallSite

  package init(
    _ database: any LogDatabase, _ source: LogSource<Element>, since start: ChangePosition, _ callSite: CallSite
  ) {
    (self.database, self.source, self.start, self.callSite) = (database, source, start, callSite)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(loop: LogLoop(database, source, callSite), position: start) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let loop: LogLoop<Element>
    fileprivate var position: ChangePosition
    private var received: [LogItem<Element>] = []
    private var delivered = 0
    private var isEnded = false

    fileprivate init(loop: LogLoop<Element>, position: ChangePosition) {
      (self.loop, self.position) = (loop, position)
    }

    /// Returns the next change. Returns nil after an error, and after the pool or the cluster's client was closed.
    public mutating func next() async throws -> Element? { try await next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      guard !isEnded else { return nil }
      do {
        try Task.checkCancellation()
        if delivered == received.count, let page = try await loop.next(after: position, isolation: actor) {
          (received, delivered, position) = (page.items, 0, page.end)
        }
        if delivered < received.count {
          delivered += 1
          return try received[delivered - 1].result.get()
        }
      } catch {
        isEnded = true
        throw error
      }
      isEnded = true
      return nil
    }
  }
}

/// The reads of one loop over the log, and its wait for commits.
final class LogLoop<Element: Sendable>: Sendable {
  private let database: any LogDatabase
  private let source: LogSource<Element>
  private let callSite: CallSite
  private let signal: CommitSignal

  init(_ database: any LogDatabase, _ source: LogSource<Element>, _ callSite: CallSite) {
    (self.database, self.source, self.callSite) = (database, source, callSite)
    signal = database.logSignal(table: ChangeTables.log, columns: [])
  }

  /// Waits for a change, and returns the next page that has changes; nil if the database was closed.
  func next(after position: ChangePosition, isolation actor: isolated (any Actor)?) async throws -> LogPage<Element>? {
    var position = position
    while true {
      let next: LogPage<Element>
      do {
        next = try await database.logPage(LogPart(positions: [position]), at: callSite) { [source, position] db in
          try source.query(after: position, in: db)
        }
      } catch {
        if database.endsLoops(error) { return nil }
        throw error
      }
      if !next.items.isEmpty { return next }
      position = next.end
      guard next.isLast else { continue }
      guard await signal.wait(isolation: actor) else {
        try Task.checkCancellation()
        return nil
      }
    }
  }
}
