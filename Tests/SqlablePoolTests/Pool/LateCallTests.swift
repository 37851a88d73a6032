import Dispatch
import Foundation
import Testing

@testable import SqlableCore
@testable import SqlablePool
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Deadlines and cancellations of calls between short statements.
@Suite struct LateCallTests {
  /// Writes members with one cached statement, for ten minutes: longer than any deadline and limit of this suite.
  private func writeLong(_ db: SqliteDatabase, from first: Int) throws {
    for id in first..<first + 120_000 {
      try Member(id: id, name: "m").insert().run(db)
      usleep(5_000)
    }
  }

  private func expectTimeout(
    _ pool: SqlitePool, sourceLocation: SourceLocation = #_sourceLocation, _ call: () throws -> Void
  ) throws {
    let begin = ContinuousClock.now
    expectError(.timeout, sourceLocation: sourceLocation) { try withDeadline(.milliseconds(40), call) }
    #expect(ContinuousClock.now - begin < .seconds(300), sourceLocation: sourceLocation)
    #expect(try Member.count().run(pool) == 1, sourceLocation: sourceLocation)
  }

  @Test func deadlineStopsCachedStatements() throws {
    try withMembers { pool in
      try Member(id: 1, name: "first").insert().run(pool)
      try expectTimeout(pool) { try pool.transaction { db in try writeLong(db, from: 100) } }
      // A closure that ignores the error still times out.
      try expectTimeout(pool) {
        try pool.transaction { db in
          for id in 100..<300 {
            _ = try? Member(id: id, name: "m").insert().run(db)
            usleep(1_000)
          }
        }
      }
      try expectTimeout(pool) {
        try pool.transaction { db in
          var id = 100
          try Member.insert().run(db) {
            id += 1
            usleep(5_000)
            return id < 120_000 ? Member(id: id, name: "m") : nil
          }
        }
      }
      try expectTimeout(pool) {
        try pool.read { db in
          let one = try db.prepare(Member.read().filter(Member.id == Parameter("id")))
          for _ in 0..<120_000 {
            _ = try one.run(1)
            usleep(5_000)
          }
        }
      }
    }
  }

  @Test func deadlineAfterTheLastStatementRollsBack() throws {
    try withMembers { pool in
      try Member(id: 1, name: "first").insert().run(pool)
      func writeLate(_ db: SqliteDatabase) throws {
        try Member(id: 2, name: "late").insert().run(db)
        usleep(150_000)
      }
      try expectTimeout(pool) { try pool.transaction { db in try writeLate(db) } }
      try expectTimeout(pool) {
        try pool.yieldingTransaction { db, _ in
          try writeLate(db)
          return .stop
        }
      }
      // A rollback by the closure is no timeout.
      var result: TransactionResult?
      // On a busy machine, a short deadline can pass before the insert ends.
      for milliseconds in [40, 1_000, 30_000] where result == nil {
        result = try? withDeadline(.milliseconds(milliseconds)) {
          try pool.transaction { db -> TransactionResult in
            try Member(id: 2, name: "late").insert().run(db)
            usleep(UInt32(milliseconds + 100) * 1_000)
            return .rollback
          }
        }
      }
      #expect(result == .rollback)
    }
  }

  @Test func cancelledCallAloneLeavesASharedCommit() async throws {
    var configuration = PoolConfiguration(maximumGroupTime: .seconds(300))
    // In a busy test run this test may stall for longer than the default of 10 seconds.
    configuration.waitTimeout = .seconds(300)
    try await withMembers(configuration) { pool in
      let (gate, lateGate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let first = Task {
        try await pool.transaction { db in
          try Member(id: 1, name: "first").insert().run(db)
          gate.wait()
        }
      }
      try await until { pool.statistics.isWriting }
      let late = Task {
        try await pool.transaction { db in
          try Member(id: 2, name: "late").insert().run(db)
          lateGate.wait()
        }
      }
      try await until { pool.statistics.waitingWrites == 1 }
      let last = Task { try await Member(id: 3, name: "last").insert().run(pool) }
      try await until { pool.statistics.waitingWrites == 2 }
      gate.signal()
      try await until { pool.statistics.waitingWrites <= 1 }
      late.cancel()
      lateGate.signal()
      await #expect(throws: CancellationError.self) { try await late.value }
      _ = try await (first.value, last.value)
      let ids = try await Member.select(Member.id).orderBy(Member.id).run(pool)
      #expect(ids == [1, 3])
    }
  }

  /// The deadline of a wait may fire at the moment at which the wait ends.
  @Test func waitDeadlineDoesNotStopACallWithAHandle() throws {
    try withMembers { pool in
      let count = try pool.read { db in
        let call = try #require(pool.withState { state in state.readers.first?.call })
        pool.stop(call, .deadline)
        return try Member.count().run(db)
      }
      #expect(count == 0)
      expectError(.timeout) {
        try withDeadline(.milliseconds(20)) {
          try pool.read { db in
            usleep(30_000)
            let call = try #require(pool.withState { state in state.readers.first?.call })
            pool.stop(call, .deadline)
            _ = try Member.count().run(db)
          }
        }
      }
    }
  }
}
