import SqlableCore

/// A reader that returns the logged changes of all tables, page by page. The reader neither waits nor writes.
package final class LogReader: Sendable {
  private let source = LogSource<LoggedChange>()

  package init() {}

  /// Reads the next changes in one snapshot.
  ///
  /// - Parameter position: The position after which the page begins; nil for the first change in the log.
  package func page(after position: ChangePosition?, in db: SqliteDatabase) throws
    -> (changes: [LoggedChange], end: ChangePosition, isLast: Bool)
  {
    try db.transaction(.deferred) { db in
      let page = try position.map { try source.page(after: $0, in: db) } ?? firstPage(db)
      return (try page.elements, page.end, page.isLast)
    }
  }

  private func firstPage(_ db: SqliteDatabase) throws -> LogPage<LoggedChange> {
    let state = try LogState(db)
    let start = ChangePosition(history: state.end.history, number: try LogState.first(in: db) - 1, time: 0)
    return try source.page(after: start, .transaction, in: db)
  }

  /// Returns the position of a consumer; nil if the database does not know the consumer. If changes after this position
  /// were deleted from the log, returns the start of the log instead, or throws if the consumer follows the table of a
  /// deleted change.
  package func position(ofConsumer name: String, in db: SqliteDatabase) throws -> ChangePosition? {
    try db.transaction(.deferred) { db in
      let state = try LogState(db)
      guard let record = try ConsumerRecord(named: name, in: db) else { return nil }
      try state.check(record.position, of: record.table, isStored: true, in: db)
      return try max(record.position, state.start(of: nil, in: db))
    }
  }
}
