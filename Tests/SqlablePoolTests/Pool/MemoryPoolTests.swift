import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Pools in memory. The other suites of pools run on them as well, see `isInMemory`.
@Suite struct MemoryPoolTests {
  @Test func inMemoryPoolIsIsolatedAndDeletesItsFile() throws {
    let pool = try SqlitePool.inMemory()
    let path = pool.filepath
    try pool.transaction { db in
      try db.createTable(Member.self)
      try Member(id: 1, name: "Ada").insert().run(db)
    }
    #expect(try pool.read { db in try Member.count().run(db) } == 1)
    let forgotten = try {
      let other = try SqlitePool.inMemory()
      #expect(sqlError { try other.read { db in _ = try Member.count().run(db) } } != nil)
      return other.filepath
    }()
    // Threads of the pool may hold the file a moment longer.
    waitUntil { !FileManager.default.fileExists(atPath: forgotten) }
    #expect(FileManager.default.fileExists(atPath: path))
    try pool.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func aReaderSeesItsSnapshotWhileTheWriterCommits() throws {
    let pool = try SqlitePool.inMemory()
    try pool.transaction { db in try db.createTable(Member.self) }
    let before = try pool.read { db in
      let first = try Member.count().run(db)
      _ = try onThread { try pool.transaction { db in try Member(id: 1, name: "Ada").insert().run(db) } }
      return try [first, Member.count().run(db)]
    }
    #expect(before == [0, 0])
    #expect(try pool.read { db in try Member.count().run(db) } == 1)
    try pool.close()
  }

  @Test func fiveHundredInMemoryPoolsStayIsolated() async throws {
    // Each pool has about ten files open.
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let count = limit.rlim_cur > 12_000 ? times(500) : 50
    let pools = try await withThrowingTaskGroup(of: SqlitePool.self) { group in
      for number in 0..<count {
        group.addTask {
          let pool = try SqlitePool.inMemory()
          try await pool.transaction { db in
            try db.createTable(Member.self)
            try Member(id: number, name: "\(number)").insert().run(db)
          }
          return pool
        }
      }
      return try await group.reduce(into: [SqlitePool]()) { $0.append($1) }
    }
    let ids = try await withThrowingTaskGroup(of: [Int].self) { group in
      for pool in pools { group.addTask { try await pool.read { db in try Member.read().run(db).map(\.id) } } }
      return try await group.reduce(into: [[Int]]()) { $0.append($1) }
    }
    #expect(ids.sorted { $0[0] < $1[0] } == (0..<count).map { [$0] })
    for pool in pools { try await pool.close() }
  }

  @Test func nextProcessRemovesTheFileOfAKilledProcess() throws {
    // This process removes abandoned files with its first pool, which must not be the pool of another test.
    let own = try SqlitePool.inMemory()
    let killed = try FaultProcess.run("memory pool, killed", filter: "MemoryPoolProcess")
    let path = try #require(killed.lines.last)
    #expect(!killed.isDone)
    #expect(FileManager.default.fileExists(atPath: path))
    let next = try FaultProcess.run("memory pool, next", filter: "MemoryPoolProcess")
    #expect(next.isDone)
    // The file of a running process stays.
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(FileManager.default.fileExists(atPath: own.filepath))
    try own.close()
  }
}

@Suite(.enabled(if: FaultProcess.order?.hasPrefix("memory pool") == true, "a process of its own"))
struct MemoryPoolProcess {
  @Test func childProcessOpensAPool() throws {
    let pool = try SqlitePool.inMemory()
    try pool.transaction { db in try db.createTable(Member.self) }
    FaultProcess.say(pool.filepath)
    if FaultProcess.order == "memory pool, killed" { kill(getpid(), SIGKILL) }
    try pool.close()
    FaultProcess.say("DONE")
  }
}
