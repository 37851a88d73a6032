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
  /// Without `retries`, an error of the closure ends the call. With ``ChangeRetries``, the transaction is rolled back
  /// and tried again after a pause. Later transactions skip a change in quarantine, and store the closure's effects for
  /// the other changes. The same applies to the rows of a new consumer's snapshot. A transaction that misses a deadline
  /// ends the call with `.timeout`, and does not count as an attempt.
  ///
  /// The other parameters are those of ``changes(on:in:as:startingWith:lease:file:line:)``. Throws the errors of the
  /// closure, of ``changes(on:in:since:file:line:)``, and `CancellationError`. Throws `.changeLog(.ownerChanged)` if a
  /// loop over batches owns the consumer. A loop that does not answer within ten seconds, for example in a process that
  /// was killed, loses the consumer.
  public func consume<Model: Sqlable & Sendable>(
    _ name: String, on model: Model.Type, in tableName: String? = nil, startingWith start: ConsumerStart = .rows,
    retries: ChangeRetries? = nil, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SqliteDatabase, LoggedModelChange<Model>) throws -> Void
  ) async throws {
    let run = ConsumingRun(
      steps: ConsumerSteps(name: name, followed: .of(model, in: tableName), start: start), retries: retries, body: body)
    try await consume(run, CallSite(file: file, line: line))
  }

  /// Runs a closure for each logged change of all logged tables, exactly once, until the task is cancelled or the pool
  /// closes.
  ///
  /// ```swift
  /// try await pool.consume("audit") { db, change in
  ///   try Audit(table: change.table, at: change.time).insert().run(db)
  /// }
  /// ```
  ///
  /// The values of a change are ``DynamicRow``s. Includes tables whose log keeps only keys or chosen columns. The
  /// closure must not change rows of any logged table. Otherwise, the call has the behaviour and the errors of
  /// ``consume(_:on:in:startingWith:retries:file:line:_:)``.
  public func consume(
    _ name: String, startingWith start: ConsumerStart = .rows, retries: ChangeRetries? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SqliteDatabase, LoggedChange) throws -> Void
  ) async throws {
    let run = ConsumingRun(
      steps: ConsumerSteps(name: name, followed: .ofAllTables, start: start), retries: retries, body: body)
    try await consume(run, CallSite(file: file, line: line))
  }

  private func consume(_ run: ConsumingRun<some Sendable>, _ callSite: CallSite) async throws {
    try run.retries?.check()
    monitorChangeConsumers()
    let signal = CommitSignal(self, table: ChangeTables.log, columns: [])
    do {
      repeat {
        var isAtEnd = false
        while !isAtEnd {
          try Task.checkCancellation()
          // Read first, because at the end of the log the consumer writes nothing.
          let work = try await perform(.read, at: callSite) { db in
            try db.transaction(.deferred) { try run.nextWork($0) }
          }
          do {
            switch work {
            case .none: isAtEnd = true
            case .owned:
              let lease = run.steps.lease(self, at: callSite)
              guard try await lease.removeDeadOwner(isolation: nil) else { return }
            case .register: try await perform(.write, at: callSite) { db in try run.steps.register(db) }
            case .pause(let milliseconds): try await pause(for: .milliseconds(milliseconds))
            case .changes:
              try await perform(.write, at: callSite) { db in try run.consume(db) }
              isAtEnd = true
            }
          } catch let failure as FailedAttempt {
            guard let retries = run.retries, !failure.isFinal else {
              throw failure.error
            }
            _ = try await note(failure, consumer: run.steps.name, owner: nil, retries, callSite)
          }
        }
      } while await signal.wait(isolation: nil)
    } catch {
      if endsLoops(error) { return }
      throw error
    }
    try Task.checkCancellation()
  }

  /// Counts a failed attempt in the database, and returns the change's record. Throws the closure's error if the
  /// consumer must stop.
  ///
  /// For a loop that owns the consumer, throws `.changeLog` if the loop has lost the consumer or the change. For a
  /// consumer without an owner, returns nil if another call has meanwhile consumed the change or owns the consumer.
  func note(
    _ failure: FailedAttempt, consumer: String, owner: String?, _ retries: ChangeRetries, _ callSite: CallSite
  ) async throws -> QuarantineRecord? {
    guard let subject = failure.subject else { throw failure.error }
    let limit = retries.then == .quarantine ? retries.attempts : nil
    let record: QuarantineRecord? = try await perform(.write, at: callSite) { db in
      // The quarantine counts only the attempts of the consumer's owner.
      let isOwned = try ConsumerRecord(named: consumer, in: db)?.ownership.isOwned(by: owner) == true
      let record =
        isOwned
        ? try QuarantineRecord.note(failure.error, of: subject, consumer: consumer, quarantiningAfter: limit, in: db)
        : nil
      guard owner != nil, record == nil else { return record }
      throw try isOwned ? LogState(db).lossError(ofChangeAt: subject.position) : ConsumerRecord.ownerChanged(consumer)
    }
    // The count includes the attempts of earlier calls. The consumer stops each time the count reaches a multiple of
    // `attempts`.
    if retries.then == .stop, let record, record.attempts % retries.attempts == 0 { throw failure.error }
    return record
  }
}

/// The transactions of one call of ``SqlitePool/consume(_:on:in:startingWith:retries:file:line:_:)``.
private struct ConsumingRun<Element: Sendable>: Sendable {
  let steps: ConsumerSteps<Element>
  let retries: ChangeRetries?
  let body: @Sendable (SqliteDatabase, Element) throws -> Void

  private var name: String { steps.name }
  private var followed: FollowedChanges<Element> { steps.followed }

  enum Work {
    case none
    case register
    case owned
    /// The consumer must wait for a number of milliseconds before it tries again.
    case pause(Int)
    /// The consumer is new, or the log has changes of the followed table after the consumer's position, or many changes
    /// of other tables.
    case changes
  }

  func nextWork(_ db: SqliteDatabase) throws -> Work {
    let (work, query) = try steps.nextWork(db)
    let changesAfter: ChangePosition?
    switch work {
    case .register: return .register
    case .owned: return .owned
    case .rows: changesAfter = nil
    case .changes(let position):
      guard let query, steps.isDue(try query.page(in: db), after: position) else { return .none }
      changesAfter = position
    }
    if let retries {
      let failed =
        try changesAfter.map { try QuarantineRecord.changes(of: name, after: $0, in: db).values }
        ?? QuarantineRecord.rows(of: name, in: db).values
      let now = ConsumerRecord.now
      let pauses = failed.filter { !$0.isQuarantined }.map { $0.pause(retries, now: now) }
      if let longest = pauses.max(), longest > 0 { return .pause(longest) }
    }
    return .changes
  }

  func consume(_ db: SqliteDatabase) throws {
    let record = try ConsumerRecord.known(name, of: followed.table, startingAt: steps.start, in: db)
    guard record.ownership.isOwned(by: nil) else { throw ConsumerRecord.ownerChanged(name) }
    let state = try LogState(db)
    if record.isNew {
      let failed = try QuarantineRecord.rows(of: name, in: db)
      try followed.forEachRow(db, state.end) { row in
        try attempt(db, row.change, failed) { .row(row.values) }
      }
    } else {
      let failed = try QuarantineRecord.changes(of: name, after: record.position, in: db)
      var page = LogPage<Element>(end: record.position, isLast: false, snapshotEnd: state.end)
      while !page.isLast {
        // For each page, check that the log still has the changes after `page.end`, because the closure can trim the
        // log.
        page = try followed.source.page(after: page.end, .consumer, upTo: state.end, in: db)
        for item in page.items {
          try attempt(db, item.result, failed, canRetry: !item.lacksColumn) { .change(item.position) }
        }
      }
    }
    // The origin is `.transaction`: the closure might have logged changes of other tables, and trimmed the log up to
    // those changes.
    try ConsumerRecord.move(name, from: record.position, to: state.end, .transaction, owner: nil, in: db)
  }

  private func attempt(
    _ db: SqliteDatabase, _ change: Result<Element, any Error>,
    _ failed: [FailedAttempt.Subject: QuarantineRecord], canRetry: Bool = true,
    _ subject: () -> FailedAttempt.Subject
  ) throws {
    if !failed.isEmpty, failed[subject()]?.isQuarantined == true { return }
    do { try body(db, change.get()) } catch {
      guard retries != nil, canRetry else { throw error }
      throw try FailedAttempt(subject: subject(), error: error, in: db)
    }
  }
}
