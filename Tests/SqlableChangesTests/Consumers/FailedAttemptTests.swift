import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The attempts that a consumer counts, and the errors that are no attempts.
@Suite struct FailedAttemptTests {
  private struct Refused: Error {}

  private static let atOnce = ChangeRetries(attempts: 3, pause: .zero, longestPause: .zero, then: .quarantine)

  /// A query that ends only by an interruption.
  private static let endless: SQL = """
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000000) SELECT count(*) FROM n
    """

  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...3).map { Member(id: $0, name: "m") }).run(pool)
      try await body(pool)
    }
  }

  private func attempts(_ pool: SqlitePool) throws -> [Int] {
    try pool.query("SELECT attempts FROM sqlable_change_quarantine ORDER BY seq", as: Int.self)
  }

  /// Runs a call until it ends or counts an attempt, and cancels it if `isCancelled` returns true. Returns its error.
  private func failure(
    unless hasCounted: () throws -> Bool, cancels isCancelled: () -> Bool,
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws -> (any Error)? {
    let hasEnded = LockedValue(false)
    let task = Task {
      defer { hasEnded.withLock { $0 = true } }
      try await body()
    }
    try await until {
      if isCancelled() { task.cancel() }
      return hasEnded.withLock { $0 } || (try? hasCounted()) == true
    }
    task.cancel()
    do { try await task.value } catch { return error }
    return nil
  }

  @Test(arguments: [true, false]) func cancellationOfAClosureIsNoAttempt(_ hidesError: Bool) async throws {
    try await withLog { pool in
      let hasBegun = LockedValue(false)
      let error = try await failure(
        unless: { try !attempts(pool).isEmpty }, cancels: { hasBegun.withLock { $0 } }
      ) {
        try await pool.consume("totals", on: Member.self, startingWith: .log, retries: Self.atOnce) { db, _ in
          hasBegun.withLock { $0 = true }
          do { _ = try db.query(Self.endless, as: Int.self) } catch { throw hidesError ? Refused() : error }
        }
      }
      #expect(error is CancellationError)
      #expect(try attempts(pool).isEmpty)
    }
  }

  @Test func aDeadlineIsNoAttempt() async throws {
    try await withDirectoryAsync { directory in
      let db = try SqliteDatabase(filepath: directory + "/log.sqlite")
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
      try Member(id: 1, name: "m").insert().run(db)
      let pool = try SqlitePool(filepath: db.filepath, configuration: .init(deadline: .seconds(1)))
      let attempts: SQL = "SELECT attempts FROM sqlable_change_quarantine"
      let error = try await failure(
        unless: { try !db.query(attempts, as: Int.self).isEmpty }, cancels: { false }
      ) {
        try await pool.consume("totals", on: Member.self, startingWith: .log, retries: Self.atOnce) { db, _ in
          _ = try db.query(Self.endless, as: Int.self)
        }
      }
      #expect((error as? SqlError)?.kind == .timeout)
      #expect(try db.query(attempts, as: Int.self).isEmpty)
      try db.close()
      try await pool.close(within: .seconds(60))
    }
  }

  @Test func cancellationOfARetryFromTheQuarantineIsNoAttempt() async throws {
    try await withLog { pool in
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("totals", of: "member", startingAt: .log, in: db)
        _ = try QuarantineRecord.note(
          Refused(), of: .change(logged(2, db)), consumer: "totals", quarantiningAfter: 1, in: db)
        try db.execute(
          "UPDATE sqlable_change_consumers SET seq = 3, at = (SELECT at FROM sqlable_changes WHERE seq = 3)")
      }
      let hasBegun = LockedValue(false)
      let error = try await failure(
        unless: { try attempts(pool) != [1] }, cancels: { hasBegun.withLock { $0 } }
      ) {
        try await pool.retryQuarantinedChanges(of: "totals", on: Member.self) { db, _ in
          hasBegun.withLock { $0 = true }
          _ = try db.query(Self.endless, as: Int.self)
        }
      }
      #expect(error is CancellationError)
      #expect(try attempts(pool) == [1])
    }
  }

  @Test func aFormerOwnerDoesNotResetTheAttempts() async throws {
    try await withLog { pool in
      let count = LockedValue(0)
      let body: @Sendable (LoggedModelChange<Member>) async throws -> Void = { _ in
        let isFirst = count.withLock { count in
          count += 1
          return count == 1
        }
        if isFirst { throw Refused() }
        try await pool.transaction { db in try db.execute("UPDATE sqlable_change_consumers SET owner = 'other'") }
      }
      let error = await #expect(throws: SqlError.self) {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log, retries: Self.atOnce, body)
      }
      #expect(error?.kind == .changeLog(.ownerChanged))
      let counted = try attempts(pool)
      #expect(counted == [1])
    }
  }

  @Test func aFormerOwnersFailureIsNoAttemptOfTheNewOwner() async throws {
    try await withLog { pool in
      let error = await #expect(throws: SqlError.self) {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log, retries: Self.atOnce) { _ in
          try await pool.transaction { db in try db.execute("UPDATE sqlable_change_consumers SET owner = 'other'") }
          throw Refused()
        }
      }
      #expect(error?.kind == .changeLog(.ownerChanged))
      let counted = try attempts(pool)
      #expect(counted.isEmpty)
    }
  }

  /// The row of the log with the change's number is another change, or was deleted.
  @Test(arguments: ["UPDATE sqlable_changes SET at = at + 1", "trim"])
  func aFailureOfALostChangeIsNoAttemptOfAnotherChange(_ sql: String) async throws {
    try await withLog { pool in
      let error = await #expect(throws: SqlError.self) {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log, retries: Self.atOnce) { _ in
          try await pool.transaction { db in
            if sql == "trim" { try ChangeLog.trim(db, keeping: .count(1)) } else { try db.execute(SQL(verbatim: sql)) }
          }
          throw Refused()
        }
      }
      #expect(error?.kind == .changeLog(sql == "trim" ? .trimmed : .otherHistory))
      let counted = try attempts(pool)
      #expect(counted.isEmpty)
    }
  }

  @Test func aFailureReadsNoOtherFailedRows() async throws {
    try await withLog { pool in
      func row(_ id: Int) -> FailedAttempt.Subject {
        .row(KeptValues(entry: 1, values: [.integer(Int64(id)), "m"].map(LoggedValue.init)))
      }
      let subjects = (1...200).map(row)
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("totals", of: "member", startingAt: .rows, in: db)
        for subject in subjects {
          _ = try QuarantineRecord.note(Refused(), of: subject, consumer: "totals", quarantiningAfter: 3, in: db)
        }
      }
      let read = LockedValue(0)
      let token = pool.trace(.init()) { event in read.withLock { $0 += event.rowsRead } }
      let attempts = try await pool.transaction { db in
        try QuarantineRecord.note(Refused(), of: subjects[99], consumer: "totals", quarantiningAfter: 3, in: db)?
          .attempts
      }
      #expect(attempts == 2)
      #expect((1..<100).contains(read.withLock { $0 }))
      withExtendedLifetime(token) {}
    }
  }
}
