import Dispatch
import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Synchronous calls of a pool: readers, the writer, nested calls and waits.
@Suite struct PoolTests {
  @Test(.needs(35, "RETURNING")) func statementsRunOnAPoolWithoutAHandle() throws {
    try withMembers { pool in
      let id = try Member(id: 1, name: "Anna").insert().run(pool)
      let ids = try Member.insert([Member(id: 2, name: "Bo"), Member(id: 3, name: "Cid")]).run(pool)
      #expect(id == 1)
      #expect(ids == [2, 3])
      #expect(try Member.count().run(pool) == 3)
      #expect(try Member.read().orderBy(Member.id).run(pool).map(\.name) == ["Anna", "Bo", "Cid"])
      #expect(try Member.byId(2).run(pool)?.name == "Bo")
      #expect(try Member.exists().filter(Member.name == "Cid").run(pool))
      let names = try Member.select(Member.name).orderBy(Member.name.desc).run(pool)
      let first = try Member.select(Member.id, Member.name).orderBy(Member.id).first(pool)?.1
      #expect(names == ["Cid", "Bo", "Anna"])
      #expect(first == "Anna")
      let gone = try Member.delete(Member.id > 1).returning(Member.id).run(pool)
      #expect(gone.sorted() == [2, 3])
      let statistics = pool.statistics
      #expect(statistics.openReaders == 1)
      #expect(statistics.idleReaders == 1)
      #expect(!statistics.isWriting)
      #expect(statistics.reads == 6)
      #expect(statistics.writes == 4)
      #expect(statistics.commits == 4)
      #expect(statistics.walSize > 0)
      #expect(statistics.statementCache.statements > 0)
    }
  }

  @Test func closureReturnsItsResultByInference() async throws {
    @Sendable func decide(_ pool: SqlitePool) throws -> TransactionResult {
      try pool.transaction { db in
        let deleted = try Member.deleteAll().run(db)
        return deleted > 1 ? .rollback : .commit
      }
    }
    try await withMembers { pool in
      try await Member.insert((1...2).map { Member(id: $0, name: "m") }).run(pool)
      let first = try await pool.transaction { db in
        let deleted = try Member.deleteAll().run(db)
        return deleted > 1 ? .rollback : .commit
      }
      let second = try await onThread { try decide(pool) }
      #expect(first == .rollback)
      #expect(second == .rollback)
      let count = try await Member.count().run(pool)
      #expect(count == 2)
      // Closures without a result or with another type of result commit.
      try await pool.transaction { db in
        let last = try Member.delete(Member.id == 2).run(db)
        _ = last
      }
      let rest = try await pool.transaction { db in
        let count = try Member.count().run(db)
        return count
      }
      let third = try await onThread { try decide(pool) }
      #expect(rest == 1)
      #expect(third == .commit)
    }
  }

  @Test func poolRunsSQLTexts() async throws {
    @Sendable func run(_ pool: SqlitePool, _ text: String) throws -> [String] {
      try pool.execute(text)
      try pool.execute("UPDATE member SET name = \("a") WHERE id = \(1)")
      return try pool.query("SELECT id, name FROM member") { row in
        "\(try row.get(at: 0, as: Int.self)) \(try row.get(at: 1, as: String.self))"
      }
    }
    try await withMembers { pool in
      let text = ["INSERT INTO member (id, name) VALUES (1, 'x')", "DELETE FROM member WHERE id = 2"]
        .joined(separator: ";")
      let made = try await onThread { try run(pool, text) }
      #expect(made == ["1 a"])
      try await pool.execute(text.replacing("1", with: "3"))
      try await pool.execute("UPDATE member SET name = \("b") WHERE id = \(3)")
      let writes = pool.statistics.writes
      let names = try await pool.query("SELECT name FROM member ORDER BY id") { row in
        try row.get("name", as: String.self)
      }
      #expect(names == ["a", "b"])
      #expect(pool.statistics.writes == writes)
      let error = await #expect(throws: SqlError.self) {
        try await pool.query("UPDATE member SET name = 'c' RETURNING id") { row in try row.get(at: 0, as: String.self) }
      }
      #expect(error?.column == "id")
      let kept = try await pool.query("SELECT name FROM member ORDER BY id", as: String.self)
      #expect(kept == names)
    }
  }

  /// The deadline does not stop the code of a closure, but its writes are rolled back.
  @Test func aClosureThatSleepsPastItsDeadlineStoresNothing() async throws {
    try await withMembers { pool in
      var error: SqlError?
      // On a busy machine, a short deadline can pass before the transaction begins.
      for time in [0.02, 1, 30] where error?.transaction != .rolledBack {
        error = await #expect(throws: SqlError.self) {
          try await withDeadline(.seconds(time)) {
            try await pool.transaction { db in
              try Member(id: 1, name: "m").insert().run(db)
              Thread.sleep(forTimeInterval: time + 0.1)
            }
          }
        }
      }
      #expect(error?.kind == .timeout)
      #expect(error?.transaction == .rolledBack)
      let count = try await Member.count().run(pool)
      #expect(count == 0)
    }
  }

  @Test func readSeesOneSnapshotDuringAWrite() throws {
    try withMembers { pool in
      let (before, after) = try pool.read { db in
        let before = try Member.count().run(db)
        // The write runs on another thread, because the pool refuses a write inside a read.
        _ = try onThread { try Member(id: 1, name: "Anna").insert().run(pool) }
        return (before, try Member.count().run(db))
      }
      #expect(before == 0)
      #expect(after == 0)
      #expect(try Member.count().run(pool) == 1)
    }
  }

  @Test func callsInsideAClosureUseItsHandle() throws {
    try withMembers { pool in
      try pool.transaction { db in
        try Member(id: 1, name: "Anna").insert().run(db)
        #expect(try Member.count().run(pool) == 1, "a read inside sees what is not committed")
        try pool.transaction { inner in
          #expect(inner === db)
          #expect(inner.transactionLevel == db.transactionLevel)
          try Member(id: 2, name: "Bo").insert().run(inner)
          return TransactionResult.rollback
        }
        expectSqlError { try pool.transaction { _ in throw SqlError(.other, message: "x") } }
      }
      #expect(try Member.read().run(pool).map(\.name) == ["Anna"])
      try pool.read { db in
        try pool.read { inner in #expect(inner === db) }
        expectMisuse { try Member(id: 3, name: "Cid").insert().run(pool) }
        expectSqlError { try Member(id: 3, name: "Cid").insert().run(db) }
        expectMisuse { try pool.close() }
      }
      #expect(try Member.count().run(pool) == 1)
    }
  }

  @Test func aReaderThatWritesIsRefused() throws {
    try withMembers { pool in
      let refused = { (action: String) in
        "can't \(action): a pool's readers can't write; use transaction { } of the pool, or run the statement with the "
          + "pool"
      }
      let insert = expectError(.readOnly) { _ = try pool.read { try Member(id: 1, name: "Anna").insert().run($0) } }
      #expect(insert?.message == refused("run INSERT"))
      #expect(insert?.transaction == .rolledBack)
      let drop = expectError(.readOnly) { try pool.read { db in try db.execute("DROP TABLE member") } }
      #expect(drop?.message == refused("run DROP"))
      let delete = expectError(.readOnly) {
        try pool.read { db in try db.execute("WITH old AS (SELECT 1) DELETE FROM member WHERE id IN old") }
      }
      #expect(delete?.message == refused("write"))
      let count = try Member.count().run(pool)
      #expect(count == 0)
    }
  }

  /// A cursor holds its snapshot, so its handle could serve no other call.
  @Test func keptCursorReleasesItsHandle() throws {
    try withMembers(PoolConfiguration(readers: 1)) { pool in
      try Member.insert((1...3).map { Member(id: $0, name: "x") }).run(pool)
      let read = try pool.read { db in
        let cursor = try Member.read().cursor(db)
        _ = try cursor.next()
        return cursor
      }
      let written = try pool.transaction { db in
        let cursor = try Member.read().cursor(db)
        _ = try cursor.next()
        return cursor
      }
      try Member(id: 4, name: "new").insert().run(pool)
      let count = try Member.count().run(pool)
      #expect(count == 4)
      expectMisuse { _ = try read.next() }
      expectMisuse { _ = try written.next() }
      let counts = try pool.read { db in try Member.count().run(db) }
      #expect(counts == 4)
    }
  }

  @Test func openReadersNeverExceedTheLimit() throws {
    try withPool(PoolConfiguration(readers: 2)) { pool in
      let most = Counter()
      onThreads(8) { _ in
        for _ in 0..<50 {
          try? pool.read { db in
            most.enter()
            _ = try db.query("SELECT 1", as: Int.self)
            most.leave()
          }
        }
      }
      #expect(most.most <= 2)
      #expect(pool.statistics.openReaders <= 2)
      #expect(pool.statistics.reads == 400)
    }
  }

  @Test func waitTimeoutNamesTheCurrentHolder() throws {
    try withPool(PoolConfiguration(readers: 1, waitTimeout: .milliseconds(50))) { pool in
      try pool.read { db in
        _ = try db.query("SELECT 1", as: Int.self)
        let error = try onThread { sqlError { try pool.read { _ in } } }
        #expect(error?.kind == .timeout)
        #expect(error?.message.contains("waited for a reader") == true)
        #expect(error?.message.contains("PoolTests.swift") == true)
        #expect(pool.statistics.waitingReads == 0)
        #expect(pool.statistics.oldestRead?.callSite.contains("PoolTests.swift") == true)
      }
      try pool.transaction { _ in
        let error = try onThread { sqlError { try pool.transaction { _ in } } }
        #expect(error?.kind == .timeout)
        #expect(error?.message.contains("waited for the writer") == true)
      }
      #expect(try pool.read { _ in 1 } == 1)
      #expect(try pool.transaction { _ in 2 } == 2)
    }
  }

  @Test func callsBeyondMaximumWaitingFailAtOnce() throws {
    try withPool(PoolConfiguration(readers: 1, maximumWaiting: 0)) { pool in
      try pool.read { _ in
        let error = try onThread { sqlError { try pool.read { _ in } } }
        #expect(error?.kind == .busy)
        #expect(error?.isRetryable == true)
      }
      try pool.transaction { _ in
        let error = try onThread { sqlError { try pool.transaction { _ in } } }
        #expect(error?.kind == .busy)
      }
    }
  }

  @Test func invalidPoolConfigurationsAreRefused() throws {
    try withDirectory { directory in
      let path = directory + "/pool.sqlite"
      expectMisuse { _ = try SqlitePool(filepath: ":memory:") }
      expectMisuse { _ = try SqlitePool(filepath: path, readers: 0) }
      expectMisuse { _ = try SqlitePool(filepath: path, configuration: .init(maximumWaiting: -1)) }
      expectMisuse { _ = try SqlitePool(filepath: path, configuration: .init(maximumGroup: 0)) }
      expectMisuse { _ = try SqlitePool(filepath: path, configuration: .init(waitTimeout: .seconds(-1))) }
      expectMisuse { _ = try SqlitePool(filepath: path, configuration: .init(handles: .init(journalMode: .delete))) }
      expectMisuse { _ = try SqlitePool(filepath: path, configuration: .init(handles: .init(isReadOnly: true))) }
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func maintenanceRunsOutsideOfTransactions() throws {
    try withMembers { pool in
      try pool.withWriter { db in
        #expect(db.transactionLevel == 0)
        try db.execute("VACUUM")
      }
      expectSqlError { try pool.transaction { db in try db.execute("VACUUM") } }
      expectMisuse { try pool.transaction { _ in try pool.withWriter { _ in } } }
      expectMisuse { _ = try pool.withWriter { db in try db.beginTransaction() } }
      expectSqlError {
        try pool.withWriter { db in
          try db.beginTransaction()
          try Member(id: 1, name: "x").insert().run(db)
          try db.execute("SELECT nothing")
        }
      }
      try pool.withWriter { db in #expect(db.transactionLevel == 0) }
      let count = try Member.count().run(pool)
      #expect(count == 0)
    }
  }

  /// If the checkpoint waited for the read, no connection could write meanwhile.
  @Test func closeDoesNotWaitForTheReadOfAnotherPool() throws {
    try withDirectory { directory in
      let configuration = PoolConfiguration(handles: .init(busyTimeout: 600))
      let pools = try (1...2).map { _ in
        try SqlitePool(filepath: directory + "/pool.sqlite", configuration: configuration)
      }
      try pools[0].transaction { db in try db.createTable(Member.self) }
      try pools[1].read { db in
        #expect(try Member.count().run(db) == 0)
        try Member(id: 1, name: "Anna").insert().run(pools[0])
        try pools[0].close()
        #expect(try Member.count().run(db) == 0)
      }
      #expect(try Member.count().run(pools[1]) == 1)
      try pools[1].close()
    }
  }

  @Test func closeFailsWhileAClosureRuns() throws {
    try withMembers { pool in
      let (isInside, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let ended = DispatchGroup()
      ended.enter()
      Thread.detachNewThread {
        try? pool.read { _ in
          isInside.signal()
          mayEnd.wait()
        }
        ended.leave()
      }
      isInside.wait()
      let error = expectError(.busy) { try pool.close(within: .milliseconds(1)) }
      #expect(error?.message.contains("PoolTests.swift") == true)
      expectError(.closed) { _ = try Member.count().run(pool) }
      mayEnd.signal()
      ended.wait()
      try pool.close()
      try pool.close()
      #expect(!pool.isOpen)
    }
  }

  @Test func poolRefusesCallsAfterItsFileMoved() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try pool.transaction { db in try db.createTable(Member.self) }
      try FileManager.default.moveItem(atPath: directory + "/pool.sqlite", toPath: directory + "/moved.sqlite")
      expectError(.io) { try Member(id: 1, name: "Anna").insert().run(pool) }
      // This read opens the first reader.
      expectError(.io) { _ = try Member.count().run(pool) }
    }
  }

  @Test(.disabled(if: isSanitized)) func aForkedProcessIsRefused() throws {
    try withMembers { pool in
      var status: Int32 = -1
      // An alarm ends a child that waits for another thread's lock, or gets no processor. Another child follows.
      for _ in 0..<5 {
        let child = Fork.begin()
        if child == 0 {
          let error = sqlError { _ = try Member.count().run(pool) }
          if case .misuse = error?.kind { _exit(0) }
          _exit(1)
        }
        try #require(child > 0)
        status = Fork.wait(for: child)
        if status & 0x7F != SIGALRM { break }
      }
      let count = try Member.count().run(pool)
      #expect(status == 0)
      #expect(count == 0)
    }
  }

  @Test func observersGetThePoolsCommits() throws {
    try withMembers { pool in
      let heard = Collected<Int>()
      let token = pool.observe(.insert, on: Member.self) { id in heard.append(id) }
      try Member(id: 7, name: "Anna").insert().run(pool)
      expectSqlError {
        try pool.transaction { db in
          try Member(id: 8, name: "Bo").insert().run(db)
          throw SqlError(.other, message: "x")
        }
      }
      pool.queue.sync {}
      #expect(heard.values == [7])
      pool.removeObserver(token)
      try Member(id: 9, name: "Cid").insert().run(pool)
      pool.queue.sync {}
      #expect(heard.values == [7])
    }
  }
}
