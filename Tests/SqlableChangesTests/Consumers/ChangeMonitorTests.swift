import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The state of consumers in health checks and metrics.
@Suite struct ChangeMonitorTests {
  private struct Refused: Error {}

  private func problems(_ pool: SqlitePool, _ limits: SqlitePool.HealthLimits = .init()) async -> [String] {
    await pool.health(within: .seconds(900), limits: limits).problems.map { "\($0)" }
  }

  @Test func aConsumerThatIsBehindIsAProblem() async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...3).map { Member(id: $0, name: "m") }).run(pool)
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("slow", of: "MEMBER", startingAt: .log, in: db)
        try db.execute("UPDATE sqlable_changes SET at = at - 7200000 WHERE seq = 1")
      }
      let consumers = try await pool.changeConsumers()
      #expect(consumers.map(\.lag) == [3])
      #expect(await problems(pool).isEmpty)
      pool.monitorChangeConsumers()
      let found = await problems(pool)
      #expect(found.count == 1)
      #expect(found.first?.hasPrefix("consumer slow of the change log has been behind for 7") == true)
      #expect(found.first?.hasSuffix(" seconds, by 3 changes") == true)
      #expect(await problems(pool, .init(consumerDelay: .seconds(86_400))).isEmpty)
      let gauges = pool.gauges().map { "\($0.name) \($0.dimension.value) \(min($0.value, 7_200))" }
      #expect(
        gauges == [
          "sqlable.changes.lag slow 3.0", "sqlable.changes.delay slow 7200.0", "sqlable.changes.quarantined slow 0.0",
        ])
    }
  }

  @Test func changesOfOtherTablesDoNotDelayAConsumer() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in
        try db.createTable(Person.self)
        try ChangeLog(Person.self).create(db)
        _ = try ConsumerRecord.known("idle", of: "member", startingAt: .log, in: db)
        try Person(id: nil, name: "Ada").insert().run(db)
        try db.execute("UPDATE sqlable_changes SET at = at - 7200000")
      }
      let consumers = try await pool.changeConsumers()
      #expect(consumers.map(\.lag) == [1])
      #expect(consumers.map(\.delay) == [.zero])
      pool.monitorChangeConsumers()
      #expect(await problems(pool).isEmpty)
    }
  }

  @Test func changesInQuarantineAreAProblem() async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      let retries = ChangeRetries(attempts: 1, then: .quarantine)
      let task = Task {
        try await pool.consume("totals", on: Member.self, startingWith: .log, retries: retries) { _, _ in
          throw Refused()
        }
      }
      try await until { (try? pool.query("SELECT seq FROM sqlable_change_consumers", as: Int.self)) == [1] }
      task.cancel()
      _ = try? await task.value
      #expect(await problems(pool) == ["consumer totals of the change log has 1 change in quarantine"])
      #expect(await problems(pool, .init(quarantinedChanges: 1)).isEmpty)
    }
  }

  @Test(.disabled(if: isInMemory), arguments: [true, false])
  func aNewConsumerWhoseRowsFailIsAProblem(hasRetries: Bool) async throws {
    try await withDirectoryAsync { directory in
      var pool = try newPool(in: directory)
      try await pool.transaction { db in
        try db.createTable(Member.self)
        try ChangeLog(Member.self).create(db)
        try Member(id: 1, name: "m").insert().run(db)
      }
      let retries = hasRetries ? ChangeRetries(pause: .seconds(86_400), longestPause: .seconds(86_400)) : nil
      let task = Task { [pool] in
        try await pool.consume("totals", on: Member.self, retries: retries) { _, _ in throw Refused() }
      }
      if hasRetries {
        try await until { (try? pool.read { try $0.changeConsumers().first?.error }) == "Refused" }
        task.cancel()
      }
      _ = try? await task.value
      try await pool.close()
      // Another process, after the restart of the service.
      pool = try newPool(in: directory)
      pool.monitorChangeConsumers()
      #expect(await problems(pool).isEmpty)
      try await pool.transaction { db in
        try db.execute("UPDATE sqlable_change_consumers SET \"startedAt\" = \"startedAt\" - 7200000")
      }
      let consumer = try #require(try await pool.changeConsumers().first)
      #expect(consumer.isNew && consumer.lag == 0 && consumer.delay >= .seconds(7_200))
      let found = await problems(pool)
      #expect(found.count == 1)
      let start = "consumer totals of the change log has not acknowledged its initial rows for 7"
      #expect(found.first?.hasPrefix(start) == true)
      let end = " seconds" + (hasRetries ? "; the consumer retries after the error Refused" : "")
      #expect(found.first?.hasSuffix(end) == true)
      try await Member(id: 2, name: "m").insert().run(pool)
      #expect(await problems(pool).first?.hasPrefix(start) == true)
      #expect(pool.gauges().contains { $0.name == "sqlable.changes.delay" && $0.value >= 7_200 })
      try await pool.close()
    }
  }

  @Test func aPoolWithoutALogHasNoProblem() async throws {
    try await withLoggedMembers { pool in
      pool.monitorChangeConsumers()
      try await ChangeLog(Member.self).drop(pool)
      #expect(await problems(pool).isEmpty)
      #expect(pool.gauges().isEmpty)
    }
  }

  @Test func theOwnersProcessIsKnown() async throws {
    try await withLoggedMembers { pool in
      var loop = pool.changes(on: Member.self, as: "index").makeAsyncIterator()
      _ = try await loop.next()
      let owners = try await pool.changeConsumers().map(\.ownerProcess)
      #expect(owners == [Int(getpid())])
    }
  }
}
