import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Consumers that pause for a day when their pool closes.
@Suite struct PauseTests {
  private struct Refused: Error {}

  private static let daily = ChangeRetries(
    attempts: .max, pause: .seconds(86_400), longestPause: .seconds(86_400))

  enum Pause: CaseIterable { case consumedChange, consumedRow, deliveredChange, deliveredRow, lease }

  private func run(_ pause: Pause, _ pool: SqlitePool) async throws {
    let retries = PauseTests.daily
    switch pause {
    case .consumedChange, .consumedRow:
      let start: ConsumerStart = pause == .consumedRow ? .rows : .log
      try await pool.consume("c", on: Member.self, startingWith: start, retries: retries) { _, _ in throw Refused() }
    case .deliveredChange, .deliveredRow:
      let start: ConsumerStart = pause == .deliveredRow ? .rows : .log
      try await pool.deliver("c", on: Member.self, startingWith: start, retries: retries) { _ in throw Refused() }
    case .lease:
      for try await _ in pool.changes(on: Member.self, as: "c", lease: .seconds(86_400)) {}
    }
  }

  /// A hundred rows are more than the reader of a snapshot buffers, so the read of the rows is still a call.
  @Test(arguments: Pause.allCases) func closingThePoolEndsAPause(_ pause: Pause) async throws {
    try await withLoggedMembersToClose { pool in
      try await Member.insert((1...100).map { Member(id: $0, name: "m") }).run(pool)
      if pause == .lease {
        try await pool.transaction { db in
          _ = try ConsumerRecord.known("c", of: "member", startingAt: .rows, in: db)
          try db.execute("UPDATE sqlable_change_consumers SET owner = '1-suspended'")
        }
      }
      let hasEnded = LockedValue(false)
      let task = Task { [run] in
        defer { hasEnded.withLock { $0 = true } }
        try await run(pause, pool)
      }
      let state: SQL =
        pause == .lease
        ? "SELECT claimed IS NOT NULL FROM sqlable_change_consumers"
        : "SELECT attempts FROM sqlable_change_quarantine"
      try await until { (try? pool.query(state, as: Int.self)) == [1] || hasEnded.withLock { $0 } }
      // Without an interruption of the calls that are left after `within`.
      try await pool.close(within: .seconds(3_600))
      try await until { hasEnded.withLock { $0 } }
      task.cancel()
      try await task.value
    }
  }

  /// The first closure closes the pool, and the second change is not retried.
  @Test func closingThePoolEndsARetryFromTheQuarantine() async throws {
    try await withLoggedMembersToClose { pool in
      try await Member.insert((1...2).map { Member(id: $0, name: "m") }).run(pool)
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("webhook", of: "member", startingAt: .log, in: db)
        for number in 1...2 {
          _ = try QuarantineRecord.note(
            Refused(), of: .change(logged(number, db)), consumer: "webhook", quarantiningAfter: 1, in: db)
        }
        try db.execute("UPDATE sqlable_change_consumers SET seq = 2, at = (SELECT max(at) FROM sqlable_changes)")
      }
      let count = LockedValue(0)
      let error = await #expect(throws: SqlError.self) {
        try await pool.retryQuarantinedChanges(of: "webhook", on: Member.self) { _ in
          count.withLock { $0 += 1 }
          try await pool.close(within: .seconds(300))
        }
      }
      #expect(error?.kind == .closed)
      #expect(count.withLock { $0 } == 1)
    }
  }
}
