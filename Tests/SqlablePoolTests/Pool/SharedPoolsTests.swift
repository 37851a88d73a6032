import Foundation
import SqlableCore
import Testing

@testable import SqlablePool
@testable import SqlableTestSupport

/// Pools that share their threads and their watcher of files.
@Suite struct SharedPoolsTests {
  private func withPools(
    _ count: Int, threads: Int, poll: Duration = .milliseconds(500),
    _ body: ([SqlitePool], PoolResources) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { directory in
      let resources = PoolResources(threads: threads)
      let configuration = PoolConfiguration(readers: 2, waitTimeout: .seconds(300), pollInterval: poll)
      let pools = try (0..<count).map { index in
        let pool = try SqlitePool(
          filepath: directory + "/\(index).sqlite", configuration: configuration, sharing: resources)
        try pool.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
        return pool
      }
      try await body(pools, resources)
      for pool in pools { try await pool.close() }
    }
  }

  @Test func manyPoolsUseFewThreads() async throws {
    try await withPools(40, threads: 2) { pools, resources in
      let most = Mutex(0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for pool in pools {
          for index in 0..<10 {
            group.addTask {
              try await pool.execute("INSERT INTO t (text) VALUES (\(index))")
              _ = try await pool.read { db in try db.query("SELECT count(*) FROM t", as: Int.self) }
              most.withLock { $0 = max($0, resources.threads.count) }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(most.withLock { $0 } <= 4)
      for pool in pools { #expect(try await pool.query("SELECT count(*) FROM t", as: Int.self) == [10]) }
    }
  }

  @Test func loopsOfManyPoolsShareOneWatcher() async throws {
    // The polling interval is so long that only the watcher can report a commit of another connection.
    try await withPools(30, threads: 2, poll: .seconds(3_000)) { pools, resources in
      let received = Mutex<Set<Int>>([])
      var loops: [Task<Void, any Error>] = []
      for (index, pool) in pools.enumerated() {
        let live = SQL("SELECT count(*) FROM t").rows(as: Int.self).updates(in: pool)
        loops.append(
          Task { for try await count in live where count == [1] { _ = received.withLock { $0.insert(index) } } })
      }
      try await until { pools.allSatisfy { $0.statistics.loops == 1 } }
      // If other tests hold all instances of the kernel, these pools use the spare one.
      if let watches = resources.watches, watches !== FileWatches.spare {
        let info = try String(contentsOfFile: "/proc/self/fdinfo/\(watches.descriptor)", encoding: .utf8)
        // The WAL and the file of each pool, and their directory.
        #expect(info.components(separatedBy: "inotify wd:").count - 1 == 2 * pools.count + 1)
      }
      for (index, pool) in pools.enumerated() {
        let other = try SqliteDatabase(filepath: pool.filepath)
        try other.execute("INSERT INTO t (text) VALUES ('other')")
        try other.close()
        try await until { received.withLock { $0.contains(index) } }
      }
      for loop in loops { loop.cancel() }
      for loop in loops { _ = await loop.result }
    }
  }

  @Test func loopsOfManyPoolsGetTheirCommits() async throws {
    try await withPools(20, threads: 2) { pools, _ in
      let last = Mutex([Int](repeating: 0, count: pools.count))
      var loops: [Task<Void, any Error>] = []
      for (index, pool) in pools.enumerated() {
        let live = SQL("SELECT count(*) FROM t").rows(as: Int.self).updates(in: pool)
        loops.append(Task { for try await count in live { last.withLock { $0[index] = count.first ?? -1 } } })
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for pool in pools {
          group.addTask { for _ in 0..<20 { try await pool.execute("INSERT INTO t (text) VALUES ('a')") } }
        }
        try await group.waitForAll()
      }
      try await until { last.withLock { $0.allSatisfy { $0 == 20 } } }
      for loop in loops { loop.cancel() }
      for loop in loops { _ = await loop.result }
    }
  }

  /// Calls `body` while closures occupy all of the threads.
  private func withoutFreeThread(
    _ pools: [SqlitePool], _ resources: PoolResources, _ body: () async throws -> Void
  ) async throws {
    for pool in pools { _ = try await pool.query("SELECT 1", as: Int.self) }
    let (began, mayEnd) = (Mutex(0), DispatchSemaphore(value: 0))
    let count = 2
    for _ in 0..<count {
      resources.threads.async {
        began.withLock { $0 += 1 }
        // A call that ignores its end gets a thread after this time, and the test fails.
        _ = mayEnd.wait(timeout: .now() + 900)
      }
    }
    defer { for _ in 0..<count { mayEnd.signal() } }
    try await until { began.withLock { $0 } == count }
    try await body()
  }

  @Test func aCallThatWaitsForAThreadEndsAtItsDeadline() async throws {
    try await withPools(1, threads: 2) { pools, resources in
      let pool = pools[0]
      try await withoutFreeThread(pools, resources) {
        for _ in 0..<2 {
          let error = await #expect(throws: SqlError.self) {
            try await withDeadline(.seconds(2)) { try await pool.execute("DELETE FROM t") }
          }
          #expect(error?.kind == .timeout)
          #expect(error?.message.contains("waited for a thread") == true)
        }
        await #expect(throws: SqlError.self) {
          try await withDeadline(.milliseconds(100)) { try await pool.read { _ in } }
        }
      }
      try await pool.execute("INSERT INTO t (text) VALUES ('a')")
      #expect(try await pool.query("SELECT count(*) FROM t", as: Int.self) == [1])
    }
  }

  @Test func aCallThatWaitsForAThreadEndsWhenItIsCancelled() async throws {
    try await withPools(1, threads: 2) { pools, resources in
      let pool = pools[0]
      try await withoutFreeThread(pools, resources) {
        let write = Task { try await pool.transaction { db in try db.execute("DELETE FROM t") } }
        try await until { pool.statistics.isWriting }
        write.cancel()
        await #expect(throws: CancellationError.self) { try await write.value }
        #expect(!pool.statistics.isWriting)
      }
      #expect(pool.statistics.writes == 1)
    }
  }

  @Test func aCallThatIsStoppedBeforeItRunsPassesItsReaderOn() async throws {
    try await withPools(1, threads: 2) { pools, resources in
      let pool = pools[0]
      try await withoutFreeThread(pools, resources) {
        let reads = (0..<2).map { _ in Task { try await pool.read { _ in } } }
        try await until { pool.statistics.openReaders == 2 && pool.statistics.idleReaders == 0 }
        let counts = Mutex<[Int]>([])
        Thread.detachNewThread {
          let count = try? pool.query("SELECT count(*) FROM t", as: Int.self)
          counts.withLock { $0 = count ?? [-1] }
        }
        try await until { pool.statistics.waitingReads == 1 }
        reads[0].cancel()
        try await until { counts.withLock { $0 } == [0] }
        for read in reads { read.cancel() }
        for read in reads { await #expect(throws: CancellationError.self) { try await read.value } }
      }
    }
  }

  @Test func aPoolIsClosedWhileItsCallsWaitForAThread() async throws {
    try await withPools(1, threads: 2) { pools, resources in
      let pool = pools[0]
      try await withoutFreeThread(pools, resources) {
        let write = Task { try await pool.execute("DELETE FROM t") }
        try await until { pool.statistics.isWriting }
        try await pool.close(within: .zero)
        let error = await #expect(throws: SqlError.self) { try await write.value }
        #expect(error?.kind == .closed)
      }
    }
  }
}
