import SqlableCore
import SqlablePool

/// A database that stores the positions of consumers of its change log: a pool, or the client of a cluster.
package protocol ConsumerDatabase: LogDatabase {
  /// Calls `body` in a writing transaction. In the log's tables, `body` may change only the row of the consumer that
  /// `part` names. A cluster calls `body` again if the outcome of the commit is unknown.
  func writeLog<Value: Sendable>(
    _ part: LogPart, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value
  /// Returns the rows of the followed tables in one snapshot, as inserts. Before the first row, calls `note` with the
  /// end of the snapshot's log, and with the last logged change of the followed tables.
  func snapshot<Element: Sendable>(
    of followed: FollowedChanges<Element>, at callSite: CallSite,
    note: @escaping @Sendable (_ end: ChangePosition, _ last: ChangePosition?) -> Void
  ) -> LogSnapshot<Element>
  var isOpen: Bool { get }
  /// Starts the monitoring of consumers. Called when a consumer starts.
  func monitorChangeConsumers()
  /// Registers a closure that the database runs when it closes. Returns a token that removes the closure; nil if the
  /// database runs no such closures.
  func addLastLogWork(_ body: @escaping @Sendable (SqliteDatabase) throws -> Void) -> Int?
  func removeLastWork(_ token: Int)
}

extension SqlitePool: ConsumerDatabase {
  package func writeLog<Value: Sendable>(
    _ part: LogPart, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.write, at: callSite, body)
  }

  package func snapshot<Element: Sendable>(
    of followed: FollowedChanges<Element>, at callSite: CallSite,
    note: @escaping @Sendable (_ end: ChangePosition, _ last: ChangePosition?) -> Void
  ) -> LogSnapshot<Element> {
    LogSnapshot(
      .pool(
        PoolRows(pool: self, callSite: callSite) { db, body in
          try db.transaction(.deferred) { db in
            let end = try LogState(db).end
            note(end, try followed.source.last(followed.source.lastQuery(in: db).run(db), in: db))
            try followed.forEachRow(db, end, body)
          }
        }))
  }

  package func addLastLogWork(_ body: @escaping @Sendable (SqliteDatabase) throws -> Void) -> Int? {
    addLastWork(body)
  }
}
