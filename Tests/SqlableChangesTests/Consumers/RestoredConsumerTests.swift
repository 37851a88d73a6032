import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Consumers and positions after restores of a backup, to a state before or after their positions.
@Suite(.disabled(if: isInMemory)) struct RestoredConsumerTests {
  private typealias Batches = ChangeBatches<LoggedModelChange<Member>>

  /// Calls `body` with a pool whose tables of members and people are logged, and with the path of a backup that has the
  /// members 1 to 4. The consumer `copy` has acknowledged the members 1 to 10.
  private func withBackup(
    _ body: (SqlitePool, String, inout Batches.Iterator) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        _ = try db.createTables(Member.self, Person.self)
        try ChangeLog(Member.self, Person.self).create(db)
      }
      var loop = pool.changes(on: Member.self, as: "copy", startingWith: .log).makeAsyncIterator()
      try await insert(1...4, pool)
      try await loop.next()?.acknowledge()
      try await pool.backup(to: directory + "/backup.sqlite")
      try await insert(5...10, pool)
      try await loop.next()?.acknowledge()
      try await body(pool, directory + "/backup.sqlite", &loop)
      try await pool.close(within: .seconds(300))
    }
  }

  private func insert(_ ids: ClosedRange<Int>, _ pool: SqlitePool) async throws {
    // Changes of a restored log have other times than the lost changes.
    try await Task.sleep(for: .milliseconds(5))
    try await Member.insert(ids.map { Member(id: $0, name: "m") }).run(pool)
    try await Task.sleep(for: .milliseconds(5))
  }

  private func insertPeople(_ count: Int, _ pool: SqlitePool) async throws {
    try await pool.transaction { db in
      for _ in 0..<count { try Person(id: nil, name: "p").insert().run(db) }
    }
  }

  private func ids(_ batch: ChangeBatch<LoggedModelChange<Member>>?) async throws -> [Int] {
    try await batch?.all().map { if case .insert(let member) = $0.row { member.id } else { 0 } } ?? []
  }

  private func kind(_ body: () async throws -> Void) async -> SqlError.Kind? {
    do { try await body() } catch { return (error as? SqlError)?.kind }
    return nil
  }

  private let otherHistory = SqlError.Kind.changeLog(.otherHistory)

  /// The log after the restore has only changes of another table, and the change of the consumer's position is deleted.
  @Test(arguments: [true, false])
  func aLoopNoticesARestoreToALogOfOtherTables(_ isReleased: Bool) async throws {
    try await withBackup { pool, backup, loop in
      try await pool.restore(from: backup)
      if isReleased {
        try await pool.transaction { db in try db.execute("UPDATE sqlable_change_consumers SET owner = NULL") }
      }
      try await insertPeople(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      try await insert(11...11, pool)
      #expect(await kind { _ = try await loop.next() } == otherHistory)
    }
  }

  @Test func aBatchFromBeforeARestoreCannotBeAcknowledged() async throws {
    try await withBackup { pool, backup, loop in
      try await insert(11...11, pool)
      let batch = try #require(try await loop.next())
      try await pool.restore(from: backup)
      try await insert(5...20, pool)
      #expect(await kind { try await batch.acknowledge() } == otherHistory)
      #expect(try await pool.changeConsumers().map(\.position.number) == [4])
    }
  }

  /// The backup has the consumer's position, but not the change that the loop has read afterwards.
  @Test func aBatchThatARestoreHasUndoneCannotBeAcknowledged() async throws {
    try await withBackup { pool, backup, loop in
      try await pool.backup(to: backup)
      try await insert(11...11, pool)
      let batch = try #require(try await loop.next())
      try await pool.restore(from: backup)
      #expect(await kind { try await batch.acknowledge() } == otherHistory)
      try await insert(12...12, pool)
      #expect(await kind { try await batch.acknowledge() } == otherHistory)
      try await insertPeople(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      #expect(await kind { try await batch.acknowledge() } == otherHistory)
      #expect(try await pool.changeConsumers().map(\.position.number) == [10])
    }
  }

  /// The log after the restore was trimmed beyond the end of the snapshot. The table has another change there, or none.
  @Test(arguments: [true, false])
  func aSnapshotThatARestoreHasUndoneCannotBeAcknowledged(_ hasOther: Bool) async throws {
    try await withBackup { pool, backup, _ in
      var loop = pool.changes(on: Member.self, as: "new").makeAsyncIterator()
      let batch = try #require(try await loop.next())
      try await pool.backup(to: backup)
      try await insert(11...11, pool)
      #expect(try await ids(batch) == Array(1...11))
      try await pool.restore(from: backup)
      if hasOther { try await insert(12...12, pool) }
      try await insertPeople(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      #expect(await kind { try await batch.acknowledge() } == otherHistory)
      #expect(try await pool.changeConsumers().map(\.isNew) == [false, true])
    }
  }

  /// A restore can bring back the owner of the time of the backup.
  @Test func aBatchOfAnOwnerThatTheBackupLacksCannotBeAcknowledged() async throws {
    try await withBackup { pool, backup, loop in
      try await pool.transaction { db in try db.execute("UPDATE sqlable_change_consumers SET owner = '1-other'") }
      try await pool.backup(to: backup)
      try await pool.transaction { db in try db.execute("UPDATE sqlable_change_consumers SET owner = NULL") }
      try await insert(11...11, pool)
      let batch = try #require(try await loop.next())
      #expect(try await ids(batch) == [11])
      try await pool.restore(from: backup)
      #expect(await kind { try await batch.acknowledge() } == .changeLog(.ownerChanged))
    }
  }

  /// `deliver` stores a position before the first retry, and finds the owner of the backup.
  @Test func aDeliveryOfAnOwnerThatTheBackupLacksEnds() async throws {
    struct Refused: Error {}
    try await withBackup { pool, backup, _ in
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("broker", of: "member", startingAt: .log, in: db)
        try db.execute("UPDATE sqlable_change_consumers SET owner = '1-other' WHERE name = 'broker'")
      }
      try await pool.backup(to: backup)
      try await pool.transaction { db in
        try db.execute("UPDATE sqlable_change_consumers SET owner = NULL WHERE name = 'broker'")
      }
      let error = await kind {
        try await pool.deliver("broker", on: Member.self) { change in
          guard change.position.number > 1 else { return }
          try await pool.restore(from: backup)
          throw Refused()
        }
      }
      #expect(error == .changeLog(.ownerChanged))
    }
  }

  /// The loop has read changes of another table, which the backup lacks.
  @Test func aLoopContinuesIfARestoreUndoesOnlyOtherTables() async throws {
    try await withBackup { pool, backup, loop in
      try await pool.backup(to: backup)
      try await insertPeople(2, pool)
      let hasRead = LockedValue(false)
      let token = pool.trace(.init()) { event in
        if event.sql.contains("\"kind\"") { hasRead.withLock { $0 = true } }
      }
      let waiting = LockedValue(loop)
      let batch = Task { [ids] in
        var loop = waiting.withLock { $0 }
        return try await ids(loop.next())
      }
      try await until { hasRead.withLock { $0 } }
      pool.removeTrace(token)
      try await pool.restore(from: backup)
      try await insert(11...11, pool)
      #expect(try await batch.value == [11])
    }
  }

  @Test func consumeContinuesAtTheRestoredPosition() async throws {
    try await withBackup { pool, backup, _ in
      try await pool.transaction { db in try db.execute("CREATE TABLE seen (id)") }
      try await pool.backup(to: backup)
      func consume(until count: Int) async throws {
        let task = Task {
          try await pool.consume("totals", on: Member.self, startingWith: .now) { db, change in
            if case .insert(let member) = change.row { try db.execute("INSERT INTO seen VALUES (\(member.id))") }
          }
        }
        try await until {
          let seen = try? pool.query(
            "SELECT (SELECT count(*) FROM seen), count(*) FROM sqlable_change_consumers", as: Int.self, Int.self)
          return seen?.first.map { $0.0 == count && $0.1 == 2 } == true
        }
        task.cancel()
        _ = try? await task.value
      }
      try await consume(until: 0)
      try await pool.backup(to: backup)
      try await insert(11...13, pool)
      try await consume(until: 3)
      try await pool.restore(from: backup)
      try await insert(21...22, pool)
      try await consume(until: 2)
      #expect(try await pool.query("SELECT id FROM seen ORDER BY id", as: Int.self) == [21, 22])
    }
  }

  /// The delivery of the change 11 is undone. The next call delivers the new change 11, with another id.
  @Test func aDeliveryContinuesAtTheRestoredPosition() async throws {
    try await withBackup { pool, backup, _ in
      let ids = LockedValue<[String]>([])
      @Sendable func deliver() async throws {
        try await pool.deliver("broker", on: Member.self, startingWith: .now) { change in
          ids.withLock { $0.append(change.position.description) }
        }
      }
      func reach(_ number: Int) async throws {
        let position: SQL = "SELECT seq FROM sqlable_change_consumers WHERE name = 'broker'"
        try await until { (try? pool.query(position, as: Int.self)) == [number] }
      }
      let first = Task { try await deliver() }
      try await reach(10)
      try await pool.backup(to: backup)
      try await insert(11...11, pool)
      try await reach(11)
      try await pool.restore(from: backup)
      try await insert(12...12, pool)
      #expect(await kind { try await first.value } == otherHistory)
      let second = Task { try await deliver() }
      try await reach(11)
      second.cancel()
      _ = await second.result
      let numbers = ids.withLock { $0 }.compactMap { ChangePosition($0)?.number }
      #expect(numbers == [11, 11] && Set(ids.withLock { $0 }).count == 2)
    }
  }

  @Test func aPositionAboveARestoredLogIsRefused() async throws {
    try await withBackup { pool, backup, _ in
      let position = try await pool.changePosition()
      try await pool.restore(from: backup)
      let changes = pool.changes(on: Member.self, since: position)
      func error() async -> SqlError.Kind? {
        await kind {
          var loop = changes.makeAsyncIterator()
          _ = try await loop.next()
        }
      }
      #expect(await error() == otherHistory)
      try await insert(5...10, pool)
      #expect(await error() == otherHistory)
      try await insertPeople(300, pool)
      try await ChangeLog.trim(pool, keeping: .count(1))
      #expect(await error() == .changeLog(.trimmed))
    }
  }

  /// A restore of a later backup, after a restore of an earlier one.
  @Test func aPositionBelowARestoredLogContinuesOrIsRefused() async throws {
    try await withBackup { pool, backup, loop in
      let later = backup + ".later"
      try await pool.backup(to: later)
      try await pool.restore(from: backup)
      let common = try await pool.changePosition()
      try await insert(21...22, pool)
      let undone = try await pool.changePosition()
      #expect(common.number == 4 && undone.number == 6)
      // A consumer of the earlier state has effects that the later state lacks.
      try await pool.removeChangeConsumer("copy")
      loop = pool.changes(on: Member.self, as: "copy", startingWith: .log).makeAsyncIterator()
      let batch = try #require(try await loop.next())
      #expect(try await ids(batch) == [1, 2, 3, 4, 21, 22])
      try await batch.acknowledge()
      try await pool.restore(from: later)
      #expect(await kind { _ = try await loop.next() } == otherHistory)
      let db = try SqliteDatabase(filepath: pool.filepath)
      let (changes, end) = try db.changes(on: Member.self, since: common)
      #expect(changes.map { if case .insert(let member) = $0.row { member.id } else { 0 } } == Array(5...10))
      #expect(try end == db.changePosition())
      #expect(await kind { _ = try db.changes(on: Member.self, since: undone) } == otherHistory)
      try db.close()
    }
  }
}
