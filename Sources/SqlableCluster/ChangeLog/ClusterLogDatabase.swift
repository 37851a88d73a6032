#if Cluster
import Sqlable
import SqlableChanges

extension SqliteCluster: ConsumerDatabase {
  package func readLog<Value: Sendable>(
    _ part: LogPart, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await TracedCall.$site.withValue(callSite) {
      try await snapshot { tx in
        try await logCopies.withCopy(of: tx, part) { copy in try body(copy.db) }
      }
    }
  }

  package func readLogPage<Value: Sendable, Element: Sendable>(
    _ part: LogPart, at callSite: CallSite,
    _ body: @escaping @Sendable (SqliteDatabase) throws -> (value: Value, query: LogQuery<Element>?)
  ) async throws -> (value: Value, page: LogPage<Element>?) {
    // Inside a transaction, the loop would read uncommitted changes. The loop would also wait for later changes while
    // the transaction holds the write lock.
    guard current == nil else {
      throw SqlError.misuse("a loop over the change log can't run inside a transaction of the cluster")
    }
    return try await TracedCall.$site.withValue(callSite) {
      try await snapshot { tx in
        try await logCopies.withCopy(of: tx, part) { copy in
          let (value, query) = try body(copy.db)
          guard let query else { return (value, nil) }
          guard let rows = query.rows else { return (value, query.page(of: [])) }
          return (value, query.page(of: try await tx.run(rows)))
        }
      }
    }
  }

  package func writeLog<Value: Sendable>(
    _ part: LogPart, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    // A savepoint that is rolled back later would undo a position that the loop counts as stored.
    guard current == nil else {
      throw SqlError.misuse("a consumer of the change log can't store its position inside another transaction")
    }
    return try await TracedCall.$site.withValue(callSite) {
      try await decided {
        try await transaction(enforcesForeignKeys: true, before: Deadline.after(configuration.timeout)) { tx in
          try await logCopies.withCopy(of: tx, part) { copy in
            let (value, statement) = try copy.storing(part.consumer, body)
            if let statement { try await tx.execute(statement) }
            return value
          }
        }
      }
    }
  }

  package func snapshot<Element: Sendable>(
    of followed: FollowedChanges<Element>, at callSite: CallSite,
    note: @escaping @Sendable (_ end: ChangePosition, _ last: ChangePosition?) -> Void
  ) -> LogSnapshot<Element> {
    LogSnapshot(
      .call { [self] in
        try await TracedCall.$site.withValue(callSite) {
          try await snapshot { tx in
            try await logCopies.withCopy(of: tx, LogPart()) { copy in
              let end = try LogState(copy.db).end
              let last = try await tx.run(followed.source.lastQuery(in: copy.db))
              note(end, try followed.source.last(last, in: copy.db))
              var all: [SnapshotRow<Element>] = []
              for rows in try followed.rows(copy.db, end) { all += try await tx.run(rows) }
              return all
            }
          }
        }
      })
  }

  package func logSignal(table: String, columns: [String]) -> CommitSignal {
    feed.logSignal(self, table: table, columns: columns)
  }

  package func endsLoops(_ error: any Error) -> Bool { (error as? SqlError)?.kind == .closed }

  package var isOpen: Bool { feed.isOpen }

  /// Does nothing: the health of a cluster's client does not include consumers.
  package func monitorChangeConsumers() {}

  /// Registers nothing and returns nil, because a closing client can't write anymore. The next owner of a consumer must
  /// wait until its own claim expires.
  package func addLastLogWork(_ body: @escaping @Sendable (SqliteDatabase) throws -> Void) -> Int? { nil }

  package func removeLastWork(_ token: Int) {}
}
#endif
