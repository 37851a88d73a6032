import Foundation
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Sqlable
import SqlableIntegrations
import Testing

@Suite(.timeLimit(.minutes(30))) struct LifecycleTests {
  @Test func shutdownFinishesRunningCallsAndRefusesNewOnes() async throws {
    try await withPool { pool in
      try await testGracefulShutdown { trigger in
        let run = Task { try await pool.run() }
        let counts = Shared<[Int]>([])
        let live = Task {
          for try await count in Bicycle.count().updates(in: pool) { counts.change { $0.append(count) } }
        }
        let changes = Task { for await _ in pool.changes(on: Bicycle.self) {} }
        try await until { !counts.value.isEmpty }
        #expect(pool.isOpen)

        let hasBegun = Shared(false)
        let write = Task {
          try await pool.transaction { db in
            hasBegun.change { $0 = true }
            while pool.isOpen { usleep(1_000) }
            try Bicycle(name: "Norco", color: "blue").insert().run(db)
          }
        }
        try await until { hasBegun.value }
        trigger.triggerGracefulShutdown()
        try await until { !pool.isOpen }
        await #expect { try await Bicycle.count().run(pool) } throws: { ($0 as? SqlError)?.kind == .closed }
        try await write.value
        try await run.value
        try await live.value
        await changes.value
      }
      // The checkpoint has moved the WAL into the file.
      #expect(!FileManager.default.fileExists(atPath: pool.filepath + "-wal"))
      #expect(try Bicycle.count().run(SqliteDatabase(filepath: pool.filepath)) == 2)
    }
  }

  @Test func aCallThatDoesNotEndIsInterrupted() async throws {
    try await withPool { pool in
      let read = Task { try await pool.read { db in try db.query(endless, as: Int.self) } }
      try await until { pool.statistics.oldestRead != nil }
      let run = Task { try await pool.run(closingWithin: .seconds(5)) }
      run.cancel()
      try await run.value
      await #expect { try await read.value } throws: { ($0 as? SqlError)?.kind == .closed }
      #expect(!pool.isOpen)
    }
  }

  @Test func aCancellationClosesThePool() async throws {
    try await withPool { pool in
      let run = Task { try await pool.run() }
      try await Task.sleep(for: .milliseconds(20))
      #expect(pool.isOpen)
      run.cancel()
      try await run.value
      #expect(!pool.isOpen)
    }
  }

  @Test func anErrorOfClosingIsThrown() async throws {
    try await withPool { pool in
      let (hasBegun, isOver) = (Shared(false), Shared(false))
      let read = Task {
        try await pool.read { _ in
          hasBegun.change { $0 = true }
          while !isOver.value { usleep(1_000) }
        }
      }
      defer { isOver.change { $0 = true } }
      try await until { hasBegun.value }
      let run = Task { try await pool.run(closingWithin: .milliseconds(10)) }
      run.cancel()
      await #expect { try await run.value } throws: { ($0 as? SqlError)?.kind == .busy }
      isOver.change { $0 = true }
      _ = await read.result
    }
  }

  @Test func poolOutlivesTheServicesAfterItInAGroup() async throws {
    try await withPool { pool in
      let (stored, hasBegun) = (Shared(0), Shared(false))
      let server = ClosureService {
        hasBegun.change { $0 = true }
        try? await gracefulShutdown()
        for number in 1...10 {
          try await Bicycle(name: "Last \(number)", color: "blue").insert().run(pool)
          stored.change { $0 += 1 }
        }
      }
      let group = ServiceGroup(services: [pool, server], logger: Logger(label: "tests"))
      let run = Task { try await group.run() }
      try await until { hasBegun.value }
      await group.triggerGracefulShutdown()
      try await run.value
      #expect(stored.value == 10)
      #expect(!pool.isOpen)
    }
  }
}
