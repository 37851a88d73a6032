import Foundation
import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Loops over live results: their values and the commits that wake them.
struct LiveResultTests {
  private static let names = Member.read().orderBy(Member.id)

  @Test func theResultComesAtOnceAndAgainAfterEachCommit() async throws {
    try await withMembers { pool in
      var updates = LiveResultTests.names.updates(in: pool).makeAsyncIterator()
      #expect(try await updates.next()?.map(\.name) == [])
      try await Member(id: 1, name: "Ann").insert().run(pool)
      #expect(try await updates.next()?.map(\.name) == ["Ann"])
      try await pool.transaction { db in
        try Member(id: 1, name: "Bea").update().run(db)
        try Member(id: 2, name: "Carl").insert().run(db)
      }
      #expect(try await updates.next()?.map(\.name) == ["Bea", "Carl"])
      try await Member.delete(Member.id == 1).run(pool)
      #expect(try await updates.next()?.map(\.name) == ["Carl"])
    }
  }

  @Test func slowLoopGetsOnlyTheLatestResult() async throws {
    try await withMembers { pool in
      var updates = LiveResultTests.names.updates(in: pool).makeAsyncIterator()
      _ = try await updates.next()
      for id in 1...20 { try await Member(id: id, name: "\(id)").insert().run(pool) }
      #expect(try await updates.next()?.count == 20)
      try await Member(id: 21, name: "21").insert().run(pool)
      #expect(try await updates.next()?.count == 21)
    }
  }

  /// A writer without pauses wakes a loop at most every half millisecond.
  @Test func rapidCommitsAreCoalesced() async throws {
    try await withMembers { pool in
      let follower = Follower(Member.count().updates(in: pool))
      #expect(try await follower.latest { $0 == 0 } == 0)
      let begin = ContinuousClock.now
      try await onThread { for id in 1...500 { try Member(id: id, name: "\(id)").insert().run(pool) } }
      #expect(try await follower.latest { $0 == 500 } == 500)
      // Three extra values: the first result, the first wake-up and one read during the last commits.
      #expect(follower.values.count <= 3 + Int(begin.duration(to: .now) / .microseconds(500)))
      #expect(follower.values == follower.values.sorted())
    }
  }

  /// Returns true if `write` wakes a loop within the time, which is many times the usual delay.
  private func isWoken<Value, Written: Sendable>(
    _ updates: LiveQuery<Value>, _ pool: SqlitePool, within time: Duration = .milliseconds(60),
    _ write: @Sendable @escaping (SqliteDatabase) throws -> Written
  ) async throws -> Bool {
    var iterator = updates.makeAsyncIterator()
    _ = try await iterator.next()
    _ = try await pool.transaction(write)
    let heard = Mutex(false)
    let next = Task { [iterator] in
      var iterator = iterator
      if try await iterator.next() != nil { heard.withLock { $0 = true } }
    }
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end, !heard.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    next.cancel()
    _ = await next.result
    return heard.withLock { $0 }
  }

  private func isEventuallyWoken<Value>(
    _ updates: LiveQuery<Value>, _ pool: SqlitePool, _ write: @Sendable @escaping (SqliteDatabase) throws -> Void
  ) async throws -> Bool { try await isWoken(updates, pool, within: .seconds(600), write) }

  @Test(.needsPreupdateHook) func unrelatedChangesDoNotWakeALoop() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTable(Bicycle.self)
        try db.execute("CREATE TABLE wheel (id INTEGER PRIMARY KEY, size INTEGER, note TEXT)")
        for id in 1...5 { try Member(id: id, name: "m\(id)").insert().run(db) }
      }
      let all = LiveResultTests.names.updates(in: pool)
      #expect(
        try await !isWoken(all, pool) { db in
          try db.execute("INSERT INTO wheel VALUES (1, 26, 'x')")
        })
      #expect(try await isEventuallyWoken(all, pool) { db in try Member(id: 9, name: "n").insert().run(db) })
      let ids = Member.select(Member.id).updates(in: pool)
      #expect(
        try await !isWoken(ids, pool) { db in
          try Member.update(Member.name.set(to: "new")).filter(Member.id == 2).run(db)
        })
      #expect(
        try await isEventuallyWoken(ids, pool) { db in
          try db.execute("UPDATE member SET id = 77 WHERE id = 9")
        })
      let second = Member.byId(2).updates(in: pool)
      #expect(
        try await !isWoken(second, pool) { db in
          try Member(id: 3, name: "other").update().run(db)
        })
      #expect(
        try await isEventuallyWoken(second, pool) { db in
          try Member(id: 2, name: "own").update().run(db)
        })
      let long = Member.read().filter(Member.name.length() > 5).updates(in: pool)
      #expect(
        try await !isWoken(long, pool) { db in
          try Member.update(Member.name.set(to: "short")).filter(Member.id == 1).run(db)
        })
      #expect(
        try await isEventuallyWoken(long, pool) { db in
          try Member.update(Member.name.set(to: "longer than that")).filter(Member.id == 1).run(db)
        })
      #expect(
        try await isEventuallyWoken(long, pool) { db in
          try Member.delete(Member.id == 1).run(db)
        })
      // The pool keeps too few of these rows to filter them, so the loop reads again.
      #expect(
        try await isEventuallyWoken(long, pool) { db in
          for id in 100..<140 { try Member(id: id, name: "s").insert().run(db) }
        })
    }
  }

  @Test func rollbacksDoNotWakeALoop() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)")
        try Member(id: 1, name: "Ann").insert().run(db)
      }
      let all = LiveResultTests.names.updates(in: pool)
      let one = Member.byId(1).updates(in: pool)
      // The whole transaction rolls back.
      #expect(
        try await !isWoken(all, pool) { db -> TransactionResult in
          try Member(id: 1, name: "Bob").update().run(db)
          return .rollback
        })
      // One savepoint rolls back, in a transaction that writes before and after it.
      #expect(
        try await !isWoken(all, pool) { db in
          try db.execute("INSERT INTO other VALUES (1)")
          try db.transaction { db -> TransactionResult in
            try Member(id: 1, name: "Bob").update().run(db)
            try Member(id: 2, name: "Cid").insert().run(db)
            return .rollback
          }
          try db.execute("INSERT INTO other VALUES (2)")
        })
      #expect(
        try await !isWoken(one, pool) { db in
          try db.transaction { db -> TransactionResult in
            try Member(id: 1, name: "Bob").update().run(db)
            return .rollback
          }
          try Member(id: 3, name: "Dan").insert().run(db)
        })
      // Writes before the rolled-back savepoint stay, and so do those of a released savepoint.
      #expect(
        try await isEventuallyWoken(one, pool) { db in
          try Member(id: 1, name: "Eve").update().run(db)
          try db.transaction { db -> TransactionResult in
            try Member(id: 1, name: "Fay").update().run(db)
            return .rollback
          }
        })
      #expect(
        try await isEventuallyWoken(one, pool) { db in
          try db.transaction { db in
            try db.transaction { db in try Member(id: 1, name: "Gus").update().run(db) }
            try db.transaction { db -> TransactionResult in
              try Member(id: 1, name: "Hal").update().run(db)
              return .rollback
            }
          }
        })
    }
  }

  @Test func schemaChangeWakesALoop() async throws {
    try await withMembers { pool in
      try await Member(id: 1, name: "Ann").insert().run(pool)
      var updates = LiveResultTests.names.updates(in: pool).makeAsyncIterator()
      #expect(try await updates.next()?.count == 1)
      try await pool.transaction { db in
        try db.execute("DROP TABLE member")
        try db.createTable(Member.self)
      }
      #expect(try await updates.next()?.count == 0)
      try await Member(id: 7, name: "Bob").insert().run(pool)
      #expect(try await updates.next()?.map(\.id) == [7])
      try await pool.transaction { db in try db.execute("DROP TABLE member") }
      do {
        _ = try await updates.next()
        Issue.record("a result without a table")
      } catch let error as SqlError { #expect(error.kind == .schema(.missingTable("member"))) }
      #expect(try await updates.next() == nil)
    }
  }

  @Test func onlyChangesSkipsEqualResults() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        for id in 1...5 { try Member(id: id, name: "m\(id)").insert().run(db) }
      }
      let first = Member.read().orderBy(Member.id).limit(1)
      #expect(
        try await !isWoken(first.updates(in: pool, onlyChanges: true), pool) { db in
          try Member(id: 1, name: "other").update().run(db)
          try Member(id: 1, name: "m1").update().run(db)
        })
      // Without onlyChanges, a commit that may have changed the result wakes the loop.
      #expect(
        try await isEventuallyWoken(first.updates(in: pool), pool) { db in
          try Member(id: 1, name: "other").update().run(db)
          try Member(id: 1, name: "m1").update().run(db)
        })
      #expect(
        try await isEventuallyWoken(first.updates(in: pool, onlyChanges: true), pool) { db in
          try Member(id: 1, name: "new").update().run(db)
        })
    }
  }

  @Test func everyKindOfReadCanBeFollowed() async throws {
    try await withMembers { pool in
      var count = Member.count().updates(in: pool).makeAsyncIterator()
      var any = Member.exists().filter(Member.id == 1).updates(in: pool).makeAsyncIterator()
      var one = Member.byId(1).updates(in: pool).makeAsyncIterator()
      var pairs = Member.select(Member.id, Member.name).orderBy(Member.id).updates(in: pool).makeAsyncIterator()
      #expect(try await count.next() == 0)
      #expect(try await any.next() == false)
      let none = try await one.next()
      #expect(none == .some(nil))
      #expect(try await pairs.next()?.isEmpty == true)
      try await Member(id: 1, name: "Ann").insert().run(pool)
      #expect(try await count.next() == 1)
      #expect(try await any.next() == true)
      let found = try await one.next()
      #expect(found??.name == "Ann")
      let pair = try await pairs.next()?.first
      #expect(pair?.0 == 1)
      #expect(pair?.1 == "Ann")
    }
  }

  @Test func followingADeleteThrows() async throws {
    try await withMembers { pool in
      var updates = Member.delete(Member.id == 1).updates(in: pool).makeAsyncIterator()
      do {
        _ = try await updates.next()
        Issue.record("a delete was followed")
      } catch let error as SqlError { #expect(error.message.contains("no live result")) }
    }
  }

  @Test func statisticsCountRunningLoops() async throws {
    try await withMembers { pool in
      #expect(pool.statistics.loops == 0)
      do {
        var count = Member.count().updates(in: pool).makeAsyncIterator()
        let changes = pool.changes(on: Member.self)
        _ = try await count.next()
        // A sequence without a loop buffers changes, but does not count.
        #expect(pool.statistics.loops == 1)
        do {
          let (rows, commits) = (changes.makeAsyncIterator(), changes.commits.makeAsyncIterator())
          #expect(pool.statistics.loops == 3)
          withExtendedLifetime((rows, commits)) {}
        }
        #expect(pool.statistics.loops == 1)
        withExtendedLifetime(changes) {}
      }
      #expect(pool.statistics.loops == 0)
    }
  }

  @Test(.needsPreupdateHook) func closingThePoolEndsTheLoop() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in try db.createTable(Member.self) }
      let updates = LiveResultTests.names.updates(in: pool)
      let (results, rows) = (Collected<Int>(), Collected<Int>())
      let loop = Task { for try await members in updates { results.append(members.count) } }
      let changes = pool.changes(on: Member.self)
      let heard = Task { for await case .row(let row) in changes { rows.append(row.id) } }
      try await until { results.values == [0] }
      try await Member(id: 1, name: "Ann").insert().run(pool)
      try await until { results.values == [0, 1] }
      try await pool.close()
      try await loop.value
      await heard.value
      #expect(results.values == [0, 1])
      // The loop gets acknowledged commits before it ends.
      #expect(rows.values == [1])
      var late = updates.makeAsyncIterator()
      #expect(try await late.next() == nil)
    }
  }

  @Test(.needsPreupdateHook) func commitWakesOnlyLoopsOfChangedRows() async throws {
    try await withMembers { pool in
      let count = 2_000
      try await pool.transaction { db in
        try Member.insert((1...count).map { Member(id: $0, name: "old") }).run(db)
      }
      let (begun, heard) = (Collected<Int>(), Collected<Int>())
      let loops = (1...count).map { id in
        let updates = Member.byId(id).updates(in: pool)
        return Task {
          for try await member in updates {
            if member?.name == "old" { begun.append(id) } else { heard.append(id) }
          }
        }
      }
      try await until { begun.values.count >= count }
      for id in [7, 1_999] { try await Member(id: id, name: "new").update().run(pool) }
      try await until { heard.values.count >= 2 }
      try await Task.sleep(for: .milliseconds(20))
      #expect(heard.values.sorted() == [7, 1_999])
      #expect(begun.values.count == count)
      for loop in loops { loop.cancel() }
      for loop in loops { _ = await loop.result }
    }
  }

  @Test func aCancelledLoopEnds() async throws {
    try await withMembers { pool in
      let loop = Task { for try await _ in LiveResultTests.names.updates(in: pool) {} }
      try await Task.sleep(for: .milliseconds(20))
      loop.cancel()
      await #expect(throws: CancellationError.self) { try await loop.value }
    }
  }
}
