import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite struct ChangeRetentionTests {
  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...10).map { Member(id: $0, name: "m") }).run(pool)
      try await body(pool)
    }
  }

  private func numbers(_ pool: SqlitePool) throws -> [Int] {
    try pool.query("SELECT seq FROM sqlable_changes ORDER BY seq", as: Int.self)
  }

  /// Sets the position of a consumer after the change with a number.
  private func start(_ name: String, at number: Int, _ pool: SqlitePool) async throws {
    try await pool.transaction { db in
      _ = try ConsumerRecord.known(name, of: "member", startingAt: .now, in: db)
      try db.execute(
        """
        UPDATE sqlable_change_consumers SET seq = \(number),
        at = (SELECT at FROM sqlable_changes WHERE seq = \(number)) WHERE name = \(name)
        """)
    }
  }

  @Test func keepsWhatTheSlowestConsumerNeeds() async throws {
    try await withLog { pool in
      try await start("slow", at: 4, pool)
      try await start("fast", at: 9, pool)
      #expect(try await ChangeLog.trim(pool, keeping: .unacknowledged) == 3)
      #expect(try numbers(pool) == Array(4...10))
      var loop = pool.changes(on: Member.self, as: "slow").makeAsyncIterator()
      #expect(try await loop.next()?.all().count == 6)
    }
  }

  @Test func keepsWhatAnyRuleKeeps() async throws {
    try await withLog { pool in
      try await start("fast", at: 9, pool)
      #expect(try await ChangeLog.trim(pool, keeping: .unacknowledged, .count(5)) == 5)
      #expect(try numbers(pool) == Array(6...10))
      #expect(try await ChangeLog.trim(pool, keeping: .unacknowledged, .age(.seconds(3_600))) == 0)
    }
  }

  @Test func deletesOldChangesAndKeepsTheLast() async throws {
    try await withLog { pool in
      try await pool.transaction { db in try db.execute("UPDATE sqlable_changes SET at = at - 7200000 WHERE seq < 4") }
      #expect(try await ChangeLog.trim(pool, keeping: .age(.seconds(3_600))) == 3)
      #expect(try numbers(pool) == Array(4...10))
      #expect(try await pool.transaction { db in try ChangeLog.trim(db, keeping: .count(0)) } == 6)
      #expect(try numbers(pool) == [10])
    }
  }

  @Test func keepsChangesUpToASize() async throws {
    try await withLoggedMembers { pool in
      // Each change needs about 1,000 bytes.
      try await Member.insert((1...10).map { Member(id: $0, name: String(repeating: "m", count: 970)) }).run(pool)
      #expect(try await ChangeLog.trim(pool, keeping: .bytes(20_000)) == 0)
      #expect(try await ChangeLog.trim(pool, keeping: .bytes(4_400)) == 6)
      #expect(try numbers(pool) == Array(7...10))
      #expect(try await ChangeLog.trim(pool, keeping: .bytes(0), .count(3)) == 1)
      #expect(try await pool.transaction { db in try ChangeLog.trim(db, keeping: .bytes(0)) } == 2)
      #expect(try numbers(pool) == [10])
    }
  }

  @Test func theSizeOfALongLogIsEstimated() async throws {
    try await withLoggedMembers { pool in
      var random = SeededGenerator(seed: SeededGenerator.seed)
      let members = (1...30_000).map { number in
        // The second half of the log has longer rows.
        let length = Int.random(in: 0...200, using: &random) + number / 15_000 * 200
        return Member(id: number, name: String(repeating: "m", count: length))
      }
      try await Member.insert(members).run(pool)
      try await ChangeLog.trim(pool, keeping: .bytes(4_000_000))
      try await pool.transaction { db in try db.execute("DROP TABLE member") }
      let size = try await pool.read { db in
        try db.query(
          "SELECT (SELECT * FROM pragma_page_count) - (SELECT * FROM pragma_freelist_count)", as: Int.self)[0] * 4_096
      }
      #expect((3_600_000...4_500_000).contains(size))
    }
  }

  @Test func shortTransactionsReadOnlyTheChangesThatTheyDelete() async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...30_000).map { Member(id: $0, name: "m") }).run(pool)
      try await pool.transaction { db in try db.execute("UPDATE sqlable_changes SET at = at - 7200000") }
      let scanned = LockedValue(0)
      let token = pool.trace(.init()) { event in scanned.withLock { $0 += event.rowsScanned } }
      #expect(try await ChangeLog.trim(pool, keeping: .age(.seconds(3_600))) == 29_999)
      #expect(scanned.withLock { $0 } < 1_000)
      withExtendedLifetime(token) {}
    }
  }

  @Test func aClockThatWasSetBackDoesNotMakeEarlierChangesOld() async throws {
    try await withLog { pool in
      try await pool.transaction { db in try db.execute("UPDATE sqlable_changes SET at = 1000 WHERE seq IN (1, 2, 9)") }
      #expect(try await ChangeLog.trim(pool, keeping: .age(.seconds(3_600))) == 2)
      #expect(try numbers(pool) == Array(3...10))
    }
  }

  @Test func aConsumerThatHasFallenBehindThrowsAndCanStartAgain() async throws {
    try await withLog { pool in
      try await start("slow", at: 4, pool)
      try await ChangeLog.trim(pool, keeping: .bytes(100))
      var loop = pool.changes(on: Member.self, as: "slow").makeAsyncIterator()
      let error = await #expect(throws: SqlError.self) { try await loop.next() }
      #expect(error?.kind == .changeLog(.trimmed))
      try await pool.removeChangeConsumer("slow")
      var again = pool.changes(on: Member.self, as: "slow").makeAsyncIterator()
      #expect(try await again.next()?.isSnapshot == true)
    }
  }

  /// Logs another table too, and inserts rows into it.
  private func insertPeople(_ count: Int, _ pool: SqlitePool) async throws {
    try await pool.transaction { db in
      try db.createTable(Person.self)
      try ChangeLog(Person.self).create(db)
      try db.execute(
        """
        INSERT INTO person (name) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        SELECT 'p' FROM n
        """)
    }
  }

  @Test func aConsumerThatMissesNoChangeContinues() async throws {
    try await withLog { pool in
      try await start("copy", at: 10, pool)
      try await start("behind", at: 9, pool)
      for _ in 0..<2 {
        try await insertPeople(400, pool)
        try await ChangeLog.trim(pool, keeping: .count(100))
      }
      try await Member(id: 11, name: "m").insert().run(pool)
      var loop = pool.changes(on: Member.self, as: "copy").makeAsyncIterator()
      #expect(try await loop.next()?.all().count == 1)
      var behind = pool.changes(on: Member.self, as: "behind").makeAsyncIterator()
      let error = await #expect(throws: SqlError.self) { try await behind.next() }
      #expect(error?.kind == .changeLog(.trimmed))
    }
  }

  @Test func aBatchCanBeAcknowledgedAfterEarlierChangesWereTrimmed() async throws {
    try await withLog { pool in
      try await start("copy", at: 10, pool)
      try await insertPeople(300, pool)
      try await Member(id: 11, name: "m").insert().run(pool)
      var loop = pool.changes(on: Member.self, as: "copy").makeAsyncIterator()
      let batch = try #require(try await loop.next())
      try await ChangeLog.trim(pool, keeping: .count(50))
      #expect(try await batch.all().count == 1)
      try await batch.acknowledge()
      #expect(try await pool.changeConsumers().map(\.position) == [batch.position])
    }
  }

  @Test func aRunningLoopContinuesAfterItsPositionWasTrimmed() async throws {
    try await withLog { pool in
      var loop = pool.changes(on: Member.self, as: "copy", startingWith: .log).makeAsyncIterator()
      try await loop.next()?.acknowledge()
      try await insertPeople(1, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      #expect(try numbers(pool) == [11])
      try await Member(id: 11, name: "m").insert().run(pool)
      #expect(try await loop.next()?.all().count == 1)
    }
  }

  @Test func aConsumerOfATrimmedLogStartsWithItsFirstChange() async throws {
    try await withLog { pool in
      try await ChangeLog.trim(pool, keeping: .count(3))
      var loop = pool.changes(on: Member.self, as: "copy", startingWith: .log).makeAsyncIterator()
      #expect(try await loop.next()?.all().map(\.position.number) == [8, 9, 10])
    }
  }

  @Test func theSearchForTheFirstChangeOfAConsumerIsBounded() async throws {
    try await withLog { pool in
      try await start("stopped", at: 10, pool)
      try await insertPeople(10_000, pool)
      #expect(try await pool.changeConsumers().map(\.delay) == [.zero])
      try await insertPeople(1, pool)
      try await pool.transaction { db in
        try db.execute("UPDATE sqlable_changes SET at = at - 7200000 WHERE seq > 10010")
      }
      let consumer = try #require(try await pool.changeConsumers().first)
      #expect(consumer.delay >= .seconds(7_200) && consumer.lag == 10_001)
    }
  }

  @Test func aDeletedPositionThrows() async throws {
    try await withLog { pool in
      let position = try await pool.changePosition()
      try await Member.insert([Member(id: 11, name: "m"), Member(id: 12, name: "m")]).run(pool)
      try await ChangeLog.trim(pool, keeping: .count(0))
      var loop = pool.changes(since: position).makeAsyncIterator()
      let error = await #expect(throws: SqlError.self) { try await loop.next() }
      #expect(error?.kind == .changeLog(.trimmed))
    }
  }

  @Test func consumersShowTheirLag() async throws {
    try await withLog { pool in
      try await Member.updateAll(Member.name.set(to: "n")).run(pool)
      try await start("slow", at: 4, pool)
      try await pool.transaction { db in try db.execute("UPDATE sqlable_changes SET at = at - 7200000 WHERE seq = 5") }
      let consumer = try #require(try await pool.changeConsumers().first)
      #expect(consumer.name == "slow")
      #expect(consumer.lag == 16)
      #expect(consumer.delay >= .seconds(7_200))
      #expect(!consumer.isOwned)
      try await start("fast", at: 20, pool)
      #expect(try await pool.changeConsumers().map(\.delay).min() == .zero)
    }
  }

  /// The file system has no space for the deleted pages in the WAL.
  @Test(.enabled(if: Administrator.canMount, "no file system can be mounted"))
  func aFullDiskLeavesTheLogIntact() throws {
    try withSmallDisk(size: "24m") { disk in
      let db = try SqliteDatabase(filepath: disk + "/log.sqlite")
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
      try db.transaction { db in
        try Member.insert((1...20_000).map { Member(id: $0, name: String(repeating: "m", count: 100)) }).run(db)
        _ = try ConsumerRecord.known("copy", of: "member", startingAt: .log, in: db)
      }
      let start = try #require(try db.changeConsumers().first?.position)
      _ = try db.checkpoint(.truncate)
      let filler = disk + "/filler"
      #expect(FileManager.default.createFile(atPath: filler, contents: nil))
      let file = try FileHandle(forWritingTo: URL(filePath: filler))
      while (try? file.write(contentsOf: Data(count: 4_096))) != nil {}
      try file.close()
      let error = expectSqlError { try ChangeLog.trim(db, keeping: .count(10)) }
      #expect(error?.kind == .full && error?.transaction == .rolledBack)
      #expect(try db.query("SELECT count(*) FROM sqlable_changes", as: Int.self) == [20_000])
      #expect(try db.changes(on: Member.self, since: start).changes.count == 1_000)
      try deleteAndFree(filler)
      #expect(try ChangeLog.trim(db, keeping: .count(10)) == 19_990)
      #expect(expectSqlError { _ = try db.changes(on: Member.self, since: start) }?.kind == .changeLog(.trimmed))
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      try db.close()
    }
  }

  @Test func refusesRulesWithoutMeaning() async throws {
    try await withLog { pool in
      expectMisuse { _ = try pool.transaction { db in try ChangeLog.trim(db) } }
      expectMisuse { _ = try pool.transaction { db in try ChangeLog.trim(db, keeping: .count(-1)) } }
      expectMisuse { _ = try pool.transaction { db in try ChangeLog.trim(db, keeping: .bytes(-1)) } }
      expectMisuse { _ = try pool.transaction { db in try ChangeLog.trim(db, keeping: .age(.seconds(-1))) } }
    }
  }

  @Test func numbersOfAnotherProgramEndNoProcess() async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      try await pool.transaction { db in
        try db.execute("UPDATE sqlable_changes SET seq = 9223372036854775807, at = -9223372036854775808")
        try db.execute(
          """
          INSERT INTO sqlable_change_consumers (name, "table", history, seq, at, isNew)
          SELECT 'edited', 'member', id, -9223372036854775808, 0, 0 FROM sqlable_change_history
          """)
      }
      #expect(try await ChangeLog.trim(pool, keeping: .count(0)) == 0)
      #expect(try await ChangeLog.trim(pool, keeping: .age(.zero)) == 0)
      #expect(try await ChangeLog.trim(pool, keeping: .bytes(0)) == 0)
      #expect(try await pool.changeConsumers().map(\.lag) == [1])
      var loop = pool.changes(on: Member.self, as: "edited").makeAsyncIterator()
      let error = await #expect(throws: SqlError.self) { _ = try await loop.next() }
      #expect(error?.kind == .changeLog(.otherHistory))
    }
  }
}
