import SqlableCore
import SqlablePool

/// A database with a change log: a pool, or the client of a cluster. Loops over the log's changes read the log in
/// steps.
///
/// A step is a closure on a handle. A pool runs the step on one of its handles. A cluster runs the step on a
/// ``LogCopy``, in a transaction of the cluster.
package protocol LogDatabase: Sendable {
  /// Calls `body` in a read transaction.
  func readLog<Value: Sendable>(
    _ part: LogPart, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value
  /// Calls `body` in a read transaction. `body` returns a query, and the page of this query is read in the same
  /// snapshot.
  func readLogPage<Value: Sendable, Element: Sendable>(
    _ part: LogPart, at callSite: CallSite,
    _ body: @escaping @Sendable (SqliteDatabase) throws -> (value: Value, query: LogQuery<Element>?)
  ) async throws -> (value: Value, page: LogPage<Element>?)
  /// Returns a signal for one waiting task. A commit sets the signal if the commit might have changed rows of `table`,
  /// one of the change log's tables.
  func logSignal(table: String, columns: [String]) -> CommitSignal
  /// True if the error means that the database was closed. Loops then end without an error.
  func endsLoops(_ error: any Error) -> Bool
}

extension LogDatabase {
  /// Calls `body`, and reads the page of the query that `body` returns.
  func logPage<Element: Sendable>(
    _ part: LogPart, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> LogQuery<Element>
  ) async throws -> LogPage<Element> {
    let (query, page) = try await readLogPage(part, at: callSite) { db in
      let query = try body(db)
      return (value: query, query: query)
    }
    return page ?? query.page(of: [])
  }
}

/// The rows of the log that a step reads; see ``LogDatabase``. Only a ``LogCopy`` uses a `LogPart`, because a handle
/// can read every row.
package struct LogPart: Sendable {
  /// The positions whose changes the step looks for in the log.
  var positions: [ChangePosition] = []
  /// The consumer whose row and position the step reads.
  package var consumer: String?

  package init(positions: [ChangePosition] = [], consumer: String? = nil) {
    (self.positions, self.consumer) = (positions, consumer)
  }
}

extension SqlitePool: LogDatabase {
  package func readLog<Value: Sendable>(
    _ part: LogPart, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.read, at: callSite) { db in try db.transaction(.deferred) { try body($0) } }
  }

  package func readLogPage<Value: Sendable, Element: Sendable>(
    _ part: LogPart, at callSite: CallSite,
    _ body: @escaping @Sendable (SqliteDatabase) throws -> (value: Value, query: LogQuery<Element>?)
  ) async throws -> (value: Value, page: LogPage<Element>?) {
    try await readLog(part, at: callSite) { db in
      let (value, query) = try body(db)
      return (value, try query?.page(in: db))
    }
  }

  package func logSignal(table: String, columns: [String]) -> CommitSignal {
    CommitSignal(self, table: table, columns: columns)
  }
}
