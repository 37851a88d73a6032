import SqlableCore
import SqlablePool
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Changes that the model can't decode: another program has stored a blob as a name.
@Suite struct UndecodableChangeTests {
  private static let atOnce = ChangeRetries(attempts: 2, pause: .zero, longestPause: .zero, then: .quarantine)

  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE seen (id INTEGER)")
        try db.execute("INSERT INTO member VALUES (1, 'Ada'), (2, x'ff'), (3, 'Cleo')")
      }
      try await body(pool)
    }
  }

  private func note(_ db: SqliteDatabase, _ change: LoggedModelChange<Member>) throws {
    if case .insert(let member) = change.row { try db.execute("INSERT INTO seen VALUES (\(member.id))") }
  }

  private func seen(_ pool: SqlitePool) throws -> [Int] {
    try pool.query("SELECT id FROM seen ORDER BY rowid", as: Int.self)
  }

  private func hasConsumed(_ pool: SqlitePool) -> Bool {
    let consumer = try? pool.read { try $0.changeConsumers() }.first
    return consumer?.isNew == false && consumer?.lag == 0
  }

  @Test(arguments: [ConsumerStart.log, .rows]) func consumePutsThemIntoQuarantine(_ start: ConsumerStart) async throws {
    try await withLog { pool in
      let task = Task { [note] in
        try await pool.consume("totals", on: Member.self, startingWith: start, retries: Self.atOnce) {
          try note($0, $1)
        }
      }
      try await until { hasConsumed(pool) }
      task.cancel()
      _ = try? await task.value
      #expect(try seen(pool) == [1, 3])
      let failed = try await pool.quarantinedChanges(of: "totals")
      #expect(failed.map(\.change.new?.values[0]) == [2] && failed.map(\.attempts) == [2])
      #expect(failed.first?.error.hasPrefix("decoding") == true)
      let count = try await pool.retryQuarantinedChanges(of: "totals", on: Member.self) { [note] in try note($0, $1) }
      #expect(count == 0)
      #expect(try await pool.quarantinedChanges(of: "totals").map(\.attempts) == [3])
      #expect(try await pool.dropQuarantinedChanges(of: "totals") == 1)
    }
  }

  @Test(arguments: [ConsumerStart.log, .rows]) func deliverPutsThemIntoQuarantine(_ start: ConsumerStart) async throws {
    try await withLog { pool in
      let task = Task { [note] in
        try await pool.deliver("webhook", on: Member.self, startingWith: start, retries: Self.atOnce) { change in
          try await pool.transaction { db in try note(db, change) }
        }
      }
      try await until { hasConsumed(pool) }
      task.cancel()
      _ = try? await task.value
      #expect(try seen(pool) == [1, 3])
      #expect(try await pool.quarantinedChanges(of: "webhook").map(\.attempts) == [2])
    }
  }

  @Test func withoutRetriesTheEarlierChangesAreDelivered() async throws {
    try await withLog { pool in
      let body: @Sendable (LoggedModelChange<Member>) async throws -> Void = { [note] change in
        try await pool.transaction { db in try note(db, change) }
      }
      let error = await #expect(throws: SqlError.self) {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log, body)
      }
      guard case .decoding = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
      let ids = try seen(pool)
      #expect(ids == [1])
      #expect(error?.message.contains("consume or deliver with then: .quarantine") == true)
    }
  }

  @Test func anOldChangeCanLackAColumnThatNeedsAValue() async throws {
    try await withLog { pool in
      try await pool.transaction { db in
        let log = ChangeLog([]).adding(Member.self, named: "late")
        try db.execute("CREATE TABLE late (id INTEGER PRIMARY KEY)")
        try log.create(db)
        try db.execute("INSERT INTO late VALUES (1)")
        try db.execute("ALTER TABLE late ADD COLUMN name TEXT NOT NULL DEFAULT 'x'")
        try log.create(db)
        try db.execute("INSERT INTO late VALUES (2, 'y')")
      }
      var loop = pool.changes(on: Member.self, in: "late", as: "copy", startingWith: .log).makeAsyncIterator()
      let batch = try await loop.next()
      let error = await #expect(throws: SqlError.self) { _ = try await batch?.all() }
      #expect(error?.message.contains("a column that the log did not have yet needs a default") == true)
      let seen = Collected<Int>()
      let task = Task {
        try await pool.consume("totals", on: Member.self, in: "late", startingWith: .log, retries: Self.atOnce) {
          _, change in
          if case .insert(let member) = change.row { seen.append(member.id) }
        }
      }
      try await until { (try? pool.read { try $0.changeConsumers() }.last?.lag) == 0 }
      task.cancel()
      _ = try? await task.value
      #expect(seen.values.last == 2)
    }
  }

  @Test func aFailedRowCanHaveTheLeastNumber() async throws {
    try await withLog { pool in
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("totals", of: "member", startingAt: .rows, in: db)
        let row = FailedAttempt.Subject.row(KeptValues(entry: 1, values: [1, "Ada"].map(LoggedValue.init)))
        func attempts() throws -> Int? {
          try QuarantineRecord.note(CancellationError(), of: row, consumer: "totals", quarantiningAfter: nil, in: db)?
            .attempts
        }
        #expect(try attempts() == 1)
        // Another program might have written any number.
        try db.execute("UPDATE sqlable_change_quarantine SET seq = -9223372036854775807 - 1")
        #expect(try attempts() == 2)
      }
    }
  }
}
