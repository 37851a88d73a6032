import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite struct QuarantineTests {
  /// An error whose text has a value of a row.
  private struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  private static let atOnce = ChangeRetries(attempts: 3, pause: .zero, longestPause: .zero, then: .quarantine)

  /// Calls `body` with a pool whose table of members is logged, and has three members.
  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try ChangeLog(Member.self).create(db)
        try db.execute("CREATE TABLE seen (id INTEGER)")
      }
      try await Member.insert([(1, "Ada"), (2, "Bob"), (3, "Cleo")].map { Member(id: $0.0, name: $0.1) }).run(pool)
      try await body(pool)
    }
  }

  private func seen(_ pool: SqlitePool) throws -> [Int] {
    try pool.query("SELECT id FROM seen ORDER BY rowid", as: Int.self)
  }

  private func note(_ db: SqliteDatabase, _ change: LoggedModelChange<Member>) throws {
    if case .insert(let member) = change.row { try db.execute("INSERT INTO seen VALUES (\(member.id))") }
  }

  /// Returns the numbers of attempts in the quarantine, also of changes that are tried again.
  private func attempts(_ pool: SqlitePool) throws -> [Int] {
    try pool.query("SELECT attempts FROM sqlable_change_quarantine ORDER BY seq", as: Int.self)
  }

  /// Counts a call, and returns the number of calls.
  private func next(_ count: LockedValue<Int>) -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }

  /// Notes the changes, and throws for the member with the id 2.
  private func refuseBob(_ db: SqliteDatabase, _ change: LoggedModelChange<Member>) throws {
    try note(db, change)
    if case .insert(let member) = change.row, member.id == 2 { throw Refused(description: member.name) }
  }

  /// Runs `consume` until all changes have been consumed.
  private func consume(
    _ pool: SqlitePool, _ retries: ChangeRetries? = atOnce, startingWith start: ConsumerStart = .log,
    _ body: @escaping @Sendable (SqliteDatabase, LoggedModelChange<Member>) throws -> Void
  ) async throws {
    let ended = LockedValue<(any Error)?>(nil)
    let task = Task {
      do { try await pool.consume("totals", on: Member.self, startingWith: start, retries: retries, body) } catch {
        ended.withLock { $0 = error }
      }
    }
    try await until {
      if ended.withLock({ $0 }) != nil { return true }
      let consumer = try? pool.read { try $0.changeConsumers() }.first
      return consumer?.lag == 0 && consumer?.isNew == false
    }
    if let error = ended.withLock({ $0 }) { throw error }
    task.cancel()
    await task.value
  }

  @Test func anAttemptThatSucceedsStoresTheEffectsOnce() async throws {
    try await withLog { pool in
      let count = LockedValue(0)
      try await consume(pool) { [note, next] db, change in
        try note(db, change)
        if change.position.number == 2,
          next(count) < 3
        {
          throw Refused(description: "")
        }
      }
      #expect(count.withLock { $0 } == 3)
      #expect(try seen(pool) == [1, 2, 3])
      #expect(try attempts(pool).isEmpty)
    }
  }

  @Test func aChangeThatKeepsFailingIsPutIntoQuarantine() async throws {
    try await withLog { pool in
      try await consume(pool) { [refuseBob] in try refuseBob($0, $1) }
      #expect(try seen(pool) == [1, 3])
      let failed = try await pool.quarantinedChanges(of: "totals")
      #expect(failed.map(\.attempts) == [3])
      #expect(failed.map(\.error) == ["Refused"])
      #expect(failed.map(\.change.new?.values) == [[2, "Bob"]])
      #expect(try await pool.changeConsumers().map(\.quarantined) == [1])
      #expect(try await pool.quarantinedChanges(of: "other").isEmpty)
    }
  }

  @Test func theErrorOfTheLibraryIsStoredWithItsMessage() async throws {
    try await withLog { pool in
      try await pool.transaction { db in try db.execute("CREATE TABLE once (name TEXT UNIQUE)") }
      try await consume(pool) { db, change in
        if case .insert(let member) = change.row, member.id == 2 {
          for _ in 0..<2 { try db.execute("INSERT INTO once VALUES (\(member.name))") }
        }
      }
      let error = try #require(try await pool.quarantinedChanges(of: "totals").first?.error)
      #expect(error.hasPrefix("constraint(unique): "))
      #expect(error.contains("once.name"))
      #expect(!error.contains("Bob"))
    }
  }

  @Test func withoutQuarantineTheConsumerStopsAfterTheAttempts() async throws {
    try await withLog { pool in
      let retries = ChangeRetries(attempts: 2, pause: .zero, longestPause: .zero)
      for round in 1...2 {
        await #expect(throws: Refused.self) {
          try await pool.consume("totals", on: Member.self, startingWith: .log, retries: retries) { [refuseBob] in
            try refuseBob($0, $1)
          }
        }
        #expect(try attempts(pool) == [2 * round])
      }
      #expect(try seen(pool).isEmpty)
      let consumers = try await pool.changeConsumers()
      #expect(consumers.map(\.error) == ["Refused"])
      #expect(consumers.map(\.lag) == [3])
      #expect(try await pool.quarantinedChanges(of: "totals").isEmpty)
    }
  }

  @Test func aChangeInQuarantineIsSkippedAfterAKill() async throws {
    try await withLog { pool in
      // The process was killed after the last attempt, before the consumer has stored its position.
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("totals", of: "member", startingAt: .log, in: db)
        for _ in 0..<3 {
          _ = try QuarantineRecord.note(
            Refused(description: ""), of: .change(logged(2, db)), consumer: "totals", quarantiningAfter: 3, in: db)
        }
      }
      // The change is still the consumer's.
      #expect(try await pool.retryQuarantinedChanges(of: "totals", on: Member.self) { _, _ in } == 0)
      #expect(try await pool.dropQuarantinedChanges(of: "totals") == 0)
      try await consume(pool) { [note] in try note($0, $1) }
      #expect(try seen(pool) == [1, 3])
      #expect(try await pool.quarantinedChanges(of: "totals").count == 1)
    }
  }

  @Test func aFailedAttemptAtAConsumedChangeDoesNotCount() async throws {
    try await withLog { pool in
      try await consume(pool) { [note] in try note($0, $1) }
      let isKnown = try await pool.transaction { db in
        try QuarantineRecord.note(
          Refused(description: ""), of: .change(logged(2, db)), consumer: "totals", quarantiningAfter: 1, in: db) != nil
      }
      #expect(!isKnown)
      #expect(try await pool.quarantinedChanges(of: "totals").isEmpty)
    }
  }

  @Test func quarantinedChangesCanBeTriedAgain() async throws {
    try await withLog { pool in
      try await consume(pool) { [refuseBob] in try refuseBob($0, $1) }
      // The quarantine has a copy of the change.
      try await ChangeLog.trim(pool, keeping: .count(0))
      let failing = try await pool.retryQuarantinedChanges(of: "totals", on: Member.self) { [refuseBob] in
        try refuseBob($0, $1)
      }
      #expect(failing == 0)
      #expect(try seen(pool) == [1, 3])
      #expect(try await pool.quarantinedChanges(of: "totals").map(\.attempts) == [4])
      let succeeding = try await pool.retryQuarantinedChanges(of: "totals", on: Member.self) { [note] in
        try note($0, $1)
      }
      #expect(succeeding == 1)
      #expect(try seen(pool) == [1, 3, 2])
      #expect(try await pool.quarantinedChanges(of: "totals").isEmpty)
    }
  }

  @Test func quarantinedChangesCanBeDropped() async throws {
    try await withLog { pool in
      try await consume(pool) { _, _ in throw Refused(description: "") }
      let failed = try await pool.quarantinedChanges(of: "totals")
      #expect(failed.count == 3)
      #expect(try await pool.dropQuarantinedChanges(of: "totals", at: [failed[1].change.position]) == 1)
      #expect(try await pool.quarantinedChanges(of: "totals") == [failed[0], failed[2]])
      #expect(try await pool.dropQuarantinedChanges(of: "totals") == 2)
      #expect(try await pool.quarantinedChanges(of: "totals").isEmpty)
    }
  }

  @Test func aRemovedConsumerHasNoQuarantine() async throws {
    try await withLog { pool in
      try await consume(pool) { [refuseBob] in try refuseBob($0, $1) }
      try await pool.removeChangeConsumer("totals")
      #expect(try attempts(pool).isEmpty)
    }
  }

  @Test func rowsOfTheStartAreTriedAgainAndPutIntoQuarantine() async throws {
    try await withLog { pool in
      try await pool.transaction { db in try db.execute("UPDATE member SET name = 'Bob' WHERE id = 3") }
      let calls = LockedValue(0)
      try await consume(pool, startingWith: .rows) { [note, next] db, change in
        _ = next(calls)
        try note(db, change)
        if case .insert(let member) = change.row, member.name == "Bob" { throw Refused(description: "") }
      }
      #expect(try seen(pool) == [1])
      // Three attempts for each of two rows, with the first row again each time, and the transaction that stores it.
      #expect(calls.withLock { $0 } == 13)
      let failed = try await pool.quarantinedChanges(of: "totals")
      let values = failed.map(\.change.new?.values)
      #expect(values == [[2, "Bob"], [3, "Bob"]])
      #expect(failed.map(\.change.change) == [.insert, .insert])
      #expect(failed.map(\.attempts) == [3, 3])
      let position = failed[0].change.position
      #expect(ChangePosition(position.description) == position)
      #expect(try await pool.dropQuarantinedChanges(of: "totals", at: [position]) == 1)
      let count = try await pool.retryQuarantinedChanges(of: "totals", on: Member.self) { [note] in try note($0, $1) }
      #expect(count == 1)
      #expect(try seen(pool) == [1, 3])
      #expect(try await pool.quarantinedChanges(of: "totals").isEmpty)
    }
  }

  @Test func aRowOfTheStartInQuarantineIsSkippedAfterAKill() async throws {
    try await withLog { pool in
      let row = KeptValues(entry: 1, values: [2, "Bob"].map(LoggedValue.init))
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("totals", of: "member", startingAt: .rows, in: db)
        for _ in 0..<3 {
          _ = try QuarantineRecord.note(
            Refused(description: ""), of: .row(row), consumer: "totals", quarantiningAfter: 3, in: db)
        }
      }
      // The new consumer has not yet stored its position: otherwise the row could be consumed twice.
      #expect(try await pool.retryQuarantinedChanges(of: "totals", on: Member.self) { _, _ in } == 0)
      try await consume(pool, startingWith: .rows) { [note] in try note($0, $1) }
      #expect(try seen(pool).sorted() == [1, 3])
      #expect(try await pool.quarantinedChanges(of: "totals").count == 1)
    }
  }

  @Test func deliveredRowsOfTheStartArePutIntoQuarantine() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        try db.execute("CREATE TABLE a (x, y, PRIMARY KEY (y)) WITHOUT ROWID")
        try db.execute("CREATE TABLE b (z)")
        try ChangeLog([]).adding(Member.self, named: "a").adding(Member.self, named: "b").create(db)
        try db.execute("INSERT INTO a VALUES (NULL, 1), (2.5, x'00')")
        try db.execute("INSERT INTO b VALUES (NULL)")
      }
      let delivered = Collected<String>()
      let task = Task {
        try await pool.deliver("broker", retries: Self.atOnce) { change in
          delivered.append(change.table)
          if change.new?.values.contains(.null) == true { throw Refused(description: "") }
        }
      }
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.isNew) == false }
      #expect(delivered.values.sorted() == ["a", "a", "a", "a", "b", "b", "b"])
      let failed = try await pool.quarantinedChanges(of: "broker")
      #expect(failed.map(\.change.table) == ["a", "b"])
      let values = failed.map(\.change.new?.values)
      #expect(values == [[.null, .integer(1)], [.integer(1), .null]])
      #expect(try await pool.retryQuarantinedChanges(of: "broker") { _ in } == 2)
      task.cancel()
      _ = try? await task.value
      try await pool.close()
    }
  }

  @Test func deliveredChangesAreTriedAgainAndPutIntoQuarantine() async throws {
    try await withLog { pool in
      let delivered = Collected<Int>()
      let task = Task {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log, retries: Self.atOnce) { change in
          delivered.append(change.position.number)
          if change.position.number == 2 { throw Refused(description: "") }
        }
      }
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.lag) == 0 }
      #expect(delivered.values == [1, 2, 2, 2, 3])
      #expect(try await pool.quarantinedChanges(of: "webhook").map(\.change.position.number) == [2])
      let count = try await pool.retryQuarantinedChanges(of: "webhook", on: Member.self) { change in
        delivered.append(change.position.number)
      }
      #expect(count == 1)
      #expect(try await pool.quarantinedChanges(of: "webhook").isEmpty)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test func aRowOfTheStartIsTriedAgainInAPoolWithOneReader() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory, .init(readers: 1))
      try await pool.transaction { db in
        try db.createTable(Member.self)
        try ChangeLog(Member.self).create(db)
      }
      try await Member.insert([Member(id: 1, name: "Ada")]).run(pool)
      let count = LockedValue(0)
      let task = Task { [next] in
        try await pool.deliver("webhook", on: Member.self, retries: Self.atOnce) { _ in
          if next(count) < 3 { throw Refused(description: "") }
        }
      }
      // The rows hold the only reader until they end.
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.isNew) == false }
      #expect(count.withLock { $0 } == 3)
      task.cancel()
      _ = try? await task.value
      try await pool.close()
    }
  }

  @Test func aDeliveryEndsAfterItsConsumerWasRemoved() async throws {
    try await withLog { pool in
      for start in [ConsumerStart.log, .rows] {
        let error = await #expect(throws: SqlError.self) {
          try await pool.deliver("webhook", on: Member.self, startingWith: start, retries: Self.atOnce) { _ in
            try await pool.removeChangeConsumer("webhook")
            throw Refused(description: "")
          }
        }
        #expect(error?.kind == .changeLog(.ownerChanged))
      }
    }
  }

  @Test func aDeliveryWithoutRetriesThrowsTheFirstError() async throws {
    try await withLog { pool in
      let delivered = Collected<Int>()
      await #expect(throws: Refused.self) {
        try await pool.deliver("webhook", on: Member.self) { change in
          delivered.append(change.position.number)
          throw Refused(description: "")
        }
      }
      #expect(delivered.values.count == 1)
      let consumers = try await pool.changeConsumers()
      #expect(consumers.map(\.isNew) == [true])
    }
  }

  @Test func pausesGrowAndDoNotDependOnAClockThatIsSet() {
    let retries = ChangeRetries(attempts: 9, pause: .milliseconds(100), longestPause: .seconds(1))
    #expect([1, 2, 3, 4, 5, 1_000].map { retries.milliseconds(after: $0) } == [100, 200, 400, 800, 1_000, 1_000])
    func pause(failedAt: Int, now: Int) -> Int {
      QuarantineRecord(number: 1, attempts: 2, failedAt: failedAt, isQuarantined: false).pause(retries, now: now)
    }
    #expect(pause(failedAt: 10_000, now: 10_050) == 150)
    #expect(pause(failedAt: 10_000, now: 10_500) == 0)
    #expect(pause(failedAt: 10_000, now: 5_000) == 200)
    #expect(pause(failedAt: .min, now: 5_000) == 200)
  }

  @Test func refusesRetriesWithoutMeaning() async throws {
    try await withLog { pool in
      for retries in [
        ChangeRetries(attempts: 0), ChangeRetries(pause: .seconds(-1)),
        ChangeRetries(pause: .seconds(2), longestPause: .seconds(1)),
      ] {
        let error = await #expect(throws: SqlError.self) {
          try await pool.consume("totals", on: Member.self, retries: retries) { _, _ in }
        }
        #expect(error?.kindIsMisuse == true)
      }
    }
  }
}
