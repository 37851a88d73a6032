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
  /// The closure runs for one change after another. The position is stored after the changes of all commits since the
  /// previous position: after the end of the process, some changes are delivered again. Give a receiver the position of
  /// a change, so that the receiver can ignore a change that it knows.
  ///
  /// Without `retries`, an error of the closure ends the call. With ``ChangeRetries``, the closure runs again for the
  /// same change after a pause. A change in quarantine is not delivered again, and later changes follow, also those of
  /// the same row. The rows with which a new consumer starts are tried again, but never put into quarantine.
  ///
  /// The other parameters are those of ``changes(on:in:as:startingWith:lease:file:line:)``. Throws the errors of the
  /// closure and of that sequence, and `CancellationError`.
  public func deliver<Model: Sqlable & Sendable>(
    _ name: String, on model: Model.Type, in tableName: String? = nil, startingWith start: ConsumerStart = .rows,
    lease: Duration = .seconds(10), retries: ChangeRetries? = nil, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (LoggedModelChange<Model>) async throws -> Void
  ) async throws {
    try retries?.check()
    let callSite = CallSite(file: file, line: line)
    let batches = changes(
      on: model, in: tableName, as: name, startingWith: start, lease: lease, file: file, line: line)
    let delivery = Delivery(pool: self, name: name, retries: retries, callSite: callSite, body: body)
    do {
      for try await batch in batches {
        if batch.isSnapshot {
          for try await change in batch.changes { try await delivery.deliverRow(change) }
        } else {
          try await delivery.deliver(batch)
        }
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
private struct Delivery<Model: Sqlable & Sendable>: Sendable {
  let pool: SqlitePool
  let name: String
  let retries: ChangeRetries?
  let callSite: CallSite
  let body: @Sendable (LoggedModelChange<Model>) async throws -> Void

  func deliver(_ batch: ChangeBatch<Model>) async throws {
    var failed: [Int: QuarantineRecord] = [:]
    var isFirst = true
    for try await change in batch.changes {
      if isFirst {
        failed = try await failures(after: change.position.number - 1)
        isFirst = false
      }
      let number = change.position.number
      try await deliver(change, number, failed[number])
    }
    guard failed.contains(where: { !$0.value.isQuarantined }) else { return }
    let last = batch.position.number
    try await pool.perform(.write, at: callSite) { [name] db in
      try QuarantineRecord.removeTried(of: name, upTo: last, in: db)
    }
  }

  private func failures(after bound: Int) async throws -> [Int: QuarantineRecord] {
    try await pool.perform(.read, at: callSite) { [name] db in
      try QuarantineRecord.all(of: name, after: bound, in: db)
    }
  }

  private func deliver(_ change: LoggedModelChange<Model>, _ number: Int, _ known: QuarantineRecord?) async throws {
    var record = known
    while record?.isQuarantined != true {
      if let record, let retries {
        let now = try await pool.perform(.read, at: callSite) { db in try ConsumerRecord.now(db) }
        try await Task.sleep(for: .milliseconds(record.pause(retries, now: now)))
      }
      do {
        try await body(change)
        guard let record, known == nil else { return }
        return try await pool.perform(.write, at: callSite) { [name] db in
          try QuarantineRecord.removeTried(of: name, upTo: record.number, in: db)
        }
      } catch {
        let failure = FailedAttempt(number: number, error: error)
        guard let retries, !failure.isFinal else { throw error }
        try await pool.note(failure, of: number, consumer: name, retries, callSite)
        record = try await failures(after: number - 1)[number]
      }
    }
  }

  /// Delivers a row with which a new consumer starts.
  func deliverRow(_ change: LoggedModelChange<Model>) async throws {
    var attempts = 0
    while true {
      do { return try await body(change) } catch {
        attempts += 1
        guard let retries, attempts < retries.attempts, !FailedAttempt(number: nil, error: error).isFinal else {
          throw error
        }
        try await Task.sleep(for: .milliseconds(retries.milliseconds(after: attempts)))
      }
    }
  }
}
