import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The answers of owners, and the release of their consumers.
@Suite struct ConsumerLeaseTests {
  private typealias Loop = ChangeBatches<LoggedModelChange<Member>>.Iterator

  private func batches(_ pool: SqlitePool, lease: Duration = .seconds(10)) -> Loop {
    pool.changes(on: Member.self, as: "copy", startingWith: .log, lease: lease).makeAsyncIterator()
  }

  @Test func aClaimBeforeTheOwnerObservesClaimsIsAnswered() async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      // The claim is in the commit that makes the loop the owner.
      try await pool.transaction { db in
        try db.execute(
          """
          CREATE TABLE claim (time);
          CREATE TRIGGER claims AFTER UPDATE OF owner ON sqlable_change_consumers WHEN old.owner IS NULL
          BEGIN
            INSERT INTO claim VALUES (1);
            UPDATE sqlable_change_consumers SET claimed = 9000000000000;
          END
          """)
      }
      var loop = batches(pool)
      let batch = try await loop.next()
      try await until {
        (try? pool.query("SELECT count(*) FROM sqlable_change_consumers WHERE claimed IS NULL", as: Int.self)) == [1]
      }
      #expect(try await pool.query("SELECT count(*) FROM claim", as: Int.self) == [1])
      withExtendedLifetime((loop, batch)) {}
    }
  }

  @Test func anOwnerAnswersAfterTheDeadlineOfItsFirstCall() async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      var first = batches(pool)
      var deadline = Duration.milliseconds(250)
      var batch = try? await withDeadline(deadline) { try await first.next() }
      // On a busy machine, the call needs a later deadline.
      for _ in 0..<12 where batch == nil {
        (first, deadline) = (batches(pool), deadline * 2)
        batch = try? await withDeadline(deadline) { try await first.next() }
      }
      #expect(batch != nil)
      try await Task.sleep(for: deadline)
      try await pool.transaction { db in
        try db.execute(
          """
          CREATE TABLE claim (isMade INTEGER);
          CREATE TRIGGER claims AFTER UPDATE OF claimed ON sqlable_change_consumers WHEN old.claimed IS NOT new.claimed
          BEGIN INSERT INTO claim VALUES (new.claimed IS NOT NULL); END
          """)
      }
      let second = Task { [batches] in
        var second = batches(pool, .seconds(86_400))
        _ = try await second.next()
      }
      try await until { (try? pool.query("SELECT isMade FROM claim", as: Int.self).prefix(2)) == [1, 0] }
      second.cancel()
      _ = try? await second.value
      withExtendedLifetime((first, batch)) {}
    }
  }

  /// A loop that ended before the pool closes can still be releasing its consumer.
  @Test(.disabled(if: isInMemory), arguments: [true, false])
  func closingThePoolReleasesItsConsumers(_ isRunning: Bool) async throws {
    try await withLoggedMembersToClose { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      let other = try SqliteDatabase(filepath: pool.filepath)
      var loop: Loop? = batches(pool)
      var batch = try await loop?.next()
      let owners: SQL = "SELECT count(owner) FROM sqlable_change_consumers"
      #expect(try other.query(owners, as: Int.self) == [1])
      if !isRunning { (loop, batch) = (nil, nil) }
      try await pool.close(within: .seconds(300))
      #expect(try other.query(owners, as: Int.self) == [0])
      withExtendedLifetime((loop, batch)) {}
      try other.close()
    }
  }

  /// An archive can take long to end, and archives only the commits before its end.
  @Test(.disabled(if: isInMemory)) func consumersAreReleasedBeforeAnArchiveEnds() async throws {
    try await withLoggedMembersToClose { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      let other = try SqliteDatabase(filepath: pool.filepath)
      var loop = batches(pool)
      let batch = try await loop.next()
      let owners = LockedValue<[Int]>([])
      _ = pool.add(
        FileUser(
          pause: {}, release: {}, resume: {},
          end: {
            let count = try? other.query("SELECT count(owner) FROM sqlable_change_consumers", as: Int.self)
            owners.withLock { $0 += count ?? [] }
          }, problem: { _ in nil }))
      try await pool.close(within: .seconds(300))
      #expect(owners.withLock { $0 } == [0])
      withExtendedLifetime((loop, batch)) {}
      try other.close()
    }
  }
}
