import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite struct ChangeBatchesTests {
  private func ids(_ batch: ChangeBatch<LoggedModelChange<Member>>?) async throws -> [Int] {
    try await batch?.all().map { change in
      switch change.row {
      case .insert(let member): member.id
      case .update(_, let member): member.id
      case .delete(let member): -member.id
      }
    } ?? []
  }

  private func batches(
    _ pool: SqlitePool, _ start: ConsumerStart = .now, lease: Duration = .seconds(10)
  ) -> ChangeBatches<LoggedModelChange<Member>>.Iterator {
    pool.changes(on: Member.self, as: "copy", startingWith: start, lease: lease).makeAsyncIterator()
  }

  private func insert(_ ids: ClosedRange<Int>, _ pool: SqlitePool) async throws {
    try await Member.insert(ids.map { Member(id: $0, name: "m") }).run(pool)
  }

  @Test func aNewConsumerStartsWithTheRowsAndContinuesWithoutAGap() async throws {
    try await withLoggedMembers { pool in
      try await insert(1...3, pool)
      var loop = batches(pool, .rows)
      let rows = try await loop.next()
      #expect(rows?.isSnapshot == true)
      try await insert(4...4, pool)
      #expect(try await ids(rows) == [1, 2, 3, 4])
      try await insert(5...5, pool)
      let next = try await loop.next()
      #expect(next?.isSnapshot == false)
      #expect(try await ids(next) == [5])
    }
  }

  @Test(.needsSQLiteProgram, .disabled(if: isInMemory)) func aConsumerWithoutAModelHasAllTables() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE pair (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID")
        try ChangeLog([], keeping: .keys).adding(Member.self, named: "pair").create(db)
        try db.execute("CREATE TABLE other (a)")
        try db.execute("INSERT INTO pair VALUES (1, x'00')")
      }
      try await insert(1...2, pool)
      var loop = pool.changes(as: "audit").makeAsyncIterator()
      let rows = try await loop.next()
      #expect(rows?.isSnapshot == true)
      let pair: [DatabaseValue] = [.integer(1), .blob(Data([0]))]
      let expected: [[DatabaseValue]?] = [[.integer(1), .text("m")], [.integer(2), .text("m")], pair]
      let values = try await rows?.all().map(\.new?.values)
      #expect(values == expected)
      #expect(try await rows?.all().map(\.table) == ["member", "member", "pair"])
      #expect(try await rows?.all().map(\.key) == [["id"], ["id"], ["a", "b"]])
      let shell = try SQLiteProcess(pool.filepath)
      try shell.run(
        "BEGIN; UPDATE pair SET b = 2; DELETE FROM member WHERE id = 1; INSERT INTO other VALUES (1); COMMIT;")
      shell.quit()
      let next = try await loop.next()
      #expect(next?.isSnapshot == false)
      #expect(try await next?.all().map(\.table) == ["pair", "member"])
      let old = try await next?.all().map(\.old?.values)
      #expect(old == [pair, expected[0]])
      try await next?.acknowledge()
      let consumer = try #require(try await pool.changeConsumers().first)
      #expect(consumer.lag == 0)
      #expect(!consumer.isNew)
    }
  }

  @Test func consumeWithoutAModelHasEachChangeOnce() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in try db.execute("CREATE TABLE audit (name, change, id)") }
      try await insert(1...2, pool)
      let task = Task {
        try await pool.consume("audit") { db, change in
          let id = try change.new?.get("id", as: Int.self)
          try db.execute("INSERT INTO audit VALUES (\(change.table), \("\(change.change)"), \(id))")
        }
      }
      let count = SQL("SELECT count(*) FROM audit")
      try await until { (try? pool.query(count, as: Int.self)) == [2] }
      try await insert(3...3, pool)
      try await pool.transaction { db in try db.execute("DELETE FROM member WHERE id = 1") }
      try await until { (try? pool.query(count, as: Int.self)) == [4] }
      task.cancel()
      _ = try? await task.value
      let ids: [Int?] = try await pool.read { db in try db.query("SELECT id FROM audit ORDER BY rowid", as: Int?.self) }
      #expect(ids == [1, 2, 3, nil])
    }
  }

  @Test func aSnapshotThatIsNotAcknowledgedIsDeliveredAgain() async throws {
    try await withLoggedMembers { pool in
      try await insert(1...2, pool)
      do {
        var loop = batches(pool, .rows)
        #expect(try await ids(loop.next()) == [1, 2])
      }
      var loop = batches(pool, .rows)
      let again = try await loop.next()
      #expect(again?.isSnapshot == true)
      #expect(try await ids(again) == [1, 2])
    }
  }

  @Test func aConsumerStartsWithTheLogOrWithLaterChanges() async throws {
    try await withLoggedMembers { pool in
      try await insert(1...2, pool)
      var log = pool.changes(on: Member.self, as: "log", startingWith: .log).makeAsyncIterator()
      #expect(try await ids(log.next()) == [1, 2])
      var now = pool.changes(on: Member.self, as: "now", startingWith: .now).makeAsyncIterator()
      let first = Task { [ids] in
        var loop = now
        defer { now = loop }
        return try await ids(loop.next())
      }
      try await until { (try? pool.query("SELECT count(*) FROM sqlable_change_consumers", as: Int.self)) == [2] }
      try await insert(3...3, pool)
      #expect(try await first.value == [3])
    }
  }

  @Test func aLaterLoopStartsWithTheFirstChangeThatIsNotAcknowledged() async throws {
    try await withLoggedMembers { pool in
      do {
        var loop = batches(pool, .log)
        try await insert(1...2, pool)
        let batch = try await loop.next()
        #expect(try await ids(batch) == [1, 2])
        try await batch?.acknowledge()
        try await insert(3...3, pool)
        #expect(try await ids(loop.next()) == [3])
      }
      var loop = batches(pool)
      #expect(try await ids(loop.next()) == [3])
    }
  }

  @Test func askingForTheNextBatchAcknowledgesThePreviousOne() async throws {
    try await withLoggedMembers { pool in
      do {
        var loop = batches(pool, .log)
        try await insert(1...2, pool)
        _ = try await loop.next()
        try await insert(3...3, pool)
        _ = try await loop.next()
      }
      var loop = batches(pool)
      #expect(try await ids(loop.next()) == [3])
    }
  }

  @Test func theChangesOfACommitAreInOneBatch() async throws {
    try await withLoggedMembers { pool in
      var loop = batches(pool, .log)
      try await pool.transaction { db in
        for id in 1...2_500 { try Member(id: id, name: "m").insert().run(db) }
        try Member.updateAll(Member.name.set(to: "n")).run(db)
      }
      let batch = try await loop.next()
      #expect(try await ids(batch) == Array(1...2_500) + Array(1...2_500))
      let position = try await pool.changePosition()
      #expect(batch?.position == position)
    }
  }

  @Test func changesOfOtherTablesDoNotWakeTheLoopBody() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTable(Person.self)
        try ChangeLog(Member.self, Person.self).create(db)
      }
      var loop = batches(pool, .log)
      try await pool.transaction { db in
        for _ in 0..<3_000 { try Person(id: nil, name: "p").insert().run(db) }
      }
      try await insert(1...1, pool)
      #expect(try await ids(loop.next()) == [1])
    }
  }

  @Test func aSecondLoopWaitsUntilTheFirstEnds() async throws {
    try await withLoggedMembers { pool in
      let first = LockedValue<ChangeBatches<LoggedModelChange<Member>>.Iterator?>(batches(pool, .log))
      try await insert(1...1, pool)
      var loop = first.withLock { $0 }
      var batch = try await loop?.next()
      try await pool.transaction { db in
        try db.execute(
          """
          CREATE TABLE claim (isMade INTEGER);
          CREATE TRIGGER claims AFTER UPDATE OF claimed ON sqlable_change_consumers WHEN old.claimed IS NOT new.claimed
          BEGIN INSERT INTO claim VALUES (new.claimed IS NOT NULL); END
          """)
      }
      let second = Task { [ids, batches] in
        var loop = batches(pool, .now, .seconds(86_400))
        return try await ids(loop.next())
      }
      // The first loop answers the claim of the second.
      try await until { (try? pool.query("SELECT isMade FROM claim", as: Int.self)) == [1, 0] }
      try await batch?.acknowledge()
      try await insert(2...2, pool)
      (loop, batch) = (nil, nil)
      first.withLock { $0 = nil }
      #expect(try await second.value == [2])
    }
  }

  @Test func anOwnerThatDoesNotAnswerLosesTheConsumer() async throws {
    try await withLoggedMembers { pool in
      try await insert(1...1, pool)
      var loop = batches(pool, .log)
      let batch = try await loop.next()
      try await pool.transaction { db in try db.execute("UPDATE sqlable_change_consumers SET owner = 'other'") }
      let error = await #expect(throws: SqlError.self) { try await batch?.acknowledge() }
      #expect(error?.kind == .changeLog(.ownerChanged))
      // The loop takes over at the end of the other's lease.
      var other = batches(pool, .now, lease: .milliseconds(100))
      #expect(try await ids(other.next()) == [1])
    }
  }

  @Test func aClaimInTheDistantFutureDoesNotDelayALoop() async throws {
    try await withLoggedMembers { pool in
      try await insert(1...1, pool)
      var loop = batches(pool, .log)
      _ = try await loop.next()
      // The loop that made the claim had a clock that was a year ahead. Neither loop exists anymore.
      let claim = Int(Date().timeIntervalSince1970 * 1_000) + 31_536_000_000
      try await pool.transaction { db in
        try db.execute("UPDATE sqlable_change_consumers SET owner = 'other', claimed = \(claim)")
      }
      var other = batches(pool, .now, lease: .milliseconds(100))
      #expect(try await ids(other.next()) == [1])
    }
  }

  @Test func aLoopNoticesARestore() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/log.sqlite")
      try await pool.transaction { db in
        try db.createTable(Member.self)
        try ChangeLog(Member.self).create(db)
      }
      var loop = batches(pool, .log)
      try await insert(1...1, pool)
      let batch = try await loop.next()
      let rows = try await pool.read { db in try db.query("SELECT * FROM sqlable_changes", as: DynamicRow.self).count }
      #expect(rows == 1)
      try await batch?.acknowledge()
      // The state before the insert, as a restore would write it.
      try await pool.transaction { db in
        try db.execute("DELETE FROM sqlable_changes")
        try db.execute("UPDATE sqlable_change_consumers SET seq = 0, at = 0")
      }
      let error = await #expect(throws: SqlError.self) { try await loop.next() }
      #expect(error?.kind == .changeLog(.otherHistory))
      try await pool.close()
    }
  }

  /// The names of histories are random, and so is their order.
  @Test(arguments: ["0", "z"]) func aLoopNoticesADatabaseOfAnotherHistory(_ history: String) async throws {
    try await withLoggedMembers { pool in
      var loop = batches(pool, .log)
      try await insert(1...1, pool)
      try await loop.next()?.acknowledge()
      try await pool.transaction { db in
        try db.execute("UPDATE sqlable_change_history SET id = \(history)")
        try db.execute("UPDATE sqlable_change_consumers SET history = \(history)")
      }
      try await insert(2...2, pool)
      let error = await #expect(throws: SqlError.self) { try await loop.next() }
      #expect(error?.kind == .changeLog(.otherHistory))
    }
  }

  @Test func rowsAndChangesHaveTheSameColumns() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE keyed (k TEXT PRIMARY KEY, v)")
        try ChangeLog([]).adding(Member.self, named: "keyed").create(db)
        try db.execute("INSERT INTO keyed VALUES ('a', 1)")
      }
      var loop = pool.changes(as: "audit").makeAsyncIterator()
      let rows = try await loop.next()?.all()
      try await pool.transaction { db in try db.execute("INSERT INTO keyed VALUES ('b', 2)") }
      let changes = try await loop.next()?.all()
      #expect(rows?.map(\.new?.columns) == [["k", "v"]] && rows?.map(\.new?.values) == [["a", 1]])
      #expect(changes?.map(\.new?.columns) == [["k", "v"]])
    }
  }

  @Test func aRemovedConsumerStartsAgain() async throws {
    try await withLoggedMembers { pool in
      try await insert(1...2, pool)
      do {
        var loop = batches(pool, .rows)
        try await loop.next()?.acknowledge()
      }
      try await pool.removeChangeConsumer("copy")
      var loop = batches(pool, .rows)
      #expect(try await loop.next()?.isSnapshot == true)
    }
  }

  @Test func refusesALeaseThatIsTooShortAndAnEmptyName() async throws {
    try await withLoggedMembers { pool in
      var short = batches(pool, .log, lease: .milliseconds(1))
      #expect(await #expect(throws: SqlError.self) { try await short.next() }?.kindIsMisuse == true)
      var unnamed = pool.changes(on: Member.self, as: "").makeAsyncIterator()
      #expect(await #expect(throws: SqlError.self) { try await unnamed.next() }?.kindIsMisuse == true)
    }
  }

  @Test func theLoopEndsWhenThePoolCloses() async throws {
    try await withLoggedMembersToClose { pool in
      let task = Task { [batches] in
        var loop = batches(pool, .now, .seconds(10))
        return try await loop.next() == nil
      }
      try await until { (try? pool.query("SELECT owner FROM sqlable_change_consumers", as: String.self).count) == 1 }
      try await pool.close()
      #expect(try await task.value)
    }
  }
}
