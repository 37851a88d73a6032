import SqlableCore
import SqlablePool
import SqlableQueries
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Filters that run on a copy of a changed row, compared with the same filters on the table.
struct FilterCopyTests {
  private func follows(
    _ count: Statement<Member, Int>, _ pool: SqlitePool, _ writes: [SQL],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let follower = Follower(count.updates(in: pool))
    _ = try await follower.latest { _ in true }
    for write in writes {
      try await pool.transaction { db in try db.execute(write) }
      let right = try await count.run(pool)
      #expect(try await follower.latest { $0 == right } == right, sourceLocation: sourceLocation)
    }
  }

  /// A text that is not UTF-8 differs from its repaired form.
  @Test func textsThatAreNotUTF8AreNotRepaired() async throws {
    try await withMembers(PoolConfiguration(pollInterval: nil)) { pool in
      let repaired = "\u{FFFD}A"
      try await follows(
        Member.count().filter(Member.name != repaired), pool,
        [
          "INSERT INTO member VALUES (1, CAST(x'FF41' AS TEXT))",
          "UPDATE member SET name = 'b'",
          "UPDATE member SET name = CAST(x'C041' AS TEXT)",
          "DELETE FROM member",
        ])
      try await follows(
        Member.count().filter(Member.name == repaired), pool,
        [
          "INSERT INTO member VALUES (1, CAST(x'FF41' AS TEXT))",
          "UPDATE member SET name = \(repaired)",
        ])
    }
  }

  @Test(.needsPreupdateHook) func changeWithInvalidUTF8Throws() async throws {
    try await withMembers(PoolConfiguration(pollInterval: nil)) { pool in
      var changes = pool.modelChanges(on: Member.self).makeAsyncIterator()
      try await pool.transaction { db in
        try db.execute("INSERT INTO member VALUES (1, CAST(x'FF41' AS TEXT)), (2, 'b')")
      }
      guard case .row(let first) = await changes.next(), case .row(let second) = await changes.next() else {
        Issue.record("no rows")
        return
      }
      let error = #expect(throws: SqlError.self) { try first.new() }
      #expect(error?.message.contains("not UTF-8") == true)
      #expect(try second.new() == Member(id: 2, name: "b"))
    }
  }

  /// The row filter does not know the case sensitivity of LIKE on the reader. Under NOT, the other LIKE selects other
  /// rows.
  @Test(arguments: [true, false]) func likeFilterFollowsCaseSensitivityOfTheReader(_ isSetBefore: Bool) async throws {
    try await withMembers(PoolConfiguration(readers: 1, pollInterval: nil)) { pool in
      try await Member(id: 9, name: "x").insert().run(pool)
      func set() async throws { try await pool.read { db in try db.execute("PRAGMA case_sensitive_like = ON") } }
      if isSetBefore { try await set() }
      for filter in [!Member.name.like("a%"), Member.name.like("a%")] {
        let count = Member.count().filter(filter)
        let follower = Follower(count.updates(in: pool))
        _ = try await follower.latest { _ in true }
        try await set()
        for write in ["INSERT INTO member VALUES (1, 'ABC')", "UPDATE member SET name = 'abc' WHERE id = 1"] {
          try await pool.transaction { db in try db.execute(SQL(verbatim: write)) }
          let right = try await count.run(pool)
          #expect(try await follower.latest { $0 == right } == right, "\(write)")
        }
        try await pool.transaction { db in try db.execute("DELETE FROM member WHERE id = 1") }
      }
    }
  }

  /// The row filter evaluates both forms of LIKE and so still avoids reads.
  @Test func likeFilterSparesReads() async throws {
    try await withMembers(PoolConfiguration(pollInterval: nil)) { pool in
      let follower = Follower(Member.count().filter(Member.name.like("a%")).updates(in: pool))
      _ = try await follower.latest { $0 == 0 }
      for id in 1...50 { try await Member(id: id, name: "b\(id)").insert().run(pool) }
      try await Member(id: 51, name: "Abc").insert().run(pool)
      #expect(try await follower.latest { $0 == 1 } == 1)
      // Commits before the loop has registered its filter may have woken it.
      #expect(follower.values.count < 10)
    }
  }
}
