import FoundationEssentials
import SqlableCore
import SqlablePool

/// A change that a consumer has put into quarantine, because the closure failed for the change as often as
/// ``ChangeRetries`` allows.
public struct QuarantinedChange: Sendable, Hashable {
  public let consumer: String
  public let change: LoggedChange
  /// The number of failed attempts.
  public let attempts: Int
  /// For an ``SqlError``, its kind and message, which contain no values of rows. For another error, the name of its
  /// type.
  public let error: String
  /// The time of the last failed attempt.
  public let failedAt: Date
}

extension SqlDatabase {
  /// Returns the changes in the quarantine of a consumer, in the order of the log.
  ///
  /// ```swift
  /// for failed in try db.quarantinedChanges(of: "webhook") { print(failed.change.position, failed.error) }
  /// ```
  ///
  /// Throws `.schema(.missingTable)` if the database has no change log. Blocks the thread. In `async` code, use the
  /// overload for pools with `await`.
  public func quarantinedChanges(
    of consumer: String, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [QuarantinedChange] {
    try withTransaction(.deferred, file: file, line: line) { try QuarantinedChange.all(of: consumer, in: $0) }
  }
}

extension SqlitePool {
  /// Returns the changes in the quarantine of a consumer without blocking the thread; see
  /// ``SqlDatabase/quarantinedChanges(of:file:line:)``.
  public func quarantinedChanges(
    of consumer: String, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [QuarantinedChange] {
    try await read(file: file, line: line) { db in try QuarantinedChange.all(of: consumer, in: db) }
  }

  /// Retries the quarantined changes of a consumer that uses ``consume(_:on:in:startingWith:retries:file:line:_:)``:
  /// runs a closure for each of these changes of the model's table.
  ///
  /// ```swift
  /// let count = try await pool.retryQuarantinedChanges(of: "totals", on: Bicycle.self) { db, change in … }
  /// ```
  ///
  /// Each change has its own transaction, with the effects of the closure and the removal from the quarantine. A change
  /// whose closure throws stays in quarantine with the new error, and the call continues with the next change. Returns
  /// the number of changes that have left the quarantine. A closure can run twice if its first transaction was rolled
  /// back. If the log did not keep a column that the model reads, the change stays in quarantine unchanged, and the
  /// call throws `.misuse` after the last change.
  @discardableResult
  public func retryQuarantinedChanges<Model: Sqlable & Sendable>(
    of consumer: String, on model: Model.Type, in tableName: String? = nil, file: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase, LoggedModelChange<Model>) throws -> Void
  ) async throws -> Int {
    try await retry(.of(model, in: tableName), of: consumer, CallSite(file: file, line: line), body)
  }

  /// Retries the quarantined changes of a consumer of all logged tables; see
  /// ``retryQuarantinedChanges(of:on:in:file:line:_:)-(_,_,_,_,_,(SqliteDatabase,LoggedModelChange<Model>)->Void)``.
  @discardableResult
  public func retryQuarantinedChanges(
    of consumer: String, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SqliteDatabase, LoggedChange) throws -> Void
  ) async throws -> Int {
    try await retry(.ofAllTables, of: consumer, CallSite(file: file, line: line), body)
  }

  private func retry<Element: Sendable>(
    _ followed: FollowedChanges<Element>, of consumer: String, _ callSite: CallSite,
    _ body: @escaping @Sendable (SqliteDatabase, Element) throws -> Void
  ) async throws -> Int {
    try await retryEach(followed, of: consumer, callSite) { [self] change in
      let number = followed.position(change).number
      return try await perform(.write, at: callSite) { db in
        // Another call might have removed the change.
        guard try QuarantineRecord.remove(number, of: consumer, in: db) else { return false }
        do { try body(db, change) } catch { throw try FailedAttempt(subject: nil, error: error, in: db) }
        return true
      }
    }
  }

  /// Retries the quarantined changes of a consumer that uses
  /// ``deliver(_:on:in:startingWith:lease:retries:file:line:_:)``: runs an async closure for each of these changes of
  /// the model's table.
  ///
  /// ```swift
  /// let count = try await pool.retryQuarantinedChanges(of: "webhook", on: Bicycle.self) { change in … }
  /// ```
  ///
  /// A change whose closure throws stays in quarantine with the new error, and the call continues with the next change.
  /// A change whose closure returns leaves the quarantine. Returns the number of these changes.
  @discardableResult
  public func retryQuarantinedChanges<Model: Sqlable & Sendable>(
    of consumer: String, on model: Model.Type, in tableName: String? = nil, file: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (LoggedModelChange<Model>) async throws -> Void
  ) async throws -> Int {
    try await retry(.of(model, in: tableName), of: consumer, CallSite(file: file, line: line), body)
  }

  /// Calls an async closure with the quarantined changes of a consumer that follows all logged tables; see
  /// ``retryQuarantinedChanges(of:on:in:file:line:_:)-(_,_,_,_,_,(LoggedModelChange<Model>)->Void)``.
  @discardableResult
  public func retryQuarantinedChanges(
    of consumer: String, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (LoggedChange) async throws -> Void
  ) async throws -> Int {
    try await retry(.ofAllTables, of: consumer, CallSite(file: file, line: line), body)
  }

  private func retry<Element: Sendable>(
    _ followed: FollowedChanges<Element>, of consumer: String, _ callSite: CallSite,
    _ body: @escaping @Sendable (Element) async throws -> Void
  ) async throws -> Int {
    try await retryEach(followed, of: consumer, callSite) { [self] change in
      do { try await body(change) } catch {
        throw FailedAttempt(subject: nil, error: error)
      }
      let number = followed.position(change).number
      return try await perform(.write, at: callSite) { db in
        try QuarantineRecord.remove(number, of: consumer, in: db)
      }
    }
  }

  /// Removes changes from the quarantine of a consumer. The removed changes are not delivered again.
  ///
  /// ```swift
  /// try await pool.dropQuarantinedChanges(of: "webhook", at: [failed.change.position])
  /// try await pool.dropQuarantinedChanges(of: "webhook")     // all
  /// ```
  ///
  /// `positions` are the positions of the changes; nil for all changes in quarantine. Returns the number of removed
  /// changes.
  @discardableResult
  public func dropQuarantinedChanges(
    of consumer: String, at positions: [ChangePosition]? = nil, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Int {
    try await transaction(file: file, line: line) { db in
      let state = try LogState(db)
      let passed = try QuarantineRecord.passed(of: consumer, in: db)
      let wanted = positions.map { Set($0.filter { $0.history == state.end.history }.map(\.number)) }
      let dropped = passed.filter { wanted?.contains($0) != false }
      for number in dropped { _ = try QuarantineRecord.remove(number, of: consumer, in: db) }
      return dropped.count
    }
  }

  /// Calls `attempt` for each change in quarantine, and counts the failed attempts in the database.
  private func retryEach<Element: Sendable>(
    _ followed: FollowedChanges<Element>, of consumer: String, _ callSite: CallSite,
    _ attempt: (Element) async throws -> Bool
  ) async throws -> Int {
    let items = try await perform(.read, at: callSite) { db in
      try db.transaction(.deferred) { try followed.source.quarantined(of: consumer, in: $0) }
    }
    var count = 0
    var omission: (any Error)?
    for item in items {
      try Task.checkCancellation()
      if item.lacksColumn, case .failure(let error) = item.result {
        omission = omission ?? error
        continue
      }
      do {
        let change: Element
        do { change = try item.result.get() } catch { throw FailedAttempt(subject: nil, error: error) }
        if try await attempt(change) { count += 1 }
      } catch let failure as FailedAttempt {
        guard !failure.isFinal else { throw failure.error }
        try await perform(.write, at: callSite) { db in
          try QuarantineRecord.noteAgain(failure.error, of: item.position.number, consumer: consumer, in: db)
        }
      }
    }
    if let omission { throw omission }
    return count
  }
}

extension QuarantinedChange {
  fileprivate static func all(of consumer: String, in db: SqliteDatabase) throws -> [QuarantinedChange] {
    let changes = try LogSource<LoggedChange>().quarantined(of: consumer, in: db).map { try $0.result.get() }
    let rows = try db.query(
      """
      SELECT "seq", "attempts", "error", "failedAt" FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer)
      """, as: Int.self, Int.self, String.self, Int.self)
    let records = Dictionary(rows.map { ($0.0, $0) }) { $1 }
    return changes.compactMap { change in
      guard let (_, attempts, error, failedAt) = records[change.position.number] else { return nil }
      return QuarantinedChange(
        consumer: consumer, change: change, attempts: attempts, error: error,
        failedAt: Date(timeIntervalSince1970: Double(failedAt) / 1000))
    }
  }
}

extension QuarantineRecord {
  /// Returns the numbers of the quarantined changes that the consumer's position has passed. The records of later
  /// changes must stay, because the consumer needs them to skip these changes.
  fileprivate static func passed(of consumer: String, in db: SqliteDatabase) throws -> [Int] {
    try db.query(
      """
      SELECT "seq" FROM main."sqlable_change_quarantine" WHERE "consumer" = \(consumer) AND "isQuarantined" = 1
      AND "seq" <= (SELECT "seq" FROM main."sqlable_change_consumers" WHERE "name" = \(consumer) AND "isNew" = 0)
      ORDER BY "seq"
      """, as: Int.self)
  }

  /// Removes a change; returns false if the quarantine does not have the change.
  fileprivate static func remove(_ number: Int, of consumer: String, in db: SqliteDatabase) throws -> Bool {
    try db.execute(
      """
      DELETE FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "seq" = \(number) AND "isQuarantined" = 1
      """)
    return try db.query("SELECT changes()", as: Int.self) == [1]
  }

  /// Counts another failed attempt of a change in quarantine.
  fileprivate static func noteAgain(
    _ error: any Error, of number: Int, consumer: String, in db: SqliteDatabase
  ) throws {
    try db.execute(
      """
      UPDATE main."sqlable_change_quarantine" SET "attempts" = "attempts" + 1,
      "error" = \(FailedAttempt.text(of: error)), "failedAt" = \(ConsumerRecord.now)
      WHERE "consumer" = \(consumer) AND "seq" = \(number)
      """)
  }
}
