import Foundation
import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Live results of closures, which make several reads on one snapshot.
struct LiveClosureTests {
  private static let alone = PoolConfiguration(pollInterval: nil)

  /// Counts the runs of a closure.
  private final class Runs: Sendable {
    private let value = LockedValue(0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
  }

  private enum Wheel: TableDeclaration {
    static let name = "wheel"
    static let id = Column("id", .integer, PrimaryKey())
    static let picture = Entry<Wheel>.column("picture", [UInt8].self)
    static let columns = [id, picture.column]
  }

  /// A pool with two members and tables of wheels and notes.
  private func withWheels(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withMembers(LiveClosureTests.alone) { pool in
      try await pool.execute(
        """
        CREATE TABLE wheel (id INTEGER PRIMARY KEY, size INTEGER, picture BLOB);
        CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT);
        INSERT INTO member VALUES (1, 'Anna'), (2, 'Bo');
        INSERT INTO wheel VALUES (1, 26, x'00'), (2, 28, x'01')
        """)
      try await body(pool)
    }
  }

  /// Waits until the pool has matched all its commits, by a loop that every commit concerns.
  private func settle(_ pool: SqlitePool, _ all: Follower<[DynamicRow]>, _ change: SQL) async throws {
    let before = all.values.count
    try await pool.execute(change)
    try await until { all.values.count > before }
  }

  private func everything(_ pool: SqlitePool) async throws -> Follower<[DynamicRow]> {
    let all = Follower(
      SQL("SELECT m.*, w.*, n.* FROM member m, wheel w LEFT JOIN note n").rows(as: DynamicRow.self).updates(in: pool))
    try await until { all.values.count == 1 }
    return all
  }

  @Test(.needsPreupdateHook) func aCommitToAnyTableThatTheClosureReadsRunsItAgain() async throws {
    try await withWheels { pool in
      let runs = Runs()
      let both = Follower(
        pool.updates { db in
          runs.add()
          return (try Member.count().run(db), try db.query("SELECT max(size) FROM wheel", as: Int?.self)[0])
        })
      let all = try await everything(pool)
      try await until { both.values.count == 1 }
      #expect(both.latest.map { $0 == (2, 28) } == true)
      try await settle(pool, all, "INSERT INTO note VALUES (1, 'x')")
      try await settle(pool, all, "UPDATE wheel SET picture = x'02'")
      try await settle(pool, all, "UPDATE member SET name = 'Cid' WHERE id = 2")
      #expect(runs.count == 1)
      try await settle(pool, all, "UPDATE wheel SET size = 29 WHERE id = 2")
      try await until { both.latest.map { $0 == (2, 29) } == true }
      try await settle(pool, all, "DELETE FROM member WHERE id = 1")
      try await until { both.latest.map { $0 == (1, 29) } == true }
      #expect(runs.count == 3)
    }
  }

  @Test func bothReadsSeeOneSnapshot() async throws {
    try await withMembers { pool in
      try await pool.execute("CREATE TABLE twin (n INTEGER); INSERT INTO twin VALUES (0)")
      let pairs = Follower(
        pool.updates { db in
          let first = try Member.count().run(db)
          usleep(200)
          return (first, try db.query("SELECT n FROM twin", as: Int.self)[0])
        })
      for id in 1...200 {
        try await pool.transaction { db in
          try Member(id: id, name: "").insert().run(db)
          try db.execute("UPDATE twin SET n = n + 1")
        }
      }
      try await until { pairs.latest?.0 == 200 }
      #expect(pairs.values.allSatisfy { $0.0 == $0.1 })
    }
  }

  /// The first run is not yet expected to read the table, whose change comes after the snapshot.
  @Test func aCommitDuringTheFirstRunIsNotMissed() async throws {
    try await withWheels { pool in
      let runs = Runs()
      let sizes = Follower(
        pool.updates { db in
          let sizes = try db.query("SELECT size FROM wheel ORDER BY id", as: Int.self)
          runs.add()
          if runs.count == 1 { try onThread { try pool.execute("UPDATE wheel SET size = 1 WHERE id = 1") } }
          return sizes
        })
      try await until { sizes.latest == [1, 28] }
      #expect(runs.count == 2)
    }
  }

  @Test(.needsPreupdateHook) func aTableThatALaterRunReadsIsFollowedFromThen() async throws {
    try await withWheels { pool in
      let runs = Runs()
      let texts = Follower(
        pool.updates { db -> [String] in
          runs.add()
          guard try Member.count().filter(Member.name == "Zoe").run(db) > 0 else { return [] }
          return try db.query("SELECT text FROM note ORDER BY id", as: String.self)
        })
      let all = try await everything(pool)
      try await until { texts.values == [[]] }
      try await settle(pool, all, "INSERT INTO note VALUES (1, 'unread')")
      #expect(runs.count == 1)
      try await pool.execute("UPDATE member SET name = 'Zoe' WHERE id = 1")
      try await until { texts.latest == ["unread"] }
      try await pool.execute("INSERT INTO note VALUES (2, 'read')")
      try await until { texts.latest == ["unread", "read"] }
    }
  }

  /// The commit comes after the snapshot of the first run that reads the table.
  @Test func aCommitToATableWhileItIsFirstReadIsNotMissed() async throws {
    try await withWheels { pool in
      let reads = Runs()
      let texts = Follower(
        pool.updates { db -> [String] in
          guard try Member.count().filter(Member.name == "Zoe").run(db) > 0 else { return [] }
          let texts = try db.query("SELECT text FROM note ORDER BY id", as: String.self)
          reads.add()
          if reads.count == 1 { try onThread { try pool.execute("INSERT INTO note VALUES (1, 'late')") } }
          return texts
        })
      try await until { texts.values == [[]] }
      try await pool.execute("UPDATE member SET name = 'Zoe' WHERE id = 1")
      try await until { texts.latest == ["late"] }
    }
  }

  @Test(.needsPreupdateHook) func theFilterOfAnOnlyStatementIsEvaluatedForChangedRows() async throws {
    try await withWheels { pool in
      let runs = Runs()
      let named = Follower(
        pool.updates { db in
          runs.add()
          return try Member.read().filter(Member.name == "Bo").run(db).map(\.id)
        })
      let all = try await everything(pool)
      try await until { named.values == [[2]] }
      try await settle(pool, all, "INSERT INTO member VALUES (3, 'Cid')")
      try await settle(pool, all, "UPDATE member SET name = 'Dan' WHERE id = 1")
      #expect(runs.count == 1)
      try await settle(pool, all, "INSERT INTO member VALUES (4, 'Bo')")
      try await until { named.latest == [2, 4] }
    }
  }

  @Test func aFilterThatDiffersFromRunToRunIsNotEvaluated() async throws {
    try await withWheels { pool in
      let runs = Runs()
      let ids = Follower(
        pool.updates { db in
          runs.add()
          return try Member.read().filter(Member.id > runs.count).run(db).map(\.id)
        })
      try await until { ids.values == [[2]] }
      try await pool.execute("INSERT INTO member VALUES (3, 'Cid')")
      try await until { ids.latest == [3] }
      // The filter `id > 2` matches neither the old nor the new row, but the next run reads with `id > 3`.
      try await pool.execute("UPDATE member SET name = 'x' WHERE id = 1")
      try await until { ids.latest == [] }
    }
  }

  @Test func everyWayToReadIsRecorded() async throws {
    try await withWheels { pool in
      let byCursor = Follower(
        pool.updates { db in
          var names: [String] = []
          try Member.read().orderBy(Member.id).forEach(db) { names.append($0.name) }
          return names
        })
      let byPrepared = Follower(
        pool.updates { db in try db.prepare(Member.count().filter(Member.id > Parameter("id"))).run(["id": 1]) })
      let byBlob = Follower(
        pool.updates { db in try db.readBlob(Wheel.picture, of: Entry<Wheel>.byId(1)) { try $0.read(1, at: 0) } })
      let byUnion = Follower(
        pool.updates { db in
          try db.query("SELECT size FROM wheel UNION SELECT length(text) FROM note ORDER BY 1", as: Int.self)
        })
      try await until {
        [byCursor.values.count, byPrepared.values.count, byBlob.values.count, byUnion.values.count] == [1, 1, 1, 1]
      }
      try await pool.execute("INSERT INTO member VALUES (3, 'Cid')")
      try await until { byCursor.latest == ["Anna", "Bo", "Cid"] && byPrepared.latest == 2 }
      try await pool.execute("UPDATE wheel SET picture = x'ff' WHERE id = 1")
      try await until { byBlob.latest == [0xff] }
      try await pool.execute("INSERT INTO note VALUES (1, 'four')")
      try await until { byUnion.latest == [4, 26, 28] }
    }
  }

  @Test func onlyChangesSkipsEqualValues() async throws {
    try await withWheels { pool in
      let all = Follower(pool.updates { db in try db.query("SELECT count(*) FROM wheel", as: Int.self) })
      let changed = Follower(
        pool.updates(onlyChanges: true) { db in try db.query("SELECT count(*) FROM wheel", as: Int.self) })
      try await until { all.values.count == 1 && changed.values.count == 1 }
      try await pool.execute("DELETE FROM wheel WHERE id = 1; INSERT INTO wheel VALUES (1, 20, NULL)")
      try await until { all.values == [[2], [2]] }
      try await pool.execute("DELETE FROM wheel WHERE id = 1")
      try await until { all.latest == [1] && changed.latest == [1] }
      #expect(changed.values == [[2], [1]])
    }
  }

  @Test func loopsOverOneSequenceShareItsRuns() async throws {
    try await withWheels { pool in
      let runs = Runs()
      let updates = pool.updates { db in
        runs.add()
        return try Member.count().run(db)
      }
      let loops = (0..<20).map { _ in Follower(updates) }
      try await until { loops.allSatisfy { $0.latest == 2 } }
      let before = runs.count
      try await pool.execute("DELETE FROM member")
      try await until { loops.allSatisfy { $0.latest == 0 } }
      #expect(runs.count == before + 1)
    }
  }

  @Test func anErrorOfTheClosureEndsTheLoop() async throws {
    struct Refusal: Error {}
    try await withWheels { pool in
      var refused = pool.updates { (_: SqliteDatabase) -> Int in throw Refusal() }.makeAsyncIterator()
      await #expect(throws: Refusal.self) { try await refused.next() }
      #expect(try await refused.next() == nil)
      var writing = pool.updates { db in try Member(id: 9, name: "").insert().run(db) }.makeAsyncIterator()
      do {
        _ = try await writing.next()
        Issue.record("a write inside a live result did not throw")
      } catch let error as SqlError {
        #expect(error.kind == .readOnly)
      }
      #expect(try await Member.count().run(pool) == 2)
    }
  }

  /// SQLite computes these from the whole file, so that any commit can change them.
  @Test func valuesOfTheWholeFileAreReadAfterEveryCommit() async throws {
    try await withWheels { pool in
      let pages = Follower(
        pool.updates { db in try db.query("SELECT page_count FROM pragma_page_count", as: Int.self)[0] })
      let version = Follower(pool.updates { db in try db.query("PRAGMA user_version", as: Int.self)[0] })
      let text = Follower(SQL("SELECT page_count FROM pragma_page_count").rows(as: Int.self).updates(in: pool))
      try await until { pages.values.count == 1 && version.values == [0] && text.values.count == 1 }
      let before = pages.latest ?? 0
      try await pool.execute("INSERT INTO note VALUES (1, hex(zeroblob(100000)))")
      try await until { pages.latest ?? 0 > before + 40 && text.latest?.first ?? 0 > before + 40 }
      try await pool.execute("PRAGMA user_version = 3")
      try await until { version.latest == 3 }
    }
  }
}
