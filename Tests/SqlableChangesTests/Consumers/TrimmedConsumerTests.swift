import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePool
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Consumers whose log is trimmed between a read and the acknowledgement.
@Suite struct TrimmedConsumerTests {
  private typealias Loop = ChangeBatches<LoggedModelChange<Member>>.Iterator

  /// Calls `body` with a pool whose tables of members and people are logged, and a loop that has acknowledged a member.
  private func withConsumer(_ body: (SqlitePool, inout Loop) async throws -> Void) async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTable(Person.self)
        try ChangeLog(Member.self, Person.self).create(db)
      }
      try await insert([1], pool)
      var loop = pool.changes(on: Member.self, as: "copy", startingWith: .log).makeAsyncIterator()
      try await loop.next()?.acknowledge()
      try await body(pool, &loop)
    }
  }

  private func insert(_ ids: some Sequence<Int>, _ pool: SqlitePool) async throws {
    try await Member.insert(ids.map { Member(id: $0, name: "m") }).run(pool)
  }

  private func insertPeople(_ count: Int, _ db: SqliteDatabase) throws {
    try db.execute(
      """
      INSERT INTO person (name) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      SELECT 'p' FROM n
      """)
  }

  private func people(_ count: Int, _ pool: SqlitePool) async throws {
    try await pool.transaction { db in try insertPeople(count, db) }
  }

  private func ids(_ batch: ChangeBatch<LoggedModelChange<Member>>?) async throws -> [Int] {
    try await batch?.all().map { if case .insert(let member) = $0.row { member.id } else { 0 } } ?? []
  }

  private func kind(_ body: () async throws -> Void) async -> SqlError.Kind? {
    do { try await body() } catch { return (error as? SqlError)?.kind }
    return nil
  }

  /// After 1,000 changes of other tables, the consumer stores its position. While it waits for the writer, more changes
  /// follow, and all but the last are deleted; or a restore undoes the changes of the other tables.
  @Test(arguments: [1, 2_000, nil]) func aTrimOrRestoreBeforeAPositionIsStoredIsNoError(_ more: Int?) async throws {
    try await withConsumer { pool, loop in
      try await people(1_500, pool)
      let (isHeld, hasEnded) = (LockedValue(false), LockedValue(false))
      let writer = Task {
        try await pool.transaction { db in
          isHeld.withLock { $0 = true }
          let end = ContinuousClock.now + .seconds(1_000)
          var isAwaited = false
          while !isAwaited, !hasEnded.withLock({ $0 }), ContinuousClock.now < end {
            usleep(1_000)
            isAwaited = pool.withState { !$0.waitingWrites.waiting.isEmpty }
          }
          if let more {
            try insertPeople(more, db)
            try ChangeLog.trim(db, keeping: .count(1))
          } else {
            try db.execute("DELETE FROM sqlable_changes WHERE seq > 1")
          }
          return isAwaited
        }
      }
      try await until { isHeld.withLock { $0 } }
      let waiting = LockedValue(loop)
      let batch = Task { [ids] in
        defer { hasEnded.withLock { $0 = true } }
        var loop = waiting.withLock { $0 }
        return try await ids(loop.next())
      }
      #expect(try await writer.value)
      try await insert([2], pool)
      #expect(try await batch.value == [2])
    }
  }

  @Test(arguments: [1, 2_500])
  func aBatchThatWasReadCanBeAcknowledgedAfterItsChangesWereDeleted(_ count: Int) async throws {
    try await withConsumer { pool, loop in
      try await insert(2..<2 + count, pool)
      let batch = try #require(try await loop.next())
      #expect(try await ids(batch) == Array(2..<2 + count))
      try await people(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      try await batch.acknowledge()
      try await insert([9_000], pool)
      #expect(try await ids(loop.next()) == [9_000])
    }
  }

  @Test func aBatchThatWasNotReadCannotBeAcknowledgedAfterItsChangesWereDeleted() async throws {
    try await withConsumer { pool, loop in
      try await insert(2...2_500, pool)
      try await people(1, pool)
      let batch = try #require(try await loop.next())
      try await people(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      #expect(await kind { _ = try await batch.all() } == .changeLog(.trimmed))
      #expect(await kind { try await batch.acknowledge() } == .changeLog(.trimmed))
    }
  }

  /// Between the start and the snapshot, another table changes. The members are changes in the log, or older.
  @Test(arguments: [true, false]) func aSnapshotCanBeAcknowledgedAfterATrim(_ isLogged: Bool) async throws {
    try await withMembers { pool in
      if !isLogged { try await insert([1], pool) }
      try await pool.transaction { db in
        try db.createTable(Person.self)
        try ChangeLog(Member.self, Person.self).create(db)
      }
      if isLogged { try await insert([1], pool) }
      var loop = pool.changes(on: Member.self, as: "new").makeAsyncIterator()
      let batch = try #require(try await loop.next())
      try await people(1, pool)
      #expect(try await ids(batch) == [1])
      try await people(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      try await batch.acknowledge()
      try await insert([2], pool)
      #expect(try await ids(loop.next()) == [2])
    }
  }

  @Test func deletedChangesAfterASnapshotAreNoticed() async throws {
    try await withConsumer { pool, _ in
      var loop = pool.changes(on: Member.self, as: "new").makeAsyncIterator()
      let batch = try #require(try await loop.next())
      #expect(try await ids(batch) == [1])
      try await insert([2], pool)
      try await people(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      #expect(await kind { try await batch.acknowledge() } == .changeLog(.trimmed))
    }
  }

  @Test func deletedChangesAfterABatchAreNoticed() async throws {
    try await withConsumer { pool, loop in
      try await insert([2], pool)
      do {
        let batch = try #require(try await loop.next())
        try await insert([3], pool)
        try await people(300, pool)
        try await ChangeLog.trim(pool, keeping: .count(1))
        #expect(await kind { try await batch.acknowledge() } == .changeLog(.trimmed))
      }
      // `next()` of the same loop would acknowledge the batch first.
      loop = pool.changes(on: Member.self, as: "copy").makeAsyncIterator()
      #expect(await kind { _ = try await loop.next() } == .changeLog(.trimmed))
    }
  }

  /// The closure logs changes of another table, and deletes the change at which the transaction ends. The first call
  /// receives the row, and the second the changes.
  @Test func theClosureOfConsumeCanTrimTheLog() async throws {
    try await withConsumer { pool, _ in
      func consume(until last: Int) async throws {
        let hasEnded = LockedValue(false)
        let task = Task { [insertPeople] in
          defer { hasEnded.withLock { $0 = true } }
          try await pool.consume("totals", on: Member.self) { db, _ in
            try insertPeople(1, db)
            try ChangeLog.trim(db, keeping: .count(1))
          }
        }
        try await until {
          let positions = try? pool.query(
            "SELECT seq FROM sqlable_change_consumers WHERE name = 'totals' AND NOT isNew", as: Int.self)
          return positions == [last] || hasEnded.withLock { $0 }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      try await people(1, pool)
      try await consume(until: 2)
      #expect(try await pool.query("SELECT seq FROM sqlable_changes", as: Int.self) == [3])
      try await insert([2, 3], pool)
      try await people(1, pool)
      try await consume(until: 6)
      #expect(try await pool.query("SELECT seq FROM sqlable_changes", as: Int.self) == [8])
    }
  }

  @Test func theClosureOfConsumeCannotTrimChangesThatItHasNotReceived() async throws {
    try await withConsumer { pool, _ in
      try await insert(2...1_500, pool)
      let hasEnded = LockedValue(false)
      let task = Task {
        defer { hasEnded.withLock { $0 = true } }
        try await pool.consume("totals", on: Member.self, startingWith: .log) { db, _ in
          try ChangeLog.trim(db, keeping: .count(1))
        }
      }
      // Without the error, the transaction is committed.
      try await until {
        let count = try? pool.query("SELECT count(*) FROM sqlable_changes", as: Int.self)
        return count == [1] || hasEnded.withLock { $0 }
      }
      task.cancel()
      #expect(await kind { try await task.value } == .changeLog(.trimmed))
      #expect(try await pool.query("SELECT count(*) FROM sqlable_changes", as: Int.self) == [1_500])
      #expect(try await pool.changeConsumers().map(\.position.number) == [1, 0])
    }
  }

  /// The changes that the loop has read again are gone, but they belonged to other tables.
  @Test func aPageEndsAtTheLastDeletedChange() async throws {
    try await withConsumer { pool, loop in
      try await insert(2...3_001, pool)
      let batch = try #require(try await loop.next())
      // The first page ends with the change at which the log now begins.
      try await ChangeLog.trim(pool, keeping: .count(2_000))
      #expect(try await ids(batch).count == 3_000)
      try await batch.acknowledge()
    }
  }

  @Test func aReaderOfAllTablesBeginsWithTheFirstChangeAfterAConsumer() async throws {
    try await withConsumer { pool, loop in
      try await people(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(10))
      let count = try await pool.read { db in
        let reader = LogReader()
        return try reader.page(after: reader.position(ofConsumer: "copy", in: db), in: db).changes.count
      }
      #expect(count == 10)
      try await insert([2], pool)
      try await ChangeLog.trim(pool, keeping: .count(0))
      try await insert([3], pool)
      try await ChangeLog.trim(pool, keeping: .count(0))
      let error = await kind { _ = try await pool.read { try LogReader().position(ofConsumer: "copy", in: $0) } }
      #expect(error == .changeLog(.trimmed))
      #expect(await kind { _ = try await loop.next() } == error)
    }
  }

  @Test func aNewConsumerStartsAfterTheDeletedChanges() async throws {
    try await withConsumer { pool, loop in
      try await insert(2...4, pool)
      try await people(1, pool)
      try await ChangeLog.trim(pool, keeping: .count(3))
      var new = pool.changes(on: Member.self, as: "new", startingWith: .log).makeAsyncIterator()
      #expect(try await ids(new.next()) == [3, 4])
      #expect(await kind { _ = try await loop.next() } == .changeLog(.trimmed))
    }
  }
}
