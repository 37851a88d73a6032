import Dispatch
import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Yielding transactions: long work that lets other writers in between its steps.
struct YieldingTests {
  private func insert(_ id: Int, _ db: SqliteDatabase) throws { try Member(id: id, name: "\(id)").insert().run(db) }

  /// A task's closure can't capture variables, so the state is a parameter. An early commit keeps it.
  @Test func asyncYieldingTransactionPassesItsStateAlong() async throws {
    try await withMembers { pool in
      let names = (1...50).map { "m\($0)" }
      let other = Task.detached { for id in 1_001...1_020 { try await Member(id: id, name: "x").insert().run(pool) } }
      let stored = try await pool.yieldingTransaction(into: [Int]()) { db, ids, _ in
        guard ids.count < names.count else { return .stop }
        ids.append(try Member(id: ids.count + 1, name: names[ids.count]).insert().run(db))
        return .continue
      }
      try await other.value
      #expect(stored == Array(1...50))
      let count = try await Member.count().run(pool)
      #expect(count == 70)
    }
  }

  @Test func synchronousYieldingTransactionPassesItsState() throws {
    struct Stop: Error {}
    try withMembers { pool in
      let last = try pool.yieldingTransaction(into: 0) { db, id, isNew in
        #expect(isNew == (id == 0))
        id += 1
        try Member(id: id, name: "x").insert().run(db)
        return id == 5 ? .stop : .continue
      }
      #expect(last == 5)
      #expect(throws: Stop.self) { try pool.yieldingTransaction(into: 0) { _, _, _ in throw Stop() } }
      let count = try Member.count().run(pool)
      #expect(count == 5)
    }
  }

  @Test func loneYieldingTransactionIsOneTransaction() throws {
    try withMembers { pool in
      var (next, begins) = (0, 0)
      let count = try pool.yieldingTransaction { db, isNew in
        if isNew { begins += 1 }
        next += 1
        guard next <= 100 else { return .stop }
        try insert(next, db)
        return .continue
      }
      #expect(count == 1)
      #expect(begins == 1)
      #expect(try Member.count().run(pool) == 100)
    }
  }

  @Test func otherWritesRunBetweenYieldingSteps() throws {
    try withMembers { pool in
      let begins = Collected<Int>()
      let written = Mutex(false)
      onThreads(2) { thread in
        if thread == 0 {
          var next = 0
          _ = try? pool.yieldingTransaction { db, isNew in
            next += 1
            if isNew { begins.append(next) }
            try insert(next, db)
            // The loop ends after the other write. A transaction that does not yield would block that write for ever.
            usleep(200)
            return written.withLock { $0 } || next == 900_000 ? .stop : .continue
          }
        } else {
          waitUntil { !begins.values.isEmpty }
          _ = try? Member(id: -1, name: "other").insert().run(pool)
          written.withLock { $0 = true }
        }
      }
      #expect(begins.values.count >= 2, "told of a new transaction")
      #expect(begins.values.first == 1)
      let ids = try Member.select(Member.id).orderBy(Member.id).run(pool)
      #expect(ids.first == -1)
      #expect(ids.dropFirst() == (1...(ids.count - 1)).map { $0 }[...])
    }
  }

  @Test func anErrorUndoesTheOpenTransactionOnly() throws {
    struct Stop: Error {}
    try withMembers { pool in
      let begun = DispatchSemaphore(value: 0)
      let other = Thread {
        begun.wait()
        _ = try? Member(id: -1, name: "other").insert().run(pool)
      }
      other.start()
      var (next, transactions) = (0, 0)
      do {
        try pool.yieldingTransaction { db, isNew in
          next += 1
          if isNew { transactions += 1 }
          if next == 2 { begun.signal() }
          if transactions == 2 { throw Stop() }
          try insert(next, db)
          usleep(1_000)
          return next == 300_000 ? .stop : .continue
        }
        Issue.record("nothing was thrown")
      } catch is Stop {}
      #expect(transactions == 2)
      // All steps of the first transaction stay, and none of the second.
      #expect(try Member.count().filter(Member.id > 0).run(pool) == next - 1)
    }
  }

  @Test func cancellationKeepsCommittedSteps() async throws {
    try await withMembers { pool in
      let steps = Collected<Int>()
      let work = Task {
        try await pool.yieldingTransaction { db, _ in
          steps.append(0)
          try db.execute("INSERT INTO member (name) VALUES ('x')")
          return .continue
        }
      }
      try await until { steps.values.count >= 10 }
      try await Member(id: 1_000_000, name: "other").insert().run(pool)
      work.cancel()
      await #expect(throws: CancellationError.self) { try await work.value }
      let count = try await Member.count().run(pool)
      #expect(count > 10)
      #expect(count <= steps.values.count + 1)
    }
  }

  @Test func yieldingInsideAPoolClosureIsRefused() throws {
    _ = try withMembers { pool in
      try pool.transaction { db in
        expectMisuse { _ = try pool.yieldingTransaction { _, _ in .stop } }
      }
    }
  }

  // MARK: Handles

  /// A configuration whose writes wait for long: on a busy machine, a waiting thread can miss many turns.
  private static let patient = Configuration(busyTimeout: 600)

  /// Calls `yielding` until a concurrent write of another handle, pool or process is stored.
  ///
  /// Returns the number of transactions that `yielding` used.
  private func countBegins(
    _ path: String, _ yielding: ((SqliteDatabase, Bool) throws -> Iteration) throws -> Int,
    beside write: @escaping @Sendable () throws -> Void
  ) throws -> Int {
    let (begins, isWritten) = (Collected<Int>(), Mutex(false))
    let writer = Thread {
      waitUntil { !begins.values.isEmpty }
      if (try? write()) != nil { isWritten.withLock { $0 = true } }
    }
    writer.start()
    var next = 0
    let count = try yielding { db, isNew in
      next += 1
      if isNew { begins.append(next) }
      try insert(next, db)
      usleep(200)
      return isWritten.withLock { $0 } || next == 900_000 ? .stop : .continue
    }
    #expect(count == begins.values.count)
    #expect(isWritten.withLock { $0 }, "the other writer waited in vain")
    return count
  }

  @Test func handlesAreServedBetweenTheStepsOfAPool() throws {
    try withMembers(PoolConfiguration(handles: YieldingTests.patient)) { pool in
      let path = pool.filepath
      let count = try countBegins(path, { step in try pool.yieldingTransaction(step) }) {
        let handle = try SqliteDatabase(filepath: path, configuration: YieldingTests.patient)
        try Member(id: -1, name: "handle").insert().run(handle)
      }
      #expect(count >= 2)
      #expect(try Member.select(Member.id).orderBy(Member.id).first(pool) == -1)
    }
  }

  @Test func poolsAndHandlesAreServedBetweenTheStepsOfAHandle() throws {
    try withMembers(PoolConfiguration(handles: YieldingTests.patient)) { pool in
      let path = pool.filepath
      let db = try SqliteDatabase(filepath: path, configuration: YieldingTests.patient)
      let besideAPool = try countBegins(path, { step in try db.yieldingTransaction(step) }) {
        try Member(id: -1, name: "pool").insert().run(pool)
      }
      #expect(besideAPool >= 2)
      try Member.deleteAll().run(db)
      let child = try db.createChild()
      let besideAChild = try countBegins(path, { step in try db.yieldingTransaction(step) }) {
        try Member(id: -1, name: "child").insert().run(child)
      }
      #expect(besideAChild >= 2)
    }
  }

  @Test func anotherProcessIsServedBetweenTheStepsOfAHandle() throws {
    try #require(TestProgram.isAvailable)
    try withMembers { pool in
      let path = pool.filepath
      let other = try PoolProcess(.writing, path, id: 1_000_000)
      #expect(other.answer() == "ready")
      let db = try SqliteDatabase(filepath: path)
      let count = try countBegins(path, { step in try db.yieldingTransaction(step) }) {
        try other.goOn()
        #expect(Int(other.answer()).map { $0 > 0 } == true)
      }
      #expect(count >= 2)
      #expect(other.end())
    }
  }

  @Test func loneHandleUsesOneTransaction() throws {
    try withMembers { pool in
      for db in [try SqliteDatabase(filepath: pool.filepath), try SqliteDatabase.inMemory()] {
        try db.createTable(Member.self)
        var next = 0
        let count = try db.yieldingTransaction { db, isNew in
          #expect(isNew == (next == 0))
          next += 1
          try insert(next, db)
          return next < 100 ? .continue : .stop
        }
        #expect(count == 1)
        #expect(try Member.count().run(db) == 100)
      }
    }
  }

  @Test func anErrorUndoesTheOpenTransactionOfAHandle() throws {
    struct Stop: Error {}
    try withMembers { pool in
      let db = try SqliteDatabase(filepath: pool.filepath)
      #expect(throws: Stop.self) {
        try db.yieldingTransaction { db, _ in
          try insert(1, db)
          throw Stop()
        }
      }
      #expect(try Member.count().run(db) == 0)
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func handleRefusesToYieldInsideATransaction() throws {
    try withMembers { pool in
      let db = try SqliteDatabase(filepath: pool.filepath)
      try db.transaction { db in
        expectMisuse { _ = try db.yieldingTransaction { _, _ in .stop } }
      }
      _ = try pool.read { db in
        expectMisuse { _ = try db.yieldingTransaction { _, _ in .stop } }
      }
    }
  }
}
