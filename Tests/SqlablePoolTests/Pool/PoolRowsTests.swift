import Foundation
import SqlableCore
import SqlablePool
import SqlableQueries
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Loops over the rows of a query on a pool.
@Suite struct PoolRowsTests {
  private func withNumbers(
    _ count: Int, _ configuration: PoolConfiguration = .init(), _ body: (SqlitePool) async throws -> Void
  ) async throws {
    try await withMembers(configuration) { pool in
      try await Member.insert((0..<count).map { Member(id: $0 + 1, name: "member \($0 + 1)") }).run(pool)
      try await body(pool)
    }
  }

  @Test(arguments: [0, 1, 31, 32, 33, 64, 65, 1_000]) func theLoopReceivesEveryRowInOrder(count: Int) async throws {
    try await withNumbers(count) { pool in
      var ids: [Int] = []
      for try await member in Member.read().orderBy(Member.id).rows(in: pool) { ids.append(member.id) }
      #expect(ids == Array(0..<count).map { $0 + 1 })
      var names: [String] = []
      for try await (id, name) in Member.select(Member.id, Member.name).filter(Member.id < 4).rows(in: pool) {
        names.append("\(id) \(name)")
      }
      #expect(names == (0..<min(count, 3)).map { "\($0 + 1) member \($0 + 1)" })
    }
  }

  /// The reader stops when 32 rows wait: a slow loop over endless rows does not fill the memory.
  @Test func aSlowLoopReadsOnlySomeRowsAhead() async throws {
    let decoded = Collected<Int>()
    try await withNumbers(1_000, PoolConfiguration(readers: 1)) { pool in
      let note = ScalarFunction("note") { (id: Int) -> Int in
        decoded.append(id)
        return id
      }
      try pool.register(note)
      var count = 0
      for try await _ in Member.select(note(Member.id)).rows(in: pool) {
        count += 1
        if count == 1 { try await Task.sleep(for: .milliseconds(200)) }
        if count == 10 { break }
      }
      #expect(decoded.values.count >= 10)
      #expect(decoded.values.count <= 100, "\(decoded.values.count)")
    }
  }

  @Test func breakReturnsTheReader() async throws {
    try await withNumbers(500, PoolConfiguration(readers: 1, waitTimeout: .seconds(600))) { pool in
      for _ in 0..<20 {
        for try await member in Member.read().rows(in: pool) where member.id == 3 { break }
      }
      // The only reader is free for other calls.
      let count = try await pool.read { db in try Member.count().run(db) }
      #expect(count == 500)
    }
  }

  /// A loop keeps its snapshot, as `pool.read` does.
  @Test func laterCommitsAreNotInTheLoop() async throws {
    try await withNumbers(200) { pool in
      var count = 0
      for try await _ in Member.read().rows(in: pool) {
        if count == 0 { try await Member.deleteAll().run(pool) }
        count += 1
      }
      #expect(count == 200)
      #expect(try await Member.count().run(pool) == 0)
    }
  }

  @Test func cancellationEndsTheLoop() async throws {
    try await withNumbers(500, PoolConfiguration(readers: 1)) { pool in
      let received = Collected<Int>()
      let task = Task {
        for try await member in Member.read().rows(in: pool) {
          received.append(member.id)
          // The cancellation ends the sleep.
          if received.values.count >= 3 { try? await Task.sleep(for: .seconds(600)) }
        }
      }
      try await until { received.values.count >= 3 }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(received.values.count < 500)
      let waiting = Task {
        let numbers = series(1...1_000_000_000, as: "n").read()
        for try await _ in Member.read().filter(scalar(numbers.count()) == 0).rows(in: pool) {}
      }
      try await until { pool.statistics.oldestRead != nil }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      try await until { pool.statistics.idleReaders == pool.statistics.openReaders }
    }
  }

  @Test func aDeadlineEndsTheLoop() async throws {
    try await withNumbers(500) { pool in
      let late = await #expect(throws: SqlError.self) {
        try await withDeadline(.milliseconds(100)) {
          for try await _ in Member.read().rows(in: pool) { try await Task.sleep(for: .milliseconds(10)) }
        }
      }
      #expect(late?.kind == .timeout)
    }
  }

  @Test(.needsPreupdateHook) func closingThePoolEndsTheLoop() async throws {
    try await withNumbers(500) { pool in
      let closed = await #expect(throws: SqlError.self) {
        var isFirst = true
        for try await _ in Member.read().rows(in: pool) {
          if isFirst { try await pool.close(within: .seconds(3)) }
          isFirst = false
        }
      }
      #expect(closed?.kind == .closed)
    }
  }

  /// The rows before the row that can't be decoded are received.
  @Test func theErrorOfARowComesAfterTheRowsBefore() async throws {
    try await withNumbers(50) { pool in
      try await pool.execute("UPDATE member SET name = x'00' WHERE id = 40")
      var received = 0
      let error = await #expect(throws: SqlError.self) {
        for try await _ in Member.read().orderBy(Member.id).rows(in: pool) { received += 1 }
      }
      #expect(received == 39)
      guard case .decoding = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
      let missing = await #expect(throws: SqlError.self) {
        for try await _ in Person.read().rows(in: pool) {}
      }
      #expect(missing?.message.contains("person") == true)
    }
  }

  @Test func severalLoopsReadAtOnce() async throws {
    try await withNumbers(300, PoolConfiguration(readers: 3)) { pool in
      let query = Member.read().orderBy(Member.id).rows(in: pool)
      let counts = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<9 {
          group.addTask {
            var count = 0
            for try await _ in query { count += 1 }
            return count
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(counts == Array(repeating: 300, count: 9))
    }
  }
}
