import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Statements of `Docs/ChangeLog.md` about positions, batches and waiting loops.
@Suite struct GuaranteeTests {
  private struct Refused: Error {}

  private func ids(_ batch: ChangeBatch<LoggedModelChange<Member>>?) async throws -> [Int] {
    try await batch?.all().map { if case .insert(let member) = $0.row { member.id } else { 0 } } ?? []
  }

  @Test func anUpdateToTheSameValuesIsLogged() async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      let position = try await pool.changePosition()
      try await Member.updateAll(Member.name.set(to: "m")).run(pool)
      let rows = try await pool.read { db in try db.changes(on: Member.self, since: position).changes.map(\.row) }
      #expect(rows == [.update(old: Member(id: 1, name: "m"), new: Member(id: 1, name: "m"))])
    }
  }

  @Test func aLoggedColumnCannotBeDroppedByText() async throws {
    try await withLoggedMembers { pool in
      await #expect(throws: SqlError.self) {
        try await pool.transaction { db in try db.execute("ALTER TABLE member DROP COLUMN name") }
      }
      try await Member(id: 1, name: "m").insert().run(pool)
      #expect(try await pool.query("SELECT v1 FROM sqlable_changes", as: String.self) == ["m"])
    }
  }

  @Test func theRowsOfASnapshotShareItsPosition() async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...3).map { Member(id: $0, name: "m") }).run(pool)
      var loop = pool.changes(on: Member.self, as: "copy").makeAsyncIterator()
      let batch = try #require(try await loop.next())
      let positions = try await batch.all().map(\.position)
      let end = try await pool.changePosition()
      #expect(positions == [end, end, end] && batch.position == end)
    }
  }

  /// One commit has three changes, and the delivery of the third fails.
  @Test func aBatchBeginsInsideACommitAfterADelivery() async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...3).map { Member(id: $0, name: "m") }).run(pool)
      await #expect(throws: Refused.self) {
        try await pool.deliver("copy", on: Member.self, startingWith: .log) { change in
          if change.position.number == 3 { throw Refused() }
        }
      }
      var loop = pool.changes(on: Member.self, as: "copy").makeAsyncIterator()
      #expect(try await ids(loop.next()) == [3])
    }
  }

  /// A batch that is delivered again has the later commits, too.
  @Test func aRepeatedBatchHasTheLaterCommits() async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      do {
        var loop = pool.changes(on: Member.self, as: "copy", startingWith: .log).makeAsyncIterator()
        #expect(try await ids(loop.next()) == [1])
      }
      try await Member(id: 2, name: "m").insert().run(pool)
      var loop = pool.changes(on: Member.self, as: "copy").makeAsyncIterator()
      #expect(try await ids(loop.next()) == [1, 2])
    }
  }

  /// The loop waits while 200 commits change a table that has no log.
  @Test(.needsPreupdateHook) func aWaitingLoopNeitherReadsNorWrites() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in try db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)") }
      try await Member(id: 1, name: "m").insert().run(pool)
      var loop = pool.changes(on: Member.self, as: "copy", startingWith: .log).makeAsyncIterator()
      try await loop.next()?.acknowledge()
      let statements = LockedValue(0)
      let token = pool.trace(.init()) { event in
        // Each commit of the pool reads the end of the log.
        guard event.sql.contains("sqlable_change"), !event.sql.hasPrefix("SELECT \"seq\", \"at\"") else { return }
        statements.withLock { $0 += 1 }
      }
      let waiting = LockedValue(loop)
      let next = Task { [ids] in
        var loop = waiting.withLock { $0 }
        return try await ids(loop.next())
      }
      for id in 1...200 { try await pool.transaction { db in try db.execute("INSERT INTO other VALUES (\(id))") } }
      try await Member(id: 2, name: "m").insert().run(pool)
      #expect(try await next.value == [2])
      pool.removeTrace(token)
      #expect(statements.withLock { $0 } < 100)
    }
  }

  @Test func theAttemptsOfTheGuideTakeTwoMinutes() {
    let retries = ChangeRetries(attempts: 8, pause: .seconds(1), longestPause: .seconds(60), then: .quarantine)
    let pauses = (1..<8).map { retries.milliseconds(after: $0) }
    #expect(pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000])
    #expect(pauses.reduce(0, +) == 123_000)
  }

  /// Receivers in other languages compare the number between the hyphens.
  @Test func theTextOfAPositionHasItsNumberBetweenHyphens() async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...11).map { Member(id: $0, name: "m") }).run(pool)
      let position = try await pool.changePosition()
      #expect(position.description.split(separator: "-").dropFirst().first == "11")
      #expect(ChangePosition(position.description) == position)
    }
  }
}
