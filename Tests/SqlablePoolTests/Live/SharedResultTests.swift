import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Loops over equal live results, which share their reads.
struct SharedResultTests {
  private static let alone = PoolConfiguration(pollInterval: nil)

  @Test func aCommitIsReadOnceForAllLoops() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      let loops = (0..<50).map { _ in Follower(Member.read().orderBy(Member.id).updates(in: pool)) }
      let counts = (0..<50).map { _ in Follower(Member.count().updates(in: pool)) }
      try await until { loops.allSatisfy { $0.values.count == 1 } && counts.allSatisfy { $0.values.count == 1 } }
      #expect(pool.statistics.loops == 100)
      let before = pool.statistics.reads
      try await Member(id: 1, name: "a").insert().run(pool)
      try await until { loops.allSatisfy { $0.values.count == 2 } && counts.allSatisfy { $0.values.count == 2 } }
      #expect(pool.statistics.reads == before + 2)
      #expect(loops.allSatisfy { $0.values == [[], [Member(id: 1, name: "a")]] })
      #expect(counts.allSatisfy { $0.values == [0, 1] })
    }
  }

  /// A loop with onlyChanges skips results that a loop without the option gets.
  @Test func loopsWithOtherOptionsShareNoResult() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      try await Member(id: 1, name: "a").insert().run(pool)
      let first = Member.read().orderBy(Member.id).limit(1)
      let (all, changed) = (Follower(first.updates(in: pool)), Follower(first.updates(in: pool, onlyChanges: true)))
      let second = Follower(Member.read().orderBy(Member.id).limit(2).updates(in: pool))
      try await until { [all, changed, second].allSatisfy { $0.values.count == 1 } }
      try await pool.transaction { db in
        for name in ["z", "a"] { try Member(id: 1, name: name).update().run(db) }
      }
      try await Member(id: 2, name: "b").insert().run(pool)
      try await until { second.latest?.count == 2 && all.values.count >= 2 }
      try await Task.sleep(for: .milliseconds(20))
      #expect(changed.values.count == 1)
    }
  }

  @Test func aCancelledLoopDisturbsNoOther() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      let loops = (0..<20).map { _ in Follower(Member.count().updates(in: pool)) }
      for id in 1...200 {
        if id % 20 == 0 { loops[id / 20 - 1].task.cancel() }
        try await Member(id: id, name: "a").insert().run(pool)
      }
      for loop in loops[10...] { try await until { loop.latest == 200 } }
      for loop in loops[10...] {
        #expect(loop.latest == 200)
        // Results never go back.
        #expect(loop.values == loop.values.sorted())
      }
    }
  }

  @Test func readErrorEndsAllLoops() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      let loops = (0..<20).map { _ in Follower(Member.count().updates(in: pool)) }
      try await until { loops.allSatisfy { $0.values == [0] } }
      try await pool.transaction { db in try db.execute("DROP TABLE member") }
      for loop in loops {
        do {
          try await loop.task.value
          Issue.record("a result without a table")
        } catch let error as SqlError { #expect(error.kind == .schema(.missingTable("member"))) }
      }
      try await pool.transaction { db in try db.createTable(Member.self) }
      var later = Member.count().updates(in: pool).makeAsyncIterator()
      #expect(try await later.next() == 0)
    }
  }

  /// A new loop gets every acknowledged commit, even if other loops already have a result. Half of the commits are
  /// external and without notification.
  @Test func newLoopNeverGetsAnOutdatedResult() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      let other = try SqliteDatabase(filepath: pool.filepath)
      let loops = (0..<5).map { _ in Follower(Member.count().updates(in: pool)) }
      try await until { loops.allSatisfy { !$0.values.isEmpty } }
      for id in 1...300 {
        if id % 2 == 0 {
          try await Member(id: id, name: "a").insert().run(pool)
        } else {
          try Member(id: id, name: "a").insert().run(other)
        }
        var updates = Member.count().updates(in: pool).makeAsyncIterator()
        #expect(try await updates.next() == id)
      }
      for loop in loops { #expect(loop.values == loop.values.sorted()) }
    }
  }

  /// A slow loop gets all commits that were acknowledged before its call, in one result.
  @Test func slowLoopGetsTheLatestResultAmongFastOnes() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      let quick = Follower(Member.count().updates(in: pool))
      var slow = Member.count().updates(in: pool).makeAsyncIterator()
      #expect(try await slow.next() == 0)
      for round in 1...50 {
        for id in 1...4 { try await Member(id: round * 10 + id, name: "a").insert().run(pool) }
        #expect(try await slow.next() == round * 4)
      }
      try await until { quick.latest == 200 }
      #expect(quick.latest == 200)
    }
  }

  /// Loops start and end in any order during commits. The remaining loops reach the count of the table.
  @Test func changingLoopsAllReachTheFinalCount() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      let stays = (0..<4).map { _ in Follower(Member.count().updates(in: pool)) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            for _ in 0..<100 {
              var seen = -1
              for try await count in Member.count().updates(in: pool) {
                #expect(count >= seen)
                seen = count
                if Bool.random() { break }
                if count >= 300 { break }
              }
            }
          }
        }
        group.addTask {
          for id in 1...300 { try await Member(id: id, name: "a").insert().run(pool) }
        }
        try await group.waitForAll()
      }
      let count = try await Member.count().run(pool)
      for loop in stays { try await until { loop.latest == count } }
      #expect(stays.allSatisfy { $0.latest == count })
    }
  }

  // MARK: Pages

  private func reads(_ pool: SqlitePool, _ write: () async throws -> Void) async throws -> Int {
    let before = pool.statistics.reads
    try await write()
    try await Task.sleep(for: .milliseconds(30))
    return pool.statistics.reads - before
  }

  @Test(.needsPreupdateHook) func changesBehindAFullPageCauseNoRead() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      for id in 1...10 { try await Member(id: id, name: "m").insert().run(pool) }
      let page = Follower(Member.read().orderBy(Member.id).limit(3, offset: 2).updates(in: pool))
      try await until { page.latest?.map(\.id) == [3, 4, 5] }
      let behind = try await reads(pool) {
        try await Member(id: 100, name: "m").insert().run(pool)
        try await Member(id: 8, name: "other").update().run(pool)
        try await Member.delete(Member.id == 7).run(pool)
      }
      #expect(behind == 0)
      try await Member.delete(Member.id == 1).run(pool)
      try await until { page.latest?.map(\.id) == [4, 5, 6] }
      #expect(page.latest?.map(\.id) == [4, 5, 6])
      // After the change of the page, row 6 belongs to it.
      try await Member.update(Member.name.set(to: "six")).filter(Member.id == 6).run(pool)
      try await until { page.latest?.last?.name == "six" }
      #expect(page.latest?.last?.name == "six")
      try await Member.delete(Member.id >= 5).run(pool)
      try await until { page.latest?.map(\.id) == [4] }
      // The page is no longer full.
      try await Member(id: 1_000, name: "m").insert().run(pool)
      try await until { page.latest?.map(\.id) == [4, 1_000] }
      #expect(page.latest?.map(\.id) == [4, 1_000])
    }
  }

  /// A row whose initializer throws while `isBroken` is set.
  private struct Fragile: Sqlable {
    static let tableName = "member"
    static let id = column("id", Int.self, PrimaryKey())
    static let tableLayout = [id.column]
    static let (isBroken, made) = (Mutex(false), Mutex(0))

    struct Broken: Error {}

    init(row: ReadRow) throws {
      row.skip(Fragile.id)
      Fragile.made.withLock { $0 += 1 }
      if Fragile.isBroken.withLock({ $0 }) { throw Broken() }
    }
    func write(to row: inout RowWriter) throws {}
  }

  /// A read for another loop fails. The first loop has the latest result and continues.
  @Test func readErrorSparesLoopsWithTheLatestResult() async throws {
    try await withMembers(SharedResultTests.alone) { pool in
      try await Member(id: 1, name: "a").insert().run(pool)
      let patient = Follower(Fragile.read().updates(in: pool, onlyChanges: true))
      try await until { patient.values.count == 1 }
      // The loop reads again and gets an equal result.
      try await pool.transaction { db in
        try Member(id: 2, name: "b").insert().run(db)
        try Member.delete(Member.id == 2).run(db)
      }
      try await until { Fragile.made.withLock { $0 } == 2 }
      Fragile.isBroken.withLock { $0 = true }
      var later = Fragile.read().updates(in: pool, onlyChanges: true).makeAsyncIterator()
      await #expect(throws: Fragile.Broken.self) { try await later.next() }
      Fragile.isBroken.withLock { $0 = false }
      try await Member(id: 3, name: "c").insert().run(pool)
      try await until { patient.values.count == 2 }
      #expect(patient.values.map(\.count) == [1, 2])
    }
  }
}
