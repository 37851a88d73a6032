import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Reports and limits of long reads.
struct LongReadTests {
  private static let slow: SQL = """
    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1000000000) SELECT count(*) FROM c
    """

  @Test func longReadIsReportedOnceWithCallSiteAndSQL() async throws {
    try await withMembers(.init(longRead: .seconds(5))) { pool in
      let errors = Collected<SqlError>()
      pool.didFail = { if let error = $0 as? SqlError { errors.append(error) } }
      let read = Task { try await pool.read { db in try db.query(LongReadTests.slow, as: Int.self) } }
      try await until { !errors.values.isEmpty }
      let oldest = pool.statistics.oldestRead
      #expect(oldest?.sql == LongReadTests.slow.text)
      #expect(oldest?.callSite.contains("LongReadTests.swift") == true)
      try await Task.sleep(for: .milliseconds(200))
      read.cancel()
      _ = await read.result
      #expect(errors.values.count == 1)
      #expect(errors.values.first?.kind == .timeout)
      #expect(errors.values.first?.sql == LongReadTests.slow.text)
      #expect(errors.values.first?.message.contains("LongReadTests.swift") == true)
      #expect(pool.statistics.oldestRead == nil)
    }
  }

  @Test func longReadIsReportedWithinASecondOfTheLimit() async throws {
    let limit = Duration.milliseconds(400)
    try await withMembers(.init(handles: .init(label: "members"), longRead: limit)) { pool in
      // On a busy machine, one in time out of five attempts is enough.
      var delays: [Duration] = []
      repeat {
        let named = Collected<(SqlError, at: ContinuousClock.Instant)>()
        pool.didFail = { if let error = $0 as? SqlError { named.append((error, .now)) } }
        let begin = ContinuousClock.now
        let read = Task { try await pool.read { db in try db.query(LongReadTests.slow, as: Int.self) } }
        let line = #line - 1
        try await until { !named.values.isEmpty }
        read.cancel()
        _ = await read.result
        let (error, time) = try #require(named.values.first)
        #expect(error.label == "members")
        if error.sql == nil, delays.count < 4 {
          // The read reached its limit before its statement started.
          delays.append(.seconds(1))
          continue
        }
        #expect(error.sql == LongReadTests.slow.text)
        #expect(error.message.contains("SqlablePoolTests/LongReadTests.swift:\(line)"), "\(error.message)")
        #expect(begin.duration(to: time) >= limit)
        delays.append(begin.duration(to: time) - limit)
      } while delays.min() ?? .zero >= .seconds(1) && delays.count < 5
      #expect(delays.min() ?? .zero < .seconds(1), "\(delays)")
    }
  }

  @Test func maximumReadEndsALongRead() async throws {
    try await withMembers(.init(readers: 1, longRead: nil, maximumRead: .seconds(1))) { pool in
      let begin = ContinuousClock.now
      let error = await #expect(throws: SqlError.self) {
        try await pool.read { db in try db.query(LongReadTests.slow, as: Int.self) }
      }
      #expect(error?.kind == .timeout)
      #expect(error?.sql == LongReadTests.slow.text)
      #expect(error?.message.contains("has run for longer than maximumRead") == true)
      #expect(begin.duration(to: .now) >= .seconds(1))
      // The next statement of a closure beyond the limit throws. On a busy machine, the check can be late.
      let late = await #expect(throws: SqlError.self) {
        try await pool.read { db in
          for _ in 0..<30_000 {
            usleep(10_000)
            _ = try db.query("SELECT count(*) FROM member", as: Int.self)
          }
        }
      }
      #expect(late?.kind == .timeout)
      let next = try await pool.read { db in try db.query("SELECT 1", as: Int.self) }
      #expect(next == [1])
      expectMisuse { _ = try SqlitePool(filepath: pool.filepath, configuration: .init(maximumRead: .zero)) }
    }
  }

  /// A reader that Swift code holds runs no SQL.
  @Test func heldReaderWithoutSQLIsReported() async throws {
    try await withMembers(.init(longRead: .milliseconds(400))) { pool in
      let errors = Collected<SqlError>()
      pool.didFail = { if let error = $0 as? SqlError { errors.append(error) } }
      try await pool.read { _ in
        let end = ContinuousClock.now + .seconds(600)
        while errors.values.isEmpty, ContinuousClock.now < end { usleep(1_000) }
      }
      #expect(errors.values.count == 1)
      #expect(errors.values.first?.sql == nil)
    }
  }
}
