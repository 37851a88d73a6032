#if Cluster
import Sqlable
import SqlableChanges

extension SqliteCluster {
  /// Runs a closure for each logged change of a model's table, exactly once, until the task is cancelled or the client
  /// closes.
  ///
  /// ```swift
  /// try await cluster.consume("totals", on: Bicycle.self) { tx, change in
  ///   if case .insert = change.row { try await Total.updateAll(Total.count.set(to: Total.count + 1)).run(tx) }
  /// }
  /// ```
  ///
  /// The closure's changes and the consumer's position are stored in one transaction of the cluster. One transaction
  /// covers at most 1,000 logged changes. The rows of a new consumer's snapshot belong to one transaction: start a
  /// consumer of a large table with ``ConsumerStart/now`` or ``ConsumerStart/log``. If the closure throws or the
  /// process ends, neither the closure's changes nor the position are stored, and the next call starts with the same
  /// change. After a commit without an answer, the call reads the position, which shows whether the commit is stored.
  /// Several calls with the same name, in any programs, share the changes.
  ///
  /// The closure must not change the rows of the followed table, and should have no effects outside the database: it
  /// runs again if its transaction was not stored.
  ///
  /// An error of the closure ends the call. Also throws the errors of ``changes(on:in:since:file:line:)``, those of
  /// `transaction`, and `CancellationError`. Throws `.changeLog(.ownerChanged)` if a loop over batches owns the
  /// consumer. If this loop does not answer within ten seconds, it loses the consumer, and the call continues. Throws
  /// `.misuse` inside a transaction.
  public func consume<Model: Sqlable & Sendable>(
    _ name: String, on model: Model.Type, in tableName: String? = nil, startingWith start: ConsumerStart = .rows,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ClusterTransaction, LoggedModelChange<Model>) async throws -> Void
  ) async throws {
    let steps = ConsumerSteps(name: name, followed: .of(model, in: tableName), start: start)
    try await consume(steps, CallSite(file: file, line: line), body)
  }

  /// Runs a closure for each logged change of all logged tables, exactly once; see
  /// ``consume(_:on:in:startingWith:file:line:_:)``.
  public func consume(
    _ name: String, startingWith start: ConsumerStart = .rows, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ClusterTransaction, LoggedChange) async throws -> Void
  ) async throws {
    let steps = ConsumerSteps(name: name, followed: .ofAllTables, start: start)
    try await consume(steps, CallSite(file: file, line: line), body)
  }

  private func consume<Element: Sendable>(
    _ steps: ConsumerSteps<Element>, _ callSite: CallSite,
    _ body: @escaping @Sendable (ClusterTransaction, Element) async throws -> Void
  ) async throws {
    guard current == nil else { throw SqlError.misuse("a consumer of the change log can't run inside a transaction") }
    let signal = logSignal(table: LogMark.logTable, columns: [])
    let part = LogPart(consumer: steps.name)
    do {
      repeat {
        var isAtEnd = false
        while !isAtEnd {
          try Task.checkCancellation()
          // Read before writing, because a consumer at the end of the log writes nothing.
          let (work, page) = try await readLogPage(part, at: callSite) { db in try steps.nextWork(db) }
          switch work {
          case .register: try await writeLog(part, at: callSite) { db in try steps.register(db) }
          case .owned:
            guard try await steps.lease(self, at: callSite).removeDeadOwner(isolation: nil) else { return }
          case .changes(let position) where page.map { steps.isDue($0, after: position) } != true: isAtEnd = true
          case .changes, .rows:
            try await TracedCall.$site.withValue(callSite) {
              try await decided {
                try await transaction(enforcesForeignKeys: true, before: Deadline.after(configuration.timeout)) { tx in
                  try await consume(steps, tx, body)
                }
              }
            }
          }
        }
      } while await signal.wait(isolation: nil)
    } catch {
      if endsLoops(error) { return }
      throw error
    }
    try Task.checkCancellation()
  }

  /// Runs the closure for the rows or for the next page of changes, and stores the position in the same transaction.
  private func consume<Element: Sendable>(
    _ steps: ConsumerSteps<Element>, _ tx: ClusterTransaction,
    _ body: @Sendable (ClusterTransaction, Element) async throws -> Void
  ) async throws {
    let part = LogPart(consumer: steps.name)
    try await logCopies.withCopy(of: tx, part) { copy in
      // Another call might have changed the consumer since the read.
      let (work, query) = try steps.nextWork(copy.db)
      let (start, end): (ChangePosition, ChangePosition)
      switch work {
      case .register, .owned: return
      case .rows(let position):
        (start, end) = (position, try LogState(copy.db).end)
        for rows in try steps.followed.rows(copy.db, end) {
          for row in try await tx.run(rows) { try await body(tx, row.change.get()) }
        }
      case .changes(let position):
        guard let query, let rows = query.rows else { return }
        let page = query.page(of: try await tx.run(rows))
        for item in page.items { try await body(tx, item.result.get()) }
        (start, end) = (position, page.end)
      }
      // Fill the copy again, because the closure might have logged changes of other tables, and trimmed the log.
      try await copy.fill(LogPart(positions: [end], consumer: steps.name), from: tx)
      let move = try copy.storing(steps.name) { db in try steps.move(from: start, to: end, in: db) }
      if let statement = move.statement { try await tx.execute(statement) }
    }
  }

  /// Calls `body` up to three times, until its outcome is known. Each call of `body` checks whether the writes of the
  /// previous call are stored.
  func decided<Value>(_ body: () async throws -> Value) async throws -> Value {
    for _ in 0..<2 {
      do { return try await body() } catch let error as SqlError {
        guard error.kind == .outcomeUnknown else { throw error }
      }
    }
    return try await body()
  }
}
#endif
