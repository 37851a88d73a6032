import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Pools under threads, tasks, cancellations, deadlines and failures at once.
///
/// The pool stores exactly the acknowledged writes, and every read sees one state.
@Suite struct PoolStressTests {
  private struct Refused: Error {}

  /// Increments the counter and inserts a row with its former value.
  private static func raise(_ db: SqliteDatabase, _ id: Int, fails: Bool) throws {
    let now = try db.query("SELECT value FROM counter", as: Int.self)
    try Member(id: id, name: "\(now[0])").insert().run(db)
    try db.execute("UPDATE counter SET value = \(now[0] + 1)")
    if fails { throw Refused() }
  }

  private static func check(_ db: SqliteDatabase) throws {
    let counter = try db.query("SELECT value FROM counter", as: Int.self)
    let rows = try Member.count().run(db)
    #expect(counter == [rows])
  }

  private func withCounter(
    _ configuration: PoolConfiguration, _ body: (SqlitePool) async throws -> Set<Int>
  ) async throws {
    try await withMembers(configuration) { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE counter (value INTEGER); INSERT INTO counter VALUES (0)")
      }
      let acknowledged = try await body(pool)
      let stored = try await Member.read().run(pool).map(\.id)
      #expect(Set(stored) == acknowledged)
      #expect(stored.count == acknowledged.count)
      try await pool.read { db in try PoolStressTests.check(db) }
      let statistics = pool.statistics
      #expect(statistics.waitingReads == 0)
      #expect(statistics.waitingWrites == 0)
      #expect(!statistics.isWriting)
      #expect(statistics.idleReaders == statistics.openReaders)
    }
  }

  @Test(arguments: [1, 8, 256]) func poolStoresExactlyTheAcknowledgedWrites(_ maximumGroup: Int) async throws {
    let configuration = PoolConfiguration(readers: 2, maximumGroup: maximumGroup)
    try await withCounter(configuration) { pool in
      let acknowledged = Collected<Int>()
      let threads = Task.detached {
        onThreads(4) { thread in
          for index in 0..<times(100) {
            let id = thread * 10_000 + index
            do {
              if index % 9 == 4 {
                try withDeadline(.microseconds(200)) {
                  try pool.transaction { db in try PoolStressTests.raise(db, id, fails: false) }
                }
              } else {
                try pool.transaction { db in try PoolStressTests.raise(db, id, fails: index % 7 == 3) }
              }
              acknowledged.append(id)
            } catch {}
            try? pool.read { db in try PoolStressTests.check(db) }
          }
        }
      }
      await withTaskGroup(of: Void.self) { group in
        for task in 4..<16 {
          group.addTask {
            for index in 0..<times(60) {
              let id = task * 10_000 + index
              let call = Task {
                try await pool.transaction { db in try PoolStressTests.raise(db, id, fails: index % 5 == 2) }
              }
              if index % 3 == 1 { call.cancel() }
              if (try? await call.value) != nil { acknowledged.append(id) }
              _ = try? await pool.read { db in try PoolStressTests.check(db) }
            }
          }
        }
      }
      await threads.value
      return Set(acknowledged.values)
    }
  }

  @Test func observersGetEachCommittedRowOnceInCommitOrder() async throws {
    try await withCounter(PoolConfiguration(readers: 2)) { pool in
      let heard = Collected<Int>()
      pool.observe(.insert, on: Member.self) { id in heard.append(id) }
      let acknowledged = Collected<Int>()
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<16 {
          group.addTask {
            for index in 0..<times(40) {
              let id = task * 10_000 + index
              let isStored: Void? = try? await pool.transaction { db in
                try PoolStressTests.raise(db, id, fails: index % 5 == 2)
              }
              if isStored != nil { acknowledged.append(id) }
            }
          }
        }
      }
      pool.queue.sync {}
      let order = try await Member.read().run(pool).sorted { Int($0.name) ?? 0 < Int($1.name) ?? 0 }.map(\.id)
      #expect(heard.values == order)
      #expect(Set(heard.values) == Set(acknowledged.values))
      return Set(acknowledged.values)
    }
  }

  @Test func closeDuringWritesLosesNoAcknowledgedRow() async throws {
    let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = directory + "/pool.sqlite"
    let pool = try SqlitePool(filepath: path, configuration: .init(readers: 2, waitTimeout: nil))
    try await pool.transaction { db in try db.createTable(Member.self) }
    let acknowledged = Collected<Int>()
    let refused = Collected<SqlError.Kind>()
    let writers = Task {
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<16 {
          group.addTask {
            for index in 0..<1_000_000 {
              do {
                acknowledged.append(try await Member(id: task * 1_000_000 + index, name: "x").insert().run(pool))
              } catch {
                return refused.append((error as? SqlError)?.kind ?? .other)
              }
            }
          }
        }
      }
    }
    try await until { acknowledged.values.count >= 200 }
    try await pool.close(within: .seconds(600))
    await writers.value
    #expect(refused.values == Array(repeating: .closed, count: 16))
    let db = try SqliteDatabase(filepath: path)
    let stored = try Member.read().run(db).map(\.id)
    #expect(Set(stored) == Set(acknowledged.values))
    #expect(stored.count == acknowledged.values.count)
    #expect(!FileManager.default.fileExists(atPath: path + "-wal") || pool.statistics.walSize == 0)
  }
}
