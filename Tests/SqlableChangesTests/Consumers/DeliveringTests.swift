import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Deliveries of single changes: when positions are stored, and which errors are attempts.
@Suite struct DeliveringTests {
  private struct Refused: Error {}

  private static let atOnce = ChangeRetries(attempts: 3, pause: .zero, longestPause: .zero, then: .quarantine)

  /// Calls `body` with a pool whose table of members is logged, and has three members.
  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withMembers { pool in
      try await pool.transaction { db in try ChangeLog(Member.self).create(db) }
      try await Member.insert((1...3).map { Member(id: $0, name: "Ada") }).run(pool)
      try await body(pool)
    }
  }

  /// A backlog of three changes is one batch. The delivery of its first change takes more than a second.
  @Test func aLongBatchBeginsAgainBehindItsStoredPosition() async throws {
    try await withLog { pool in
      let delivered = LockedValue<[Int]>([])
      func deliver() async throws {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log) { change in
          let number = change.position.number
          delivered.withLock { $0.append(number) }
          if number == 1 { try await Task.sleep(for: .milliseconds(1_100)) }
          if number == 2, delivered.withLock({ $0.count }) == 2 { throw Refused() }
        }
      }
      await #expect(throws: Refused.self) { try await deliver() }
      #expect(try await pool.changeConsumers().map(\.position.number) == [1])
      let task = Task { try await deliver() }
      try await until { delivered.withLock { $0.count } == 4 }
      task.cancel()
      _ = await task.result
      #expect(delivered.withLock { $0 } == [1, 2, 2, 3])
    }
  }

  /// The batch has read the changes that the trim deletes.
  @Test func aTrimDuringALongDeliveryLosesNoChange() async throws {
    try await withLog { pool in
      let delivered = LockedValue<[Int]>([])
      let task = Task {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log) { change in
          delivered.withLock { $0.append(change.position.number) }
          guard change.position.number == 1 else { return }
          _ = try await ChangeLog.trim(pool, keeping: .count(1))
          try await Task.sleep(for: .milliseconds(1_100))
        }
      }
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.lag) == 0 }
      task.cancel()
      _ = await task.result
      #expect(delivered.withLock { $0 } == [1, 2, 3])
    }
  }

  /// Without a position before the failing change, each call would deliver the first change again.
  @Test(arguments: [nil, ChangeRetries(attempts: 1, pause: .zero, longestPause: .zero, then: .stop)])
  func aFailingChangeDoesNotRepeatEarlierChanges(_ retries: ChangeRetries?) async throws {
    try await withLog { pool in
      let delivered = LockedValue<[Int]>([])
      for _ in 0..<3 {
        await #expect(throws: Refused.self) {
          try await pool.deliver("webhook", on: Member.self, startingWith: .log, retries: retries) { change in
            delivered.withLock { $0.append(change.position.number) }
            if change.position.number == 2 { throw Refused() }
          }
        }
      }
      #expect(delivered.withLock { $0 } == [1, 2, 2, 2])
    }
  }

  /// The closure's own request was cancelled, and not the consumer.
  @Test func aCancellationErrorOfTheClosureIsAnAttempt() async throws {
    try await withLog { pool in
      let delivered = LockedValue<[Int]>([])
      let task = Task {
        try await pool.deliver("webhook", on: Member.self, startingWith: .log, retries: Self.atOnce) { change in
          delivered.withLock { $0.append(change.position.number) }
          if delivered.withLock({ $0.count }) == 1 { throw CancellationError() }
        }
      }
      try await until { delivered.withLock { $0.count } == 4 }
      task.cancel()
      _ = await task.result
      #expect(delivered.withLock { $0 } == [1, 1, 2, 3])
      #expect(try await pool.quarantinedChanges(of: "webhook").isEmpty)
    }
  }
}
