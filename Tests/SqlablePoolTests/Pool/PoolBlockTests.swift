import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// `block` of pools: other calls wait until the block ends.
@Suite struct PoolBlockTests {
  @Test func callsWaitUntilTheBlockEnds() async throws {
    try await withMembers { pool in
      let block = try await pool.block()
      let counts = Collected<Int>()
      let calls = (0..<4).map { number in
        Task {
          if number == 0 { try await Member(id: 9, name: "late").insert().run(pool) }
          counts.append(try await Member.count().run(pool))
        }
      }
      try Member(id: 1, name: "one").insert().run(block)
      try await Task.sleep(for: .milliseconds(100))
      // Another thread continues after the suspension.
      try block.transaction { db in
        try Member(id: 2, name: "two").insert().run(db)
        try Member(id: 3, name: "three").insert().run(db)
      }
      #expect(counts.values == [])
      block.end()
      for call in calls { try await call.value }
      #expect(counts.values.count == 4)
      #expect(counts.values.allSatisfy { $0 >= 3 })
    }
  }

  @Test(.needsPreupdateHook) func loopsReceiveTheChangesOfABlock() async throws {
    try await withMembers { pool in
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      try await Member(id: 1, name: "one").insert().run(pool)
      let block = try await pool.block()
      try Member(id: 2, name: "two").insert().run(block)
      block.end()
      try await Member(id: 3, name: "three").insert().run(pool)
      var ids: [Int] = []
      while ids.count < 3, case .row(let row)? = await changes.next() { ids.append(row.id) }
      #expect(ids == [1, 2, 3])
    }
  }

  @Test func aCallThatWaitsForTooLongNamesTheBlock() throws {
    try withMembers(PoolConfiguration(waitTimeout: .milliseconds(50))) { pool in
      let block = try pool.block()
      for call in [{ _ = try Member.count().run(pool) }, { try pool.transaction { _ in } }] as [() throws -> Void] {
        let error = expectError(.timeout, nil, call)
        #expect(error?.message.contains("the call at SqlablePoolTests/PoolBlockTests.swift:") == true)
        #expect(error?.message.contains(" began to block the database ") == true)
      }
      block.end()
      #expect(try Member.count().run(pool) == 0)
      let next = try pool.block()
      expectError(.timeout) { try withDeadline(.milliseconds(20)) { _ = try Member.count().run(pool) } }
      next.end()
    }
  }

  @Test func theEndRollsBackAnOpenTransaction() throws {
    try withMembers { pool in
      let block = try pool.block()
      let db = block.database
      try db.beginTransaction()
      try Member(id: 1, name: "one").insert().run(db)
      try db.execute("CREATE TEMP TABLE mark (x)")
      block.end()
      #expect(try Member.count().run(pool) == 0)
      expectMisuse { _ = try Member.count().run(db) }
      expectMisuse { _ = try Member.count().run(block) }
      try pool.withWriter { db in expectSqlError { try db.execute("SELECT * FROM temp.mark") } }
      let another = try pool.block()
      try Member(id: 1, name: "one").insert().run(another)
      try another.database.execute("CREATE TEMP TABLE mark (x)")
      another.end()
      // The writer is replaced, because the block has changed it.
      try pool.withWriter { db in expectSqlError { try db.execute("SELECT * FROM temp.mark") } }
      #expect(try Member.count().run(pool) == 1)
    }
  }

  @Test func blockWaitsForRunningCalls() throws {
    try withMembers { pool in
      try whileHeld({ signal in try pool.read { _ in signal() } }) {
        let error = expectError(.busy) { _ = try pool.block(within: .milliseconds(50)) }
        #expect(error?.message.contains("can't block the database: ") == true)
        #expect(error?.message.contains("PoolBlockTests.swift:") == true)
        // Nothing stays blocked.
        let count = try Member.count().run(pool)
        #expect(count == 0)
      }
      try pool.block().end()
    }
  }

  @Test func cancellationEndsTheWaitForABlock() async throws {
    try await withMembers { pool in
      let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        try? pool.read { _ in
          isHeld.signal()
          mayEnd.wait()
        }
      }
      try await until { isHeld.wait(timeout: .now()) == .success }
      let waiting = Task { try await pool.block(within: .seconds(900)) }
      try await Task.sleep(for: .milliseconds(50))
      waiting.cancel()
      await #expect(throws: CancellationError.self) { _ = try await waiting.value }
      #expect(try await Member.count().run(pool) == 0)
      mayEnd.signal()
    }
  }

  @Test func otherWaysToTakeTheFileWaitOrAreRefused() throws {
    try withMembers { pool in
      expectMisuse { try pool.read { _ in _ = try pool.block() } }
      expectMisuse { try pool.withWriter { db in _ = try db.block() } }
      let block = try pool.block()
      expectError(.busy) { try pool.withClosed(within: .milliseconds(50)) { _ in } }
      expectError(.busy) { _ = try pool.block(within: .milliseconds(50)) }
      expectMisuse { try block.database.withClosed { _ in } }
      expectMisuse { _ = try block.database.block() }
      expectMisuse { try block.database.close() }
      block.end()
      let last = try pool.block()
      let error = expectError(.busy) { try pool.close(within: .milliseconds(50)) }
      #expect(error?.message.contains("PoolBlockTests.swift:") == true)
      last.end()
      try pool.close()
      expectError(.closed) { _ = try pool.block() }
    }
  }
}
