import Foundation
import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Live results of handles without a pool.
struct LiveHandleTests {
  private func withHandle(
    _ filename: String = "test.sqlite", _ configuration: Configuration = .init(),
    _ body: (SqliteDatabase) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { directory in
      let path = filename == ":memory:" ? filename : "\(directory)/\(filename)"
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try db.createTable(Member.self)
      try await body(db)
    }
  }

  @Test(arguments: ["test.sqlite", ":memory:"]) func commitsOfTheHandleAndItsChildrenAreFollowed(
    _ filename: String
  ) async throws {
    guard filename != ":memory:" || SQLiteLibrary.isAtLeast(36) else { return }
    try await withHandle(filename) { db in
      let names = Follower(Member.read().orderBy(Member.id).updates(in: db))
      let counts = Follower(db.updates { db in (try Member.count().run(db), try Member.count().run(db)) })
      try await until { names.values.count == 1 && counts.values.count == 1 }
      try Member(id: 1, name: "Anna").insert().run(db)
      try await until { names.latest?.map(\.name) == ["Anna"] && counts.latest.map { $0 == (1, 1) } == true }
      let child = try db.createChild()
      try Member(id: 2, name: "Bo").insert().run(child)
      try await until { names.latest?.map(\.name) == ["Anna", "Bo"] && counts.latest.map { $0 == (2, 2) } == true }
      try db.transaction { db in
        try Member.deleteAll().run(db)
        try Member(id: 3, name: "Cid").insert().run(db)
      }
      try await until { names.latest?.map(\.name) == ["Cid"] }
    }
  }

  @Test(.needsPreupdateHook) func aCommitThatTheFilterExcludesCausesNoRead() async throws {
    try await withHandle { db in
      let reads = LockedValue(0)
      let bos = Follower(
        db.updates { db in
          reads.withLock { $0 += 1 }
          return try Member.count().filter(Member.name == "Bo").run(db)
        })
      let all = Follower(Member.count().updates(in: db))
      try await until { bos.values == [0] && all.values == [0] }
      for id in 1...10 {
        try Member(id: id, name: "Anna").insert().run(db)
        try await until { all.latest == id }
      }
      #expect(reads.withLock { $0 } == 1)
      try Member(id: 11, name: "Bo").insert().run(db)
      try await until { bos.latest == 1 }
    }
  }

  @Test(.needsSQLiteProgram) func commitsOfAnotherProcessAreFollowed() async throws {
    try await withHandle { db in
      let counts = Follower(Member.count().updates(in: db))
      try await until { counts.values == [0] }
      let other = try SQLiteProcess(db.filepath)
      defer { other.quit() }
      try other.run("INSERT INTO member VALUES (1, 'other');")
      try await until { counts.latest == 1 }
    }
  }

  @Test func aFileInRollbackModeIsFollowed() async throws {
    var configuration = Configuration()
    configuration.journalMode = .delete
    // Without a WAL, a read and a write wait for each other.
    configuration.busyTimeout = 600
    try await withHandle("test.sqlite", configuration) { db in
      let counts = Follower(Member.count().updates(in: db))
      for id in 1...20 {
        try Member(id: id, name: "").insert().run(db)
        try await until { counts.latest == id }
      }
    }
  }

  @Test func theReaderOfALiveResultIsNotFoundByItsPath() async throws {
    try await withHandle { db in
      let child = try db.createChild()
      let counts = Follower(Member.count().updates(in: db))
      try await until { counts.values == [0] }
      #expect(SqliteDatabase.handles(at: db.filepath).map(\.number) == [db.number, child.number])
      #expect(SqlitePool.pools(at: db.filepath).isEmpty)
    }
  }

  @Test func aLoopFollowsAFileThatWasClosedForAWhile() async throws {
    try await withHandle { db in
      let counts = Follower(Member.count().updates(in: db))
      try await until { counts.values == [0] }
      try db.withClosed { files in
        let other = try SqliteDatabase(filepath: files.filepath)
        try Member(id: 1, name: "").insert().run(other)
        try other.close()
      }
      try await until { counts.latest == 1 }
      try Member(id: 2, name: "").insert().run(db)
      try await until { counts.latest == 2 }
    }
  }

  @Test func closingTheHandleEndsItsLoops() async throws {
    try await withHandle { db in
      let counts = Follower(Member.count().updates(in: db))
      try await until { counts.values == [0] }
      try db.close()
      try await counts.task.value
      #expect(counts.values == [0])
      var late = Member.count().updates(in: db).makeAsyncIterator()
      #expect(try await late.next() == nil)
    }
  }

  @Test func aLiveResultInsideAPoolsClosureIsThePools() async throws {
    try await withMembers { pool in
      let counts = try await pool.read { db in Follower(Member.count().updates(in: db)) }
      try await until { counts.values == [0] }
      try await Member(id: 1, name: "").insert().run(pool)
      try await until { counts.latest == 1 }
    }
  }

  @Test func theLastLoopReleasesTheHandle() async throws {
    try await withDirectoryAsync { directory in
      weak var released: SqliteDatabase?
      do {
        let db = try SqliteDatabase(filepath: directory + "/test.sqlite")
        try db.createTable(Member.self)
        released = db
        var counts = Member.count().updates(in: db).makeAsyncIterator()
        #expect(try await counts.next() == 0)
      }
      try await until { released == nil }
    }
  }
}
