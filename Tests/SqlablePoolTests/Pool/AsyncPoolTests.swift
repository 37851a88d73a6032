import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Asynchronous calls of a pool: no thread of Swift's pool blocks, and a cancellation affects one call only.
@Suite struct AsyncPoolTests {
  @Test(.needs(35, "RETURNING")) func statementsRunInAsyncCode() async throws {
    try await withMembers { pool in
      let id = try await Member(id: 1, name: "Anna").insert().run(pool)
      let ids = try await Member.insert([Member(id: 2, name: "Bo")]).run(pool)
      let all = try await Member.read().orderBy(Member.id).run(pool)
      let one = try await Member.byId(2).run(pool)
      let count = try await Member.count().run(pool)
      let isThere = try await Member.exists().filter(Member.name == "Cid").run(pool)
      let names = try await Member.select(Member.name).orderBy(Member.name.desc).run(pool)
      let first = try await Member.select(Member.id, Member.name).first(pool)
      #expect(id == 1)
      #expect(ids == [2])
      #expect(all.map(\.name) == ["Anna", "Bo"])
      #expect(one?.name == "Bo")
      #expect(count == 2)
      #expect(!isThere)
      #expect(names == ["Bo", "Anna"])
      #expect(first?.1 == "Anna")
      let changed = try await pool.transaction { db in try Member.deleteAll().run(db) }
      let rest = try await pool.read { db in try Member.count().run(db) }
      #expect(changed == 2)
      #expect(rest == 0)
      let gone = try await Member(id: 9, name: "Cid").insert().returning(Member.id).run(pool)
      #expect(gone == [9])
    }
  }

  @Test func errorsReachTheCallerThatCausedThem() async throws {
    try await withMembers { pool in
      try await Member(id: 1, name: "Anna").insert().run(pool)
      let results = await withTaskGroup(of: (Int, Bool).self) { group in
        for index in 0..<40 {
          group.addTask {
            do {
              try await Member(id: index % 2 == 0 ? 1 : 100 + index, name: "x").insert().run(pool)
              return (index, true)
            } catch { return (index, false) }
          }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      #expect(results.allSatisfy { index, isStored in isStored == (index % 2 == 1) })
      let count = try await Member.count().run(pool)
      #expect(count == 21)
    }
  }

  @Test func slowQueryDoesNotBlockTenThousandReads() async throws {
    try await withMembers(PoolConfiguration(readers: 2, waitTimeout: nil)) { pool in
      let slow = Task { try await pool.read { db in try db.query(endless(3_000_000), as: Int.self) } }
      let count = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<times(10_000) { group.addTask { try await Member.count().run(pool) } }
        return try await group.reduce(0) { total, _ in total + 1 }
      }
      #expect(count == times(10_000))
      let value = try await slow.value
      #expect(value == [3_000_000])
    }
  }

  /// A count over the cross product of `tables` member tables.
  private func combinations(_ tables: Int) -> Select<Int> {
    let queries = (1..<tables).reduce(Member.read().asSelect()) { query, number in
      query.joining(Alias(Member.self, "m\(number)"), on: .all([]))
    }
    return queries.select(countAll())
  }

  @Test func longStatementMovesOffTheCallersThread() async throws {
    try await withMembers(PoolConfiguration(readers: 2, waitTimeout: nil)) { pool in
      try await Member.insert((1...100).map { Member(id: $0, name: "\($0)") }).run(pool)
      let short = try await combinations(1).run(pool)
      #expect(short == [100])
      let reads = pool.statistics.reads
      // The caller's thread gives up and a thread of the pool repeats the read: it counts once.
      let long = try await combinations(3).run(pool)
      #expect(long == [1_000_000])
      #expect(pool.statistics.reads == reads + 1)
      let endless = (0..<4).map { _ in Task { try await combinations(9).run(pool) } }
      try await until { pool.statistics.waitingReads >= 2 }
      // Swift has as many threads as cores: blocking reads would leave none for these tasks.
      let others = await withTaskGroup(of: Int.self) { group in
        for index in 0..<100 { group.addTask { index } }
        return await group.reduce(0, +)
      }
      #expect(others == 4950)
      for task in endless { task.cancel() }
      for task in endless { await #expect(throws: CancellationError.self) { try await task.value } }
      let again = try await Member.count().run(pool)
      #expect(again == 100)
    }
  }

  @Test func cancellationInterruptsOnlyTheCancelledQuery() async throws {
    try await withMembers(PoolConfiguration(readers: 1, waitTimeout: nil)) { pool in
      let slow = Task { try await pool.read { db in try db.query(endless(.max), as: Int.self) } }
      try await until { pool.statistics.oldestRead != nil }
      let neighbours = (0..<20).map { _ in Task { try await Member.count().run(pool) } }
      let waiting = Task { try await Member.count().run(pool) }
      try await until { pool.statistics.waitingReads >= 21 }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      slow.cancel()
      await #expect(throws: CancellationError.self) { try await slow.value }
      for neighbour in neighbours {
        let count = try await neighbour.value
        #expect(count == 0)
      }
    }
  }

  @Test func taskCancelledBeforeItsCallWritesNothing() async throws {
    try await withMembers { pool in
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        try await Member(id: 1, name: "Anna").insert().run(pool)
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let count = try await Member.count().run(pool)
      #expect(count == 0)
    }
  }

  @Test func cancelledWriteAloneLeavesASharedCommit() async throws {
    try await withMembers(PoolConfiguration(waitTimeout: nil)) { pool in
      // A cancellation in a shared commit makes the pool run the other members again.
      let isOpen = Mutex(false)
      defer { isOpen.withLock { $0 = true } }
      let first = Task {
        try await pool.transaction { _ in waitUntil { isOpen.withLock { $0 } } }
      }
      try await until { pool.statistics.isWriting }
      let before = Task { try await Member(id: 1, name: "before").insert().run(pool) }
      try await until { pool.statistics.waitingWrites >= 1 }
      let slow = Task {
        try await pool.transaction { db in
          try Member(id: 2, name: "slow").insert().run(db)
          try db.execute(
            """
            WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n)
            INSERT INTO member SELECT 9 + value, 'x' FROM n
            """)
        }
      }
      try await until { pool.statistics.waitingWrites >= 2 }
      let after = Task { try await Member(id: 3, name: "after").insert().run(pool) }
      try await until { pool.statistics.waitingWrites >= 3 }
      isOpen.withLock { $0 = true }
      try await until { pool.statistics.waitingWrites <= 1 }
      slow.cancel()
      await #expect(throws: CancellationError.self) { try await slow.value }
      _ = try await (first.value, before.value, after.value)
      let ids = try await Member.read().orderBy(Member.id).run(pool).map(\.id)
      #expect(ids == [1, 3])
    }
  }

  /// SQLite calls its progress handler after a statement, too. An interrupted COMMIT would look like a failed one.
  @Test func cancelledWriteIsStoredExactlyIfItSucceeds() async throws {
    try await withMembers { pool in
      var told: Set<Int> = []
      for id in 1...1_500 {
        let (inside, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let task = Task {
          try await pool.transaction { db in
            try Member(id: id, name: "m").insert().run(db)
            inside.signal()
            cancelled.wait()
          }
        }
        try await onThread { inside.wait() }
        task.cancel()
        cancelled.signal()
        do {
          try await task.value
          told.insert(id)
        } catch is CancellationError {}
      }
      let stored = try await Member.select(Member.id).run(pool)
      #expect(Set(stored) == told)
    }
  }

  @Test func deadlineEndsWaitingAndRunningReads() async throws {
    try await withMembers(PoolConfiguration(readers: 1)) { pool in
      let running = await error {
        try await withDeadline(.seconds(2)) {
          _ = try await pool.read { db in try db.query(endless(.max), as: Int.self) }
        }
      }
      #expect(running?.kind == .timeout)
      #expect(running?.message.contains("was running") == true)
      let slow = Task { try await pool.read { db in try db.query(endless(.max), as: Int.self) } }
      try await until { pool.statistics.oldestRead != nil }
      let waiting = await error { try await withDeadline(.seconds(2)) { _ = try await Member.count().run(pool) } }
      #expect(waiting?.kind == .timeout)
      #expect(waiting?.message.contains("waited for a reader") == true)
      slow.cancel()
      await #expect(throws: CancellationError.self) { try await slow.value }
      let inTime = try await withDeadline(.seconds(600)) { try await Member.count().run(pool) }
      #expect(inTime == 0)
    }
  }

  @Test func callAfterItsDeadlineDoesNotStart() async throws {
    try await withMembers { pool in
      let write = await error {
        try await withDeadline(.milliseconds(5)) {
          try await Task.sleep(for: .milliseconds(10))
          _ = try await Member(id: 1, name: "late").insert().run(pool)
        }
      }
      let read = await error {
        try await withDeadline(.milliseconds(5)) {
          try await Task.sleep(for: .milliseconds(10))
          _ = try await Member.count().run(pool)
        }
      }
      for error in [write, read] {
        #expect(error?.kind == .timeout)
        #expect(error?.message.contains("had passed") == true)
      }
      let count = try await Member.count().run(pool)
      #expect(count == 0)
    }
  }

  @Test func deadlineEndsSynchronousCalls() throws {
    try withMembers { pool in
      let running = sqlError {
        try withDeadline(.milliseconds(30)) { _ = try pool.read { db in try db.query(endless(.max), as: Int.self) } }
      }
      #expect(running?.kind == .timeout)
      let write = sqlError {
        try withDeadline(.milliseconds(30)) {
          try pool.transaction { db in
            try Member(id: 1, name: "x").insert().run(db)
            _ = try db.query(endless(.max), as: Int.self)
          }
        }
      }
      #expect(write?.kind == .timeout)
      let count = try Member.count().run(pool)
      #expect(count == 0)
    }
  }

  @Test func closeStopsCallsThatOutliveItsTimeLimit() async throws {
    try await withMembers(PoolConfiguration(readers: 1)) { pool in
      let slow = Task { try await pool.read { db in try db.query(endless(.max), as: Int.self) } }
      try await until { pool.statistics.oldestRead != nil }
      let waiting = Task { try await Member.count().run(pool) }
      try await until { pool.statistics.waitingReads >= 1 }
      // After the limit, the interrupted calls have as much time to end.
      try await pool.close(within: .seconds(3))
      let (running, waited, late) = await (
        error { _ = try await slow.value }, error { _ = try await waiting.value },
        error { _ = try await Member.count().run(pool) }
      )
      #expect(running?.kind == .closed)
      #expect(waited?.kind == .closed)
      #expect(late?.kind == .closed)
      #expect(!pool.isOpen)
    }
  }
}

private func error(_ body: () async throws -> Void) async -> SqlError? {
  do {
    try await body()
    return nil
  } catch { return error as? SqlError }
}

/// A query that steps through `count` rows.
private func endless(_ count: Int) -> SQL {
  """
  WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < \(count)) SELECT count(*) FROM n
  """
}
