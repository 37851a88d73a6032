import SqlableCore

extension SqliteDatabase {
  /// Returns the next logged changes of all tables after a position, and the position after these changes.
  ///
  /// ```swift
  /// let (changes, end) = try db.changes(since: position)
  /// // SELECT … FROM main."sqlable_changes" WHERE "seq" > ? … ORDER BY "seq" LIMIT 1000
  /// ```
  ///
  /// Returns at most 1,000 changes. An empty array means that the log has no later change. The next call continues at
  /// the returned position. Throws the errors of a pool's `changes(since:)`. If a change can't be decoded, a call
  /// returns the changes before it, and the next call throws `.decoding`. Blocks the thread. In `async` code, use the
  /// sequence of a pool.
  public func changes(
    since position: ChangePosition, file: StaticString = #fileID, line: UInt = #line
  ) throws -> (changes: [LoggedChange], position: ChangePosition) {
    try withTransaction(.deferred, file: file, line: line) { db in
      try LogSource<LoggedChange>().changes(since: position, \.position, in: db)
    }
  }

  /// Returns the next logged changes of a model's table after a position, and the position after these changes.
  ///
  /// ```swift
  /// let (changes, end) = try db.changes(on: Bicycle.self, since: position)
  /// for change in changes { if case .delete(let bike) = change.row { index.remove(bike) } }
  /// ```
  ///
  /// `tableName` names another table with the model's layout. In all other respects the method works like
  /// ``changes(since:file:line:)``. It also throws `.misuse` if the table has no log, or if the log does not keep a
  /// column of the model.
  public func changes<Model: Sqlable & Sendable>(
    on model: Model.Type, in tableName: String? = nil, since position: ChangePosition, file: StaticString = #fileID,
    line: UInt = #line
  ) throws -> (changes: [LoggedModelChange<Model>], position: ChangePosition) {
    let table = TableInfo.unchecked(model)
    let source = LogSource<LoggedModelChange<Model>>(tableName.map(table.named) ?? table)
    return try withTransaction(.deferred, file: file, line: line) { db in
      try source.changes(since: position, \.position, in: db)
    }
  }
}

extension LogSource {
  /// Returns the next changes before the first change that can't be decoded. Throws the error of this change if no
  /// other change precedes it.
  fileprivate func changes(
    since start: ChangePosition, _ position: (Element) -> ChangePosition, in db: SqliteDatabase
  ) throws -> (changes: [Element], position: ChangePosition) {
    var page = try page(after: start, in: db)
    while page.items.isEmpty, !page.isLast { page = try self.page(after: page.end, .transaction, in: db) }
    var changes: [Element] = []
    for item in page.items {
      do { changes.append(try item.result.get()) } catch {
        guard let last = changes.last else { throw error }
        return (changes, position(last))
      }
    }
    return (changes, page.end)
  }
}
