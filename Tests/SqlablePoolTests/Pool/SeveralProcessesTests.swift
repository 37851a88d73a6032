import Dispatch
import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Several pools on one file, in one process or in several.
@Suite struct SeveralProcessesTests {
  private func withFile(_ body: (String, SqlitePool) throws -> Void) throws {
    try withMembers { pool in try body(pool.filepath, pool) }
  }

  private func withTimeout(_ seconds: Double) -> PoolConfiguration {
    PoolConfiguration(handles: .init(busyTimeout: seconds))
  }

  /// Calls `body` while a transaction of another pool of this process holds the turn.
  private func whileHeld(by pool: SqlitePool, _ body: () throws -> Void) throws {
    try SqlableTestSupport.whileHeld({ held in try pool.transaction { _ in held() } }, body)
  }

  @Test(.enabled(if: TestProgram.isAvailable)) func writingProcessesGetSimilarShares() throws {
    try withFile { path, pool in
      var (counts, written) = ([Int](), 0)
      // On a busy machine, a process can get little processor time: one attempt in five is enough.
      for attempt in 0..<5 where (counts.min() ?? 0) * 5 <= (counts.max() ?? 0) {
        let processes = try (0..<4).map { try PoolProcess(.writing, path, id: (attempt * 4 + $0) * 1_000_000) }
        for process in processes { #expect(process.answer() == "ready") }
        for process in processes { try process.goOn() }
        counts = processes.compactMap { Int($0.answer()) }
        #expect(processes.allSatisfy { $0.end() })
        #expect(counts.count == 4)
        written += counts.reduce(0, +)
        let stored = try Member.count().run(pool)
        #expect(stored == written)
      }
      // Without turns, one process writes a hundred times as many rows as another.
      #expect((counts.min() ?? 0) * 5 > (counts.max() ?? 0), "\(counts)")
    }
  }

  @Test(.enabled(if: TestProgram.isAvailable)) func killedProcessReleasesItsTurn() throws {
    try withFile { path, pool in
      let other = try PoolProcess(.holding, path, id: 1)
      #expect(other.answer() == "ready")
      try other.goOn()
      #expect(other.answer() == "1")
      let impatient = try SqlitePool(filepath: path, configuration: withTimeout(0.05))
      let error = expectError(.busy) { try Member(id: 2, name: "x").insert().run(impatient) }
      #expect(error?.message.contains("waited longer than the busy timeout") == true)
      other.kill()
      try Member(id: 2, name: "x").insert().run(pool)
      let ids = try Member.read().run(pool).map(\.id)
      #expect(ids == [2])
      try impatient.close()
    }
  }

  @Test(.enabled(if: TestProgram.isAvailable), .disabled(if: isSanitized))
  func forkedChildDoesNotKeepTheTurnOfAKilledParent() throws {
    try withFile { path, pool in
      let other = try PoolProcess(.forking, path, id: 1)
      #expect(other.answer() == "ready")
      try other.goOn()
      let child = try #require(pid_t(other.answer()))
      defer {
        Fork.end(child)
        other.kill()
      }
      try #require(child > 0)
      // A wait would include the child, which has inherited the pipes.
      other.signal(SIGKILL)
      // SQLite's locks belong to the killed process and ended with it.
      let heir = try SqlitePool(filepath: path, configuration: withTimeout(300))
      try Member(id: 2, name: "x").insert().run(heir)
      #expect(kill(child, 0) == 0)
      try heir.close()
    }
  }

  @Test(.enabled(if: TestProgram.isAvailable)) func stoppedProcessInLineBlocksNoWriter() throws {
    try withFile { path, pool in
      let other = try PoolProcess(.holding, path, id: 1)
      #expect(other.answer() == "ready")
      try whileHeld(by: pool) {
        try other.goOn()
        waitForLine(of: 1, at: path)
        other.stop()
      }
      let patient = try SqlitePool(filepath: path, configuration: withTimeout(600))
      let begin = ContinuousClock.now
      try Member(id: 2, name: "x").insert().run(patient)
      try Member(id: 3, name: "x").insert().run(patient)
      #expect(begin.duration(to: .now) < .seconds(300), "which is before the busy timeout")
      other.signal(SIGCONT)
      #expect(other.answer() == "1")
      try other.goOn()
      #expect(other.answer() == "done")
      #expect(other.end())
      let ids = try Member.read().orderBy(Member.id).run(pool).map(\.id)
      #expect(ids == [1, 2, 3])
      try patient.close()
    }
  }

  @Test func cancellationAndDeadlineEndTheWaitForATurn() async throws {
    // In a busy test run this task may resume many seconds after the call starts to wait.
    try await withMembers(withTimeout(600)) { pool in
      let other = try SqlitePool(filepath: pool.filepath)
      let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let holder = Task {
        try await other.transaction { _ in
          isHeld.signal()
          mayEnd.wait()
        }
      }
      try await onThread { isHeld.wait() }
      let call = Task { try await Member(id: 1, name: "x").insert().run(pool) }
      try await until { pool.statistics.isWriting }
      call.cancel()
      await #expect(throws: CancellationError.self) { _ = try await call.value }
      var late: SqlError?
      do {
        try await withDeadline(.milliseconds(50)) { _ = try await Member(id: 2, name: "x").insert().run(pool) }
      } catch { late = error as? SqlError }
      #expect(late?.kind == .timeout)
      mayEnd.signal()
      try await holder.value
      try await Member(id: 3, name: "x").insert().run(pool)
      let ids = try await Member.read().run(pool).map(\.id)
      #expect(ids == [3])
      try await other.close()
    }
  }

  /// A group without a limit would grow as long as writes arrive.
  @Test func aPoolWithManyWritersLetsOthersWrite() async throws {
    try await withMembers(PoolConfiguration(maximumGroup: 100_000, maximumGroupTime: .seconds(60))) { pool in
      let path = pool.filepath
      let other = try SqlitePool(filepath: path, configuration: withTimeout(600))
      let (begun, ran) = (Collected<Int>(), Collected<Int>())
      try await withThrowingTaskGroup(of: Void.self) { group in
        for id in 1...1_000 {
          group.addTask {
            try await pool.transaction { db in
              begun.append(id)
              // In a busy test run the other pool may begin to wait late.
              if begun.values.count == 1 { waitForLine(of: 1, at: path) }
              usleep(1_000)
              try Member(id: id, name: "x").insert().run(db)
              ran.append(id)
            }
          }
        }
        let before = try await onThread {
          waitUntil { !begun.values.isEmpty }
          return try other.transaction { db in
            try Member(id: 0, name: "y").insert().run(db)
            return ran.values.count
          }
        }
        #expect(before < 1_000)
        try await group.waitForAll()
      }
      let count = try await Member.count().run(pool)
      #expect(count == 1_001)
      try await other.close()
    }
  }

  @Test func withWriterHoldsTheTurnOutsideTransactions() throws {
    try withFile { path, pool in
      let other = try SqlitePool(filepath: path, configuration: withTimeout(0.02))
      try pool.withWriter { db in
        try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        expectError(.busy) { try other.withWriter { _ in } }
        expectError(.busy) { try other.transaction { _ in } }
        let handle = try SqliteDatabase(filepath: path)
        try Member(id: 1, name: "a plain handle takes no turns").insert().run(handle)
        try handle.close()
      }
      // The other pool still stands in line for a moment, and can be late for its short busy timeout.
      waitUntil { (try? other.withWriter { _ in }) != nil }
      try other.close()
    }
  }

  @Test func closeCheckpointsOnlyWithTheTurn() throws {
    try withFile { path, pool in
      let keeper = try SqliteDatabase(filepath: path)
      for isHeld in [true, false] {
        // The first of these pools can still stand in line when the second one writes.
        let closing = try SqlitePool(filepath: path, configuration: withTimeout(isHeld ? 0.02 : 600))
        try Member(id: isHeld ? 1 : 2, name: "x").insert().run(closing)
        if isHeld {
          // The other pool holds the turn without a lock of SQLite.
          try pool.withWriter { _ in try closing.close() }
        } else {
          try closing.close()
        }
        #expect((pool.statistics.walSize > 0) == isHeld)
      }
      try keeper.close()
    }
  }

  @Test func symbolicLinkUsesTheGateOfItsTarget() throws {
    try withFile { path, pool in
      let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
      symlink(path, directory + "/link.sqlite")
      let other = try SqlitePool(filepath: directory + "/link.sqlite", configuration: withTimeout(0.02))
      try whileHeld(by: pool) { expectError(.busy) { try other.withWriter { _ in } } }
      try other.close()
      #expect(!files(in: directory).contains("link.sqlite-gate"))
    }
  }

  @Test func poolWorksWithoutAGateFile() throws {
    try withDirectory { directory in
      let path = directory + "/pool.sqlite"
      mkdir(path + "-gate", 0o755)
      let pools = try (0..<2).map { _ in try SqlitePool(filepath: path) }
      try pools[0].transaction { db in try db.createTable(Member.self) }
      try pools[1].withWriter { _ in try Member(id: 1, name: "x").insert().run(pools[0]) }
      for pool in pools { try pool.close() }
    }
  }

  @Test func deletingADatabaseDeletesItsGate() throws {
    try withDirectory { directory in
      let path = directory + "/pool.sqlite"
      let pool = try SqlitePool(filepath: path)
      try pool.transaction { db in try db.createTable(Member.self) }
      try pool.close()
      #expect(files(in: directory) == ["pool.sqlite", "pool.sqlite-gate"])
      try SqliteDatabase.deleteDatabase(at: path)
      #expect(files(in: directory) == [])
    }
  }

  @Test(.needsSQLiteProgram) func turnAndSQLiteLockShareOneBusyTimeout() throws {
    try withFile { path, pool in
      let program = try SQLiteProcess(path)
      defer { program.quit() }
      var (error, time) = (SqlError?.none, Duration.zero)
      // On a busy machine, the waits can take longer: one attempt in ten is enough.
      for _ in 0..<10 where error?.code != 5 || time >= .seconds(6) {
        let other = try SqlitePool(filepath: path, configuration: withTimeout(4))
        let (isHeld, isWaiting) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let ended = DispatchGroup()
        ended.enter()
        Thread.detachNewThread {
          try? pool.withWriter { _ in
            isHeld.signal()
            isWaiting.wait()
            usleep(3_000_000)
          }
          ended.leave()
        }
        isHeld.wait()
        try program.run("BEGIN IMMEDIATE;")
        isWaiting.signal()
        let begin = ContinuousClock.now
        error = expectError(.busy) { try Member(id: 1, name: "x").insert().run(other) }
        time = begin.duration(to: .now)
        try program.run("ROLLBACK;")
        ended.wait()
        try other.close()
      }
      // The error is SQLite's: three seconds at the gate leave one second for the lock.
      #expect(error?.code == 5)
      #expect(time < .seconds(6))
    }
  }
}
