import SqlableCore
import SqlablePool
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Calls on a database without a change log.
@Suite struct MissingLogTests {
  private typealias Call = @Sendable (SqlitePool) async throws -> Void

  private static let calls: [(name: String, call: Call)] = [
    ("changePosition", { _ = try await $0.changePosition() }),
    ("changeConsumers", { _ = try await $0.changeConsumers() }),
    ("removeChangeConsumer", { try await $0.removeChangeConsumer("a") }),
    ("trim", { _ = try await ChangeLog.trim($0, keeping: .count(1)) }),
    (
      "trim on a handle",
      { pool in _ = try await pool.transaction { try ChangeLog.trim($0, keeping: .unacknowledged) } }
    ),
    ("quarantinedChanges", { _ = try await $0.quarantinedChanges(of: "a") }),
    ("dropQuarantinedChanges", { _ = try await $0.dropQuarantinedChanges(of: "a") }),
    ("retryQuarantinedChanges", { try await $0.retryQuarantinedChanges(of: "a") { _, _ in } }),
    ("retryQuarantinedChanges(on:)", { try await $0.retryQuarantinedChanges(of: "a", on: Member.self) { _ in } }),
    (
      "changes(since:)",
      { pool in
        let position = try #require(ChangePosition("0-1-2"))
        for try await _ in pool.changes(since: position) {}
      }
    ),
    (
      "changes(on:since:)",
      { pool in
        let position = try #require(ChangePosition("0-1-2"))
        for try await _ in pool.changes(on: Member.self, since: position) {}
      }
    ),
    ("changes(as:)", { for try await _ in $0.changes(as: "a") {} }),
    ("changes(on:as:)", { for try await _ in $0.changes(on: Member.self, as: "a") {} }),
    ("consume", { try await $0.consume("a") { _, _ in } }),
    ("consume(on:)", { try await $0.consume("a", on: Member.self, retries: ChangeRetries()) { _, _ in } }),
    ("deliver", { try await $0.deliver("a") { _ in } }),
    ("deliver(on:)", { try await $0.deliver("a", on: Member.self, retries: ChangeRetries()) { _ in } }),
  ]

  @Test(arguments: calls.indices) func everyCallNamesTheRemedy(_ index: Int) async throws {
    let (name, call) = Self.calls[index]
    try await withMembers { pool in
      let error = await #expect(throws: SqlError.self, "\(name)") { try await call(pool) }
      #expect(error?.kind == .schema(.missingTable("sqlable_changes")), "\(name)")
      #expect(error?.message == "the database has no change log; create one with ChangeLog(…).create(db)", "\(name)")
    }
  }

  @Test(arguments: ["changes(on:as:)", "consume(on:)", "trim"])
  func aLogThatLacksATableNamesTheRemedy(_ name: String) async throws {
    let call = try #require(Self.calls.first { $0.name == name }).call
    try await withLoggedMembers { pool in
      try await Member.insert([Member(id: 1, name: "m"), Member(id: 2, name: "m")]).run(pool)
      try await pool.transaction { db in try db.execute("DROP TABLE sqlable_change_missing") }
      let error = await #expect(throws: SqlError.self) { try await call(pool) }
      #expect(error?.message.contains("create one with ChangeLog(…).create(db)") == true)
      try await ChangeLog(Member.self).create(pool)
      #expect(try await ChangeLog.trim(pool, keeping: .count(1)) == 1)
    }
  }

  @Test func aConsumerOfAnOutdatedLogIsNotStored() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in try db.execute("ALTER TABLE member ADD COLUMN age INTEGER") }
      for name in ["changes(as:)", "changes(on:as:)", "consume", "consume(on:)", "deliver", "deliver(on:)"] {
        let call = try #require(Self.calls.first { $0.name == name }).call
        let error = await #expect(throws: SqlError.self) { try await call(pool) }
        #expect(error?.message.contains("has other columns than its change log") == true)
      }
      #expect(try await pool.changeConsumers().isEmpty)
    }
  }

  @Test func aConsumerOfATableWithoutALogIsNotStored() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in try db.createTable(Person.self) }
      let error = await #expect(throws: SqlError.self) {
        for try await _ in pool.changes(on: Person.self, as: "people") {}
      }
      #expect(error?.message == "table person has no change log; create one with ChangeLog(…).create(db)")
      #expect(try await pool.changeConsumers().isEmpty)
    }
  }

  @Test func aBatchOfALogThatWasDroppedNamesTheRemedy() async throws {
    try await withLoggedMembers { pool in
      var batches = pool.changes(on: Member.self, as: "index").makeAsyncIterator()
      let batch = try #require(try await batches.next())
      try await ChangeLog(Member.self).drop(pool)
      let error = await #expect(throws: SqlError.self) { try await batch.acknowledge() }
      #expect(error?.message.contains("the database has no change log; create one with") == true)
    }
  }
}
