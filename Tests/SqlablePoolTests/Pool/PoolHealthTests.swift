import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite struct PoolHealthTests {
  private typealias Health = SqlitePool.Health

  /// Limits that accept a full disk.
  private static let limits = SqlitePool.HealthLimits(freeBytes: 0)

  private func withPool(_ body: (SqlitePool, _ path: String) async throws -> Void) async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/test.sqlite"
      let pool = try SqlitePool(filepath: path, readers: 1)
      try await pool.withWriter { try $0.createTables(Person.self, Bicycle.self) }
      try await body(pool, path)
      try await pool.close()
    }
  }

  @Test func aPoolThatAnswersIsHealthy() async throws {
    try await withPool { pool, _ in
      let health: Health = await pool.health(within: .seconds(600), limits: Self.limits)
      #expect(health.problems == [])
      #expect(health.isHealthy)
      #expect(health.answer != nil)
      #expect(health.walSize > 0)
      #expect(health.freeBytes.map { $0 > 0 } == true)
      #expect(health.oldestRead == nil)
      #expect(health.write == nil)
    }
  }

  @Test func closedPoolIsUnhealthy() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/test.sqlite")
      try await pool.close()
      let health: Health = await pool.health(limits: Self.limits)
      #expect(health.problems == [.closed])
      #expect(health.answer == nil)
    }
  }

  @Test func healthProbeDoesNotWaitForABusyReader() async throws {
    try await withPool { pool, _ in
      let (hasReader, isProbed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        try? pool.read { db in
          _ = try Bicycle.count().run(db)
          hasReader.signal()
          isProbed.wait()
        }
      }
      let health = try await onThread {
        hasReader.wait()
        let limits = SqlitePool.HealthLimits(freeBytes: 0, read: .zero)
        return pool.health(within: .seconds(600), limits: limits)
      }
      isProbed.signal()
      #expect(health.areReadersBusy)
      #expect(health.answer == nil)
      #expect(health.problems.count == 1)
      #expect("\(health.problems)".contains("a long read prevents a reset of the WAL: the call at"))
      let isLongRead = health.problems.contains { if case .longRead = $0 { true } else { false } }
      #expect(isLongRead)
      #expect(health.oldestRead?.callSite.hasPrefix("SqlablePoolTests/PoolHealthTests.swift:") == true)
    }
  }

  @Test func aLongWriteIsAProblemOnlyIfAnotherWriteWaits() throws {
    try withDirectory { directory in
      let path = directory + "/test.sqlite"
      let patient = Configuration(busyTimeout: 600)
      let configuration = PoolConfiguration(handles: patient, readers: 2, waitTimeout: nil)
      let pool = try SqlitePool(filepath: path, configuration: configuration)
      let other = try SqlitePool(filepath: path, configuration: configuration)
      let db = try SqliteDatabase(filepath: path, configuration: patient)
      try db.createTables(Person.self, Bicycle.self)
      try whileWriting(pool) {
        // A new lock file counts as a wait for a second.
        usleep(1_200_000)
        let health = health(pool)
        #expect(health.problems == [])
        #expect(health.write?.callSite.contains("PoolHealthTests.swift") == true)
      }
      try expectLongWrite(pool) { try pool.deleteAll() }
      try expectLongWrite(pool) { try other.deleteAll() }
      try expectLongWrite(pool) { try Bicycle.deleteAll().run(db) }
      #expect(health(pool).problems == [])
      try pool.close()
      try other.close()
    }
  }

  private func whileWriting(_ pool: SqlitePool, _ body: () throws -> Void) throws {
    try whileHeld({ held in try pool.transaction { _ in held() } }, body)
  }

  private func health(_ pool: SqlitePool) -> Health {
    pool.health(within: .seconds(600), limits: .init(freeBytes: 0, write: .zero))
  }

  /// Expects that a write that waits for a long write of the pool makes the long write a problem.
  private func expectLongWrite(_ pool: SqlitePool, while write: @escaping @Sendable () throws -> Void) throws {
    let ended = DispatchSemaphore(value: 0)
    try whileWriting(pool) {
      Thread.detachNewThread {
        try? write()
        ended.signal()
      }
      var problems: [Health.Problem] = []
      waitUntil {
        problems = health(pool).problems
        return problems.count == 1
      }
      #expect("\(problems)".contains("a long write delays other writes: the call at"))
    }
    ended.wait()
  }

  @Test func missingFileAndExceededLimitsAreProblems() async throws {
    try await withPool { pool, path in
      let strict = SqlitePool.HealthLimits(freeBytes: .max, walSize: 0)
      let health: Health = await pool.health(within: .seconds(600), limits: strict)
      #expect(health.problems.count == 2)
      #expect(health.problems.last == .largeWal(bytes: health.walSize))
      try FileManager.default.moveItem(atPath: path, toPath: path + "-away")
      let lost: Health = await pool.health(within: .seconds(60), limits: Self.limits)
      #expect(lost.problems.contains(.fileIsGone))
      try FileManager.default.moveItem(atPath: path + "-away", toPath: path)
    }
  }
}

extension SqlitePool {
  fileprivate func deleteAll() throws { try Bicycle.deleteAll().run(self) }
}
