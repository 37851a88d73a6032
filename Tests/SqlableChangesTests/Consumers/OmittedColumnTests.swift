import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Consumers of a model with a column that the log did not keep of earlier changes.
@Suite struct OmittedColumnTests {
  private static let forEver = ChangeRetries(attempts: .max, pause: .seconds(60), longestPause: .seconds(60))
  private static let atOnce = ChangeRetries(attempts: 1, pause: .zero, longestPause: .zero, then: .quarantine)

  /// Calls `body` with a pool whose log lacks the name of the second of three members.
  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "Ada").insert().run(pool)
      try await ChangeLog(Member.self, keeping: .keys).create(pool)
      try await Member(id: 2, name: "Bob").insert().run(pool)
      try await ChangeLog(Member.self).create(pool)
      try await Member(id: 3, name: "Cleo").insert().run(pool)
      try await body(pool)
    }
  }

  private func check(_ error: SqlError?) {
    #expect(error?.kindIsMisuse == true && error?.table == "member" && error?.column == "name")
    let message = "the change log of table member did not keep column name of a change, which the model reads; read"
    #expect(error?.message.hasPrefix(message) == true)
  }

  @Test(.timeLimit(.minutes(60)), arguments: [nil, atOnce, forEver]) func theChangeEndsDeliver(
    _ retries: ChangeRetries?
  ) async throws {
    try await withLog { pool in
      let delivered = Collected<Int>()
      for _ in 0..<2 {
        let error = await #expect(throws: SqlError.self) {
          try await pool.deliver("copy", on: Member.self, startingWith: .log, retries: retries) { change in
            delivered.append(change.position.number)
          }
        }
        check(error)
      }
      #expect(delivered.values == [1])
      let consumer = try #require(try await pool.changeConsumers().first)
      #expect((consumer.position.number, consumer.quarantined, consumer.error) == (1, 0, nil))
      // A model of the kept columns gets past the change.
      for try await batch in pool.changes(on: Entry<MemberKey>.self, as: "copy") {
        #expect(try await batch.all().map(\.row) == [.insert(Entry(2)), .insert(Entry(3))])
        break
      }
    }
  }

  @Test(.timeLimit(.minutes(60)), arguments: [nil, atOnce, forEver]) func theChangeEndsConsume(
    _ retries: ChangeRetries?
  ) async throws {
    try await withLog { pool in
      try await pool.transaction { db in try db.execute("CREATE TABLE seen (id INTEGER)") }
      let error = await #expect(throws: SqlError.self) {
        try await pool.consume("copy", on: Member.self, startingWith: .log, retries: retries) { db, change in
          try db.execute("INSERT INTO seen VALUES (\(change.position.number))")
        }
      }
      check(error)
      #expect(try await pool.query("SELECT id FROM seen", as: Int.self).isEmpty)
      #expect(try await pool.query("SELECT count(*) FROM sqlable_change_quarantine", as: Int.self) == [0])
    }
  }

  @Test func theChangeStaysInQuarantineAsItIs() async throws {
    try await withLog { pool in
      struct Refused: Error {}
      let task = Task {
        try await pool.consume(
          "copy", on: Entry<MemberKey>.self, startingWith: .log, retries: Self.atOnce
        ) { _, change in
          if change.position.number > 1 { throw Refused() }
        }
      }
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.lag) == 0 }
      task.cancel()
      _ = await task.result
      let retried = Collected<Int>()
      let error = await #expect(throws: SqlError.self) {
        try await pool.retryQuarantinedChanges(of: "copy", on: Member.self) { _, change in
          retried.append(change.position.number)
        }
      }
      check(error)
      #expect(retried.values == [3])
      #expect(
        try await pool.quarantinedChanges(of: "copy").map { [$0.change.position.number, $0.attempts] } == [[2, 1]])
      #expect(try await pool.retryQuarantinedChanges(of: "copy", on: Entry<MemberKey>.self) { _, _ in } == 1)
    }
  }

  private struct MemberKey: TableDeclaration {
    static let name = "member"
    static let columns = [Column("id", .integer, PrimaryKey())]
  }
}
