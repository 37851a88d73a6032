import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Runs a closure for each logged change of a model's table, exactly once, until the task is cancelled or the pool
  /// closes.
  ///
  /// ```swift
  /// try await pool.consume("totals", on: Bicycle.self) { db, change in
  ///   if case .insert(let bike) = change.row { try Total.updateAll(Total.count.set(to: Total.count + 1)).run(db) }
  /// }
  /// ```
  ///
  /// The closure's changes and the consumer's position are stored in one transaction. If the closure throws or the
  /// process ends, neither is stored, and the next call starts with the same change. One transaction has the changes of
  /// all commits since the previous transaction. Several calls with the same name, in any processes, share the changes.
  ///
  /// The closure must not change the rows of the followed table: these changes are logged too, and the closure would
  /// run for them again. A closure can run twice if its first transaction was rolled back.
  ///
  /// The parameters are those of ``changes(on:in:as:startingWith:lease:file:line:)``. Throws the errors of the closure,
  /// of ``changes(on:in:since:file:line:)``, and `CancellationError`. Throws `.changeLog(.ownerChanged)` if a loop over
  /// batches owns the consumer.
  public func consume<Model: Sqlable & Sendable>(
    _ name: String, on model: Model.Type, in tableName: String? = nil, startingWith start: ConsumerStart = .rows,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SqliteDatabase, LoggedModelChange<Model>) throws -> Void
  ) async throws {
    let info = TableInfo.unchecked(model)
    let run = ConsumingRun<Model>(name: name, table: tableName.map(info.named) ?? info, start: start, body: body)
    let signal = CommitSignal(self, table: ChangeTables.log, columns: [])
    do {
      repeat {
        try Task.checkCancellation()
        // A read first: at the end of the log, the consumer does not write.
        let hasChanges = try await perform(.read, at: CallSite(file: file, line: line)) { db in
          try db.transaction(.deferred) { try run.hasChanges($0) }
        }
        if hasChanges {
          try await perform(.write, at: CallSite(file: file, line: line)) { db in try run.consume(db) }
        }
      } while await signal.wait(isolation: nil)
    } catch {
      if endsLoops(error) { return }
      throw error
    }
    try Task.checkCancellation()
  }
}

/// The transactions of one call of ``SqlitePool/consume(_:on:in:startingWith:file:line:_:)``.
private struct ConsumingRun<Model: Sqlable & Sendable>: Sendable {
  let name: String
  let table: TableInfo
  let start: ConsumerStart
  let source: LogSource<LoggedModelChange<Model>>
  let body: @Sendable (SqliteDatabase, LoggedModelChange<Model>) throws -> Void

  init(
    name: String, table: TableInfo, start: ConsumerStart,
    body: @escaping @Sendable (SqliteDatabase, LoggedModelChange<Model>) throws -> Void
  ) {
    (self.name, self.table, self.start, self.body) = (name, table, start, body)
    source = LogSource(table)
  }

  /// True if the consumer is new, or if the log has changes of the table, or many changes, after its position.
  func hasChanges(_ db: SqliteDatabase) throws -> Bool {
    guard let record = try ConsumerRecord(named: name, in: db), !record.isNew else { return true }
    let page = try source.page(after: record.position, in: db)
    return !page.elements.isEmpty || page.end.number - record.position.number >= ConsumerRecord.longestGap
  }

  func consume(_ db: SqliteDatabase) throws {
    let record = try ConsumerRecord.known(name, startingAt: start, in: db)
    guard record.owner == nil else { throw ConsumerRecord.ownerChanged(name) }
    let state = try LogState(db)
    if record.isNew {
      try Model.read().in(table.name).forEach(db) { model in
        try body(db, LoggedModelChange(position: state.end, time: state.end.date, row: .insert(model)))
        return .continue
      }
    } else {
      var page = LogPage<LoggedModelChange<Model>>(end: record.position, isLast: false, snapshotEnd: state.end)
      while !page.isLast {
        page = try source.page(after: page.end, upTo: state.end, in: db)
        for change in page.elements { try body(db, change) }
      }
    }
    try ConsumerRecord.move(name, from: record.position, to: state.end, owner: nil, in: db)
  }
}
