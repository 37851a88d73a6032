import Foundation
import SqlableCore
import Testing

@testable import SqlablePool
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Reads for which a thread claims the reader that it used last, without the pool's lock.
@Suite struct ClaimedReadTests {
  private static let slow: SQL = """
    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1000000000) SELECT count(*) FROM c
    """

  /// Makes this thread's next read claim its reader.
  private func prepare(_ pool: SqlitePool) throws { _ = try Member.count().run(pool) }

  /// True if the reader was claimed, and no thread has taken the pool's lock since.
  private func isClaimed(_ pool: SqlitePool) -> Bool {
    pool.withStateAndClaims { state in state.idleReaders.contains { !state.readers[$0 - 1].claim.isFree } }
  }

  /// Expects that a read claims its reader. Tries repeatedly, because no read claims a reader while another test traces
  /// the whole process. The pool also takes back the free readers when it has had no call for half a second.
  private func expectClaim(_ pool: SqlitePool) async throws {
    func claims() throws -> Bool {
      try prepare(pool)
      return try pool.read { _ in isClaimed(pool) }
    }
    let end = ContinuousClock.now + .seconds(600)
    while ContinuousClock.now < end {
      if try claims() { return }
      try await Task.sleep(for: .milliseconds(1))
    }
    Issue.record("no read claims its reader; a trace exists: \(pool.traceFlag.isSet)")
  }

  private func withClaims(_ configuration: PoolConfiguration = .init(readers: 1), _ body: (SqlitePool) throws -> Void)
    throws
  {
    try withMembers(configuration) { pool in
      try prepare(pool)
      try body(pool)
    }
  }

  @Test func theSecondReadOfAThreadClaimsItsReader() async throws {
    try await withMembers(.init(readers: 1)) { pool in
      try await expectClaim(pool)
      func isClaimedAfterLock() throws -> Bool {
        try pool.read { _ in
          _ = pool.statistics
          return isClaimed(pool)
        }
      }
      let isStillClaimed = try isClaimedAfterLock()
      #expect(!isStillClaimed)
      try await expectClaim(pool)
    }
  }

  /// A trace gets events of reads, which a claimed read would not have.
  @Test func noTracedReadClaimsAReader() async throws {
    try await withMembers(.init(readers: 1)) { pool in
      try await expectClaim(pool)
      let log = TraceLog()
      let token = pool.trace(.init(), log.receive)
      func isNextReadClaimed() throws -> Bool {
        try prepare(pool)
        return try pool.read { _ in isClaimed(pool) }
      }
      let isTracedReadClaimed = try isNextReadClaimed()
      #expect(!isTracedReadClaimed)
      #expect(log.take().contains { $0.table == "member" })
      try await withMembers(.init(readers: 1)) { other in try await expectClaim(other) }
      pool.removeTrace(token)
      try await expectClaim(pool)
    }
  }

  @Test func statisticsContainClaimedReads() throws {
    try withClaims { pool in
      let before = pool.statistics
      for _ in 0..<10 { try prepare(pool) }
      try pool.read { _ in
        usleep(2_000)
        let now = pool.statistics
        #expect(now.reads == before.reads + 10)
        #expect(now.oldestRead?.callSite == "SqlablePoolTests/ClaimedReadTests.swift:\(#line - 4)")
        #expect(now.oldestRead?.age ?? .zero >= .milliseconds(2))
        #expect(now.idleReaders == 0)
      }
      let after = pool.statistics
      #expect(after.reads == before.reads + 11)
      #expect(after.used >= before.used + .milliseconds(2))
      #expect(after.longestUse >= .milliseconds(2))
      #expect(after.statementCache.hits >= before.statementCache.hits + 10)
      #expect(after.oldestRead == nil)
      #expect(after.idleReaders == 1)
      pool.resetStatistics()
      try prepare(pool)
      #expect(pool.statistics.reads == 1)
    }
  }

  @Test func callsInsideAClaimedReadUseItsReader() throws {
    try withClaims { pool in
      try pool.read { db in
        let (count, own) = (try Member.count().run(pool), try pool.read { $0 })
        #expect(count == 0)
        #expect(own === db)
        expectMisuse { _ = try Member(id: 1, name: "Anna").insert().run(pool) }
        expectMisuse { try pool.close() }
      }
    }
  }

  /// A call inside a transaction of the pool reads the transaction's rows.
  @Test func noReadInsideATransactionClaimsAReader() throws {
    try withClaims { pool in
      try pool.transaction { _ in
        try Member(id: 1, name: "Anna").insert().run(pool)
        #expect(try Member.count().run(pool) == 1)
      }
    }
  }

  @Test func aWaitingReadGetsTheReaderAfterAClaimedRead() throws {
    try withClaims { pool in
      let counts = Collected<Int>()
      let done = DispatchGroup()
      try pool.read { _ in
        done.enter()
        Thread.detachNewThread {
          if let count = try? Member.count().run(pool) { counts.append(count) }
          done.leave()
        }
        waitUntil { pool.withStateAndClaims { $0.waitingReads.count == 1 } }
        #expect(counts.values.isEmpty)
      }
      #expect(done.wait(timeout: .now() + 600) == .success)
      #expect(counts.values == [0])
    }
  }

  @Test func closingFilesWaitsForAClaimedRead() throws {
    try withClaims { pool in
      let order = Collected<String>()
      let done = DispatchGroup()
      try pool.read { _ in
        done.enter()
        Thread.detachNewThread {
          _ = try? pool.withClosed(within: .seconds(600)) { _ in order.append("closed") }
          done.leave()
        }
        waitUntil { pool.withStateAndClaims { $0.closeBarrier != nil } }
        order.append("read")
      }
      #expect(done.wait(timeout: .now() + 600) == .success)
      #expect(order.values == ["read", "closed"])
      #expect(try Member.count().run(pool) == 0)
    }
  }

  @Test func closingInterruptsAClaimedRead() throws {
    try withMembers(.init(readers: 1)) { pool in
      let errors = Collected<SqlError>()
      let isRunning = DispatchSemaphore(value: 0)
      let done = DispatchGroup()
      done.enter()
      Thread.detachNewThread {
        try? prepare(pool)
        do {
          try pool.read { db in
            isRunning.signal()
            _ = try db.query(ClaimedReadTests.slow, as: Int.self)
          }
        } catch { if let error = error as? SqlError { errors.append(error) } }
        done.leave()
      }
      isRunning.wait()
      try pool.close(within: .milliseconds(10))
      done.wait()
      #expect(errors.values.map(\.kind) == [.closed])
      expectError(.closed) { try prepare(pool) }
    }
  }

  @Test func maximumReadEndsAClaimedRead() async throws {
    try await withMembers(.init(readers: 1, longRead: nil, maximumRead: .seconds(1))) { pool in
      func read() throws {
        try prepare(pool)
        try pool.read { db in _ = try db.query(ClaimedReadTests.slow, as: Int.self) }
      }
      let error = expectSqlError { try read() }
      #expect(error?.kind == .timeout)
      #expect(error?.message.contains("ClaimedReadTests.swift:\(#line - 4) has run for longer") == true)
      try await expectClaim(pool)
    }
  }

  /// The setting must not reach the next read.
  @Test func aClaimedReaderWithChangedSettingsIsClosed() throws {
    try withClaims { pool in
      let reader = try pool.read { db in
        try db.execute("PRAGMA query_only = OFF")
        return db
      }
      #expect(!reader.isOpen)
      let setting = try pool.read { db in try db.query("PRAGMA query_only", as: Int.self) }
      #expect(setting == [1])
    }
  }

  @Test func theErrorOfAClaimedReadFreesItsReader() async throws {
    try await withMembers(.init(readers: 1)) { pool in
      try await expectClaim(pool)
      func read() throws { try pool.read { db in _ = try db.query("SELECT none FROM member", as: Int.self) } }
      expectSqlError { try read() }
      #expect(pool.statistics.idleReaders == 1)
      try await expectClaim(pool)
    }
  }

  private func claims(_ pool: SqlitePool) -> Int {
    pool.withState { $0.readers.reduce(0) { $0 + $1.claimCounts.reads } }
  }

  /// Reads on tasks until a read has claimed its reader.
  private func expectClaimOfTask(_ pool: SqlitePool) async throws {
    let (before, end) = (claims(pool), ContinuousClock.now + .seconds(600))
    while ContinuousClock.now < end {
      // The second read claims the reader if it runs on the thread of the first.
      for _ in 0..<2 { _ = try await Member.count().run(pool) }
      if claims(pool) > before { return }
    }
    Issue.record("no read of a task claims its reader; a trace exists: \(pool.traceFlag.isSet)")
  }

  @Test func readsOfTasksClaimTheirReader() async throws {
    try await withMembers(.init(readers: 1)) { pool in
      try await expectClaimOfTask(pool)
      let reads = pool.statistics.reads
      for _ in 0..<10 { _ = try await Member.count().run(pool) }
      #expect(pool.statistics.reads == reads + 10)
    }
  }

  /// The claimed read is interrupted, and runs again on a thread of the pool.
  @Test func aLongReadOfATaskIsCountedOnce() async throws {
    try await withMembers(.init(readers: 1)) { pool in
      let long: SQL = """
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 200000) SELECT count(*) FROM c
        """
      for _ in 0..<10 {
        try await expectClaimOfTask(pool)
        let reads = pool.statistics.reads
        _ = try await Member.count().run(pool)
        #expect(try await pool.query(long, as: Int.self) == [200_000])
        #expect(pool.statistics.reads == reads + 2)
        #expect(pool.statistics.idleReaders == 1)
      }
    }
  }

  @Test func theErrorOfAReadOfATaskFreesItsReader() async throws {
    try await withMembers(.init(readers: 1)) { pool in
      for _ in 0..<10 {
        try await expectClaimOfTask(pool)
        _ = try await Member.count().run(pool)
        await #expect(throws: SqlError.self) { try await pool.query("SELECT none FROM member", as: Int.self) }
        #expect(pool.statistics.idleReaders == 1)
        #expect(pool.withState { $0.calls } == 0)
      }
    }
  }

  /// Threads claim readers while others close the files, hold reads back and read the statistics.
  @Test func claimsAndTheLockExcludeOneAnother() throws {
    try withMembers(.init(readers: 2)) { pool in
      for id in 0..<100 { try Member(id: id, name: "").insert().run(pool) }
      let users = LockedValue<[ObjectIdentifier: Int]>([:])
      let problems = Collected<String>()
      onThreads(5) { thread in
        for index in 0..<times(400) {
          do {
            switch (thread, index % 50) {
            case (4, 0): try pool.withClosed { _ in }
            case (4, 10):
              pool.withReadsHeldBack(for: .seconds(300)) { isReading in
                for _ in 0..<5 {
                  if isReading || users.withLock({ !$0.isEmpty }) { problems.append("a call reads") }
                  usleep(200)
                }
              }
            case (4, 20): try Member(id: 0, name: "\(index)").update().run(pool)
            case (4, 30): _ = pool.statistics
            case (4, 40): try pool.releaseMemory()
            case (4, _): usleep(100)
            default:
              try pool.read { db in
                let key = ObjectIdentifier(db)
                if users.withLock({ $0.updateValue(thread, forKey: key) }) != nil { problems.append("two users") }
                let count = try Member.count().run(db)
                if count != 100 { problems.append("\(count) rows") }
                if users.withLock({ $0.removeValue(forKey: key) }) != thread { problems.append("another user") }
              }
            }
          } catch { problems.append("\(error)") }
        }
      }
      #expect(problems.values == [])
      let statistics = pool.statistics
      #expect(statistics.reads == 4 * times(400))
      #expect(statistics.idleReaders == statistics.openReaders)
      #expect(pool.withState { $0.calls } == 0)
    }
  }
}
