import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite struct ConsumingTests {
  private struct Failure: Error {}

  /// Calls `body` with a pool whose table of members is logged, and with a table of ids.
  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try ChangeLog(Member.self).create(db)
        try db.execute("CREATE TABLE seen (id INTEGER)")
      }
      try await body(pool)
    }
  }

  private func seen(_ pool: SqlitePool) throws -> [Int] {
    try pool.query("SELECT id FROM seen ORDER BY rowid", as: Int.self)
  }

  private func note(_ db: SqliteDatabase, _ change: LoggedModelChange<Member>) throws {
    if case .insert(let member) = change.row { try db.execute("INSERT INTO seen VALUES (\(member.id))") }
  }

  @Test func theClosureRunsForRowsAndThenForEachChange() async throws {
    try await withLog { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      let task = Task { [note] in try await pool.consume("totals", on: Member.self) { try note($0, $1) } }
      try await until { (try? seen(pool)) == [1] }
      try await Member.insert([Member(id: 2, name: "m"), Member(id: 3, name: "m")]).run(pool)
      try await until { (try? seen(pool)) == [1, 2, 3] }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test func anErrorStoresNeitherTheEffectsNorThePosition() async throws {
    try await withLog { pool in
      try await Member.insert((1...3).map { Member(id: $0, name: "m") }).run(pool)
      await #expect(throws: Failure.self) {
        try await pool.consume("totals", on: Member.self, startingWith: .log) { [note] db, change in
          try note(db, change)
          if try db.query("SELECT count(*) FROM seen", as: Int.self) == [2] { throw Failure() }
        }
      }
      #expect(try seen(pool).isEmpty)
      let task = Task { [note] in
        try await pool.consume("totals", on: Member.self, startingWith: .log) { try note($0, $1) }
      }
      try await until { (try? seen(pool)) == [1, 2, 3] }
      task.cancel()
      _ = try? await task.value
    }
  }

  @Test func severalConsumersWithOneNameShareTheChanges() async throws {
    try await withLog { pool in
      let tasks = (0..<4).map { _ in
        Task { [note] in try await pool.consume("totals", on: Member.self, startingWith: .log) { try note($0, $1) } }
      }
      for id in 1...100 { try await Member(id: id, name: "m").insert().run(pool) }
      try await until { (try? seen(pool).count) == 100 }
      #expect(try seen(pool) == Array(1...100))
      for task in tasks { task.cancel() }
      for task in tasks { _ = try? await task.value }
    }
  }

  @Test func aLoopOverBatchesExcludesConsume() async throws {
    try await withLog { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      var loop = pool.changes(on: Member.self, as: "totals", startingWith: .log).makeAsyncIterator()
      let batch = try await loop.next()
      let error = await #expect(throws: SqlError.self) {
        try await pool.consume("totals", on: Member.self) { _, _ in }
      }
      #expect(error?.kind == .changeLog(.ownerChanged))
      try await batch?.acknowledge()
    }
  }

  @Test func consumeReplacesAnOwnerThatWasKilled() async throws {
    try await withLog { pool in
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("totals", of: "member", startingAt: .log, in: db)
        // A claim that the owner has not answered.
        try db.execute("UPDATE sqlable_change_consumers SET owner = '1-killed', claimed = 1")
      }
      try await Member(id: 1, name: "m").insert().run(pool)
      let task = Task { [note] in try await pool.consume("totals", on: Member.self) { try note($0, $1) } }
      try await until { (try? seen(pool)) == [1] }
      let owners = try await pool.query("SELECT owner FROM sqlable_change_consumers", as: String?.self)
      #expect(owners == [nil])
      task.cancel()
      _ = try? await task.value
    }
  }

  @Test func aNameBelongsToOneTable() async throws {
    try await withLog { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY, name TEXT)")
        try ChangeLog([]).adding(Member.self, named: "other").create(db)
        for (name, table) in [("one", "Member"), ("all", nil)] as [(String, String?)] {
          _ = try ConsumerRecord.known(name, of: table, startingAt: .log, in: db)
        }
      }
      func expectMisuse(_ message: String, _ body: () async throws -> Void) async {
        let error = await #expect(throws: SqlError.self) { try await body() }
        #expect(error?.kindIsMisuse == true && error?.message.contains(message) == true)
      }
      await expectMisuse("consumer one follows table Member; a consumer of table other needs another name") {
        try await pool.consume("one", on: Member.self, in: "other") { _, _ in }
      }
      await expectMisuse("consumer one follows table Member; a consumer of all tables") {
        try await pool.deliver("one") { _ in }
      }
      await expectMisuse("consumer all follows all tables; a consumer of table member") {
        var loop = pool.changes(on: Member.self, as: "all").makeAsyncIterator()
        _ = try await loop.next()
      }
      try await Member(id: 1, name: "m").insert().run(pool)
      var loop = pool.changes(on: Member.self, as: "one").makeAsyncIterator()
      #expect(try await loop.next()?.all().count == 1)
    }
  }

  @Test func consumeReturnsWhenThePoolCloses() async throws {
    try await withLoggedMembersToClose { pool in
      let task = Task { try await pool.consume("totals", on: Member.self) { _, _ in } }
      try await until { (try? pool.query("SELECT isNew FROM sqlable_change_consumers", as: Int.self)) == [0] }
      try await pool.close()
      try await task.value
    }
  }
}
