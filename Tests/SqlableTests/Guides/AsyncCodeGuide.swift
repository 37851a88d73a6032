import Dispatch
import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private enum Request {
  @TaskLocal static var user = "nobody"
}

actor Dashboard {
  let pool: SqlitePool
  var bikes = 0

  init(pool: SqlitePool) { self.pool = pool }

  func refresh() async throws {
    bikes = try await Bicycle.count().run(pool)
  }
}

/// A loop over all integers, which ends when it is interrupted.
private let endless: SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

/// The examples of Docs/AsyncCode.md.
@Suite struct AsyncCodeGuide {
  func withBikes(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withDirectoryAsync { directory in
      // All tests start at once: a call can wait for a minute until the thread of the others is free.
      let pool = try SqlitePool(filepath: directory + "/bikes.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.createTables(Person.self, Bicycle.self) }
      try await Bicycle(name: "Norco", color: "red").insert().run(pool)
      try await body(pool)
      try await pool.close()
    }
  }

  @Test func callsOnAPoolAreAwaited() async throws {
    try await withBikes { pool in
      do {
        let count = try await Bicycle.count().run(pool)
        let (bikes, people) = try await pool.read { db in  // one snapshot
          (try Bicycle.read().run(db), try Person.read().run(db))
        }
        #expect(count == 1)
        #expect(bikes.map(\.name) == ["Norco"])
        #expect(people.isEmpty)
      }
      do {
        async let bikes = Bicycle.read().run(pool)
        async let people = Person.count().run(pool)
        let page = try await (bikes, people)
        #expect(page.0.count == 1)
        #expect(page.1 == 0)
      }
    }
  }

  @Test func transactionsBeginAfterTheAwait() async throws {
    func fetchName() async throws -> String { "Trek" }
    func askForColor(of bike: Bicycle) async throws -> String { bike.color == "red" ? "blue" : "red" }
    try await withBikes { pool in
      let name = try await fetchName()
      let id = try await pool.transaction { db in
        try Bicycle.delete(Bicycle.name == name).run(db)
        return try Bicycle(name: name, color: "red").insert().run(db)
      }
      #expect(id == 2)
      guard let bike = try await Bicycle.byId(id).run(pool) else { return }
      let color = try await askForColor(of: bike)
      let changed = try await Bicycle.update(Bicycle.color.set(to: color))
        .filter(Bicycle.id == id && Bicycle.color == bike.color).run(pool)  // 0 if the color changed meanwhile
      let again = try await Bicycle.update(Bicycle.color.set(to: color))
        .filter(Bicycle.id == id && Bicycle.color == bike.color).run(pool)
      #expect(changed == 1)
      #expect(again == 0)
    }
  }

  @Test func closuresDoNotSeeTaskLocals() async throws {
    try await withBikes { pool in
      try await Request.$user.withValue("Anna") {
        let user = Request.user
        try await pool.transaction { db in _ = try Person(id: nil, name: user).insert().run(db) }
        let inside = try await pool.read { _ in Request.user }
        #expect(inside == "nobody")
      }
      let people = try await Person.read().run(pool)
      #expect(people.map(\.name) == ["Anna"])
    }
  }

  @Test func cancellationAndDeadlinesInterrupt() async throws {
    try await withBikes { pool in
      let endless = endless
      let search = Task { try await pool.query(endless, as: Int.self) }
      try await Task.sleep(for: .milliseconds(20))  // not shown
      search.cancel()
      await #expect(throws: CancellationError.self) { try await search.value }
      let late = await #expect(throws: SqlError.self) {
        try await withDeadline(.milliseconds(20)) { _ = try await pool.query(endless, as: Int.self) }
      }
      #expect(late?.kind == .timeout)

      let found = try await repeatingAfterTimeouts {  // not shown
        let bikes = try await withDeadline(.seconds(2)) {
          try await retrying(attempts: 3) { try await Bicycle.read().run(pool) }
        }
        return bikes  // not shown
      }  // not shown
      #expect(found.count == 1)
    }
  }

  @Test func awaitedCallsHoldNoThread() async throws {
    try await withBikes { pool in
      let isHeld = DispatchSemaphore(value: 0)
      let holder = Task {
        try await pool.transaction { db in
          isHeld.wait()
          try Person(id: nil, name: "first").insert().run(db)
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...200 {
          group.addTask { _ = try await Person(id: nil, name: "\(number)").insert().run(pool) }
        }
        // Swift has as many threads as cores; 200 calls wait, and this task runs.
        group.addTask { isHeld.signal() }
        try await group.waitForAll()
      }
      _ = try await holder.value
      let count = try await Person.count().run(pool)
      #expect(count == 201)
    }
  }

  @Test func waitingWritesShareCommits() async throws {
    try await withBikes { pool in
      let names = (1...100).map { "person \($0)" }
      let isHeld = DispatchSemaphore(value: 0)
      let holder = Task { try await pool.transaction { _ in isHeld.wait() } }
      try await until { pool.statistics.isWriting }
      let before = pool.statistics.commits
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {  // not shown
          try await until { pool.statistics.waitingWrites == 100 }  // not shown
          isHeld.signal()  // not shown
        }  // not shown
        for name in names {
          group.addTask { _ = try await Person(id: nil, name: name).insert().run(pool) }
        }
        try await group.waitForAll()
      }
      try await holder.value
      let count = try await Person.count().run(pool)
      #expect(count == 100)
      #expect(pool.statistics.commits - before < 100)
    }
  }

  @Test func actorsAwaitThePool() async throws {
    try await withBikes { pool in
      let dashboard = Dashboard(pool: pool)
      try await dashboard.refresh()
      let bikes = await dashboard.bikes
      #expect(bikes == 1)
    }
  }

  @Test func asyncSequencesAreStoredInChunks() async throws {
    let lines = AsyncStream { continuation in
      for number in 1...2_500 { continuation.yield("person \(number)") }
      continuation.finish()
    }
    let exported = Collected<String>()
    try await withBikes { pool in
      var chunk: [Person] = []
      for await line in lines {
        chunk.append(Person(id: nil, name: line))
        guard chunk.count == 1_000 else { continue }
        try await Person.insert(chunk).run(pool)
        chunk = []
      }
      try await Person.insert(chunk).run(pool)
      let send = { @Sendable (person: Person) async in exported.append(person.name) }
      for try await person in Person.read().orderBy(Person.id).rows(in: pool) {
        await send(person)
      }
      #expect(exported.values.count == 2_500)
    }
  }

  @Test func synchronousFunctionsBlock() async throws {
    try await withBikes { pool in
      func blockingCount() throws -> Int { try Bicycle.count().run(pool) }
      func count() async throws -> Int { try await Bicycle.count().run(pool) }
      let counts = (try blockingCount(), try await count())
      #expect(counts == (1, 1))
    }
  }

  @Test func handlesBelongToThreads() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/bikes.sqlite"
      try await onThread {
        let db = try SqliteDatabase(filepath: path)
        try db.createTable(Person.self)
        try Person(id: nil, name: "Anna").insert().run(db)
      }
      let pool = try SqlitePool(filepath: path)
      let longest = try await pool.read { db in
        let names = try db.prepare(Person.read().filter(Person.id == Parameter("id")))
        return try (1...3).compactMap { try names.run($0).first?.name }.max { $0.count < $1.count }
      }
      #expect(longest == "Anna")
      let kept = try await pool.read { db in db }
      let error = sqlError { _ = try Person.count().run(kept) }
      #expect(error?.message == "a pool's handle is valid only inside its closure, and on the closure's thread")
      try await pool.close()
    }
  }
}
