import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Runs an async closure for each logged change of a model's table, at least once, until the task is cancelled or the
  /// pool closes.
  ///
  /// ```swift
  /// let retries = ChangeRetries(attempts: 8, then: .quarantine)
  /// try await pool.deliver("webhook", on: Bicycle.self, retries: retries) { change in
  ///   try await post(change.row, id: change.position.description)
  /// }
  /// ```
  ///
  /// The closure runs for one change after another. The position is stored after a change if a second has passed since
  /// the last time, before the first retry, and at the end of a batch. After the end of the process or of the call,
  /// some changes are thus delivered again. Send each change with its position, so that the receiver can ignore a
  /// change that it already has. The rows of a new consumer's snapshot have one position, and all of them are delivered
  /// again if the process ends before the last row is delivered.
  ///
  /// Without `retries`, an error of the closure ends the call. With ``ChangeRetries``, the closure runs again for the
  /// same change after a pause. A change in quarantine is not delivered again, and later changes follow, also those of
  /// the same row. The same applies to the rows of a new consumer's snapshot.
  ///
  /// The other parameters are those of ``changes(on:in:as:startingWith:lease:file:line:)``. Throws the errors of the
  /// closure and of that sequence, and `CancellationError`.
  public func deliver<Model: Sqlable & Sendable>(
    _ name: String, on model: Model.Type, in tableName: String? = nil, startingWith start: ConsumerStart = .rows,
    lease: Duration = .seconds(10), retries: ChangeRetries? = nil, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (LoggedModelChange<Model>) async throws -> Void
  ) async throws {
    let batches = changes(
      on: model, in: tableName, as: name, startingWith: start, lease: lease, file: file, line: line)
    try await deliver(batches, retries, body)
  }

  /// Runs an async closure for each logged change of all logged tables, at least once, until the task is cancelled or
  /// the pool closes.
  ///
  /// ```swift
  /// try await pool.deliver("broker") { change in try await publish(change.table, change.change, change.new) }
  /// ```
  ///
  /// The values of a change are ``DynamicRow``s. Includes tables whose log keeps only keys or chosen columns.
  /// Otherwise, the call has the behaviour and the errors of
  /// ``deliver(_:on:in:startingWith:lease:retries:file:line:_:)``.
  public func deliver(
    _ name: String, startingWith start: ConsumerStart = .rows, lease: Duration = .seconds(10),
    retries: ChangeRetries? = nil, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (LoggedChange) async throws -> Void
  ) async throws {
    let batches = changes(as: name, startingWith: start, lease: lease, file: file, line: line)
    try await deliver(batches, retries, body)
  }

  private func deliver<Element: Sendable>(
    _ batches: ChangeBatches<Element>, _ retries: ChangeRetries?,
    _ body: @escaping @Sendable (Element) async throws -> Void
  ) async throws {
    try retries?.check()
    let delivery = Delivery(pool: self, batches: batches, retries: retries, body: body)
    do {
      for try await batch in batches {
        try await delivery.deliver(batch)
        try await batch.acknowledge()
      }
    } catch {
      if endsLoops(error) { return }
      throw error
    }
    try Task.checkCancellation()
  }
}

/// The attempts of one call of ``SqlitePool/deliver(_:on:in:startingWith:lease:retries:file:line:_:)``.
private struct Delivery<Element: Sendable>: Sendable {
  let pool: SqlitePool
  let batches: ChangeBatches<Element>
  let retries: ChangeRetries?
  let body: @Sendable (Element) async throws -> Void

  private var name: String { batches.name }
  private var callSite: CallSite { batches.callSite }

  func deliver(_ batch: ChangeBatch<Element>) async throws {
    if let rows = batch.rows {
      try await deliver(rows: rows, batch.consumer)
    } else {
      try await deliver(changesOf: batch)
    }
  }

  private func deliver(rows: LogSnapshot<Element>, _ consumer: Consumer<Element>) async throws {
    let failed = try await pool.perform(.read, at: callSite) { [name] db in
      try QuarantineRecord.rows(of: name, in: db)
    }
    for try await row in rows {
      try await deliver(row.change, consumer, failed) {
        .row(row.values)
      } beforeFailing: {
      }
    }
  }

  private func deliver(changesOf batch: ChangeBatch<Element>) async throws {
    let failed = try await pool.perform(.read, at: callSite) { [name, start = batch.start] db in
      try QuarantineRecord.changes(of: name, after: start, in: db)
    }
    var items = batch.changes.makeAsyncIterator()
    var (stored, delivered) = (ContinuousClock.now, ChangePosition?.none)
    while let item = try await items.nextItem(isolation: nil) {
      try await deliver(item.result, batch.consumer, failed, canRetry: !item.lacksColumn) {
        .change(item.position)
      } beforeFailing: {
        // Store the position of the delivered changes now, so that they are not delivered again. The failing change
        // might take hours of attempts, or end the call.
        if let position = delivered.take() { try await batch.store(position) }
      }
      delivered = item.position
      // A backlog is one batch, and its delivery can take hours, so store the position every second. Storing also shows
      // whether another loop owns the consumer.
      guard stored.duration(to: .now) >= .seconds(1) else { continue }
      try await batch.store(item.position)
      (stored, delivered) = (.now, nil)
    }
  }

  private func deliver(
    _ change: Result<Element, any Error>, _ consumer: Consumer<Element>,
    _ failed: [FailedAttempt.Subject: QuarantineRecord], canRetry: Bool = true,
    _ subject: () -> FailedAttempt.Subject, beforeFailing store: () async throws -> Void
  ) async throws {
    var record = failed.isEmpty ? nil : failed[subject()]
    while record?.isQuarantined != true {
      if let record, let retries {
        let pause = Duration.milliseconds(record.pause(retries, now: ConsumerRecord.now))
        // A negative number is a row of the snapshot. The loop over the snapshot runs inside a call of the pool, so the
        // pause must notice that the pool is closing.
        try await pool.pause(for: pause, inCall: record.number < 0)
      }
      do { try await body(change.get()) } catch {
        guard !FailedAttempt(subject: nil, error: error).isFinal else { throw error }
        try await store()
        guard let retries, canRetry else { throw error }
        let failure = FailedAttempt(subject: subject(), error: error)
        let owner = consumer.owner
        guard let noted = try await pool.note(failure, consumer: name, owner: owner, retries, callSite) else {
          throw ConsumerRecord.ownerChanged(name)
        }
        record = noted
        continue
      }
      // Remove the record before the position is stored, because ``ChangeConsumer/error`` shows the error of any record
      // that is left.
      if let record { try await consumer.removeTried(record.number) }
      return
    }
  }
}
