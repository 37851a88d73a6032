import Foundation
import SqlableAdvice
import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

@Suite(.timeLimit(.minutes(60))) struct TraceAdviceTests {
  private func withBikes(_ body: (SqliteDatabase, TraceLog) async throws -> Void) async throws {
    try await withDirectoryAsync { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try db.execute("CREATE TABLE ride (bike INTEGER, day TEXT, km REAL)")
      let log = TraceLog()
      db.trace(.init(explains: true, advises: true), log.receive)
      try await body(db, log)
    }
  }

  /// The advice in the first read or write event with a table.
  private func advice(_ log: TraceLog) async throws -> [String] {
    let events = Collected<TraceEvent>()
    try await until {
      for event in log.take() where event.kind == .read || event.kind == .write { events.append(event) }
      return !events.values.isEmpty
    }
    return events.values[0].advice
  }

  @Test(
    arguments: [
      (#"SELECT * FROM bicycle WHERE owner_id = 5"#, [#"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#]),
      (
        #"SELECT km FROM ride WHERE bike = 5 ORDER BY day DESC"#,
        [#"CREATE INDEX "ride_bike_day_desc" ON "ride" ("bike", "day" DESC)"#]
      ),
      (
        #"SELECT 1 FROM person p WHERE p.id < 9 AND EXISTS (SELECT 1 FROM ride r WHERE r.bike = p.id AND r.km > 5)"#,
        [#"CREATE INDEX "ride_bike_km" ON "ride" ("bike", "km")"#]
      ),
      (
        #"UPDATE bicycle SET color = 'red' WHERE owner_id = 5"#,
        [#"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#]
      ),
      // No index is missing, or none would help.
      (#"SELECT * FROM bicycle WHERE color = 'red'"#, []),
      (#"SELECT * FROM bicycle"#, []),
      (#"SELECT * FROM bicycle WHERE length(name) = 5"#, []),
      (#"SELECT 1"#, []),
    ] as [(String, [String])])
  func slowStatementsHaveIndexAdvice(_ sql: String, _ wanted: [String]) async throws {
    try await withBikes { db, log in
      var found: [String] = []
      // An event has no advice while a hundred other events wait, such as those of a test with thousands of statements.
      for _ in 0..<3_000 {
        try db.execute(SQL(verbatim: sql))
        found = try await advice(log)
        if found == wanted { break }
        try await Task.sleep(for: .milliseconds(100))
      }
      #expect(found == wanted, "\(found)")
    }
  }

  @Test func aShapeIsAdvisedAtMostOncePerMinute() async throws {
    try await withDirectoryAsync { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite")
      // The table's name is unique, because the minute applies to the whole process.
      try db.execute("CREATE TABLE advised_once (a, b)")
      let log = TraceLog()
      db.trace(.init(advises: true), log.receive)
      let begin = ContinuousClock.now
      var advised: [TraceEvent] = []
      // No event gets advice while a hundred events of other tests wait.
      for _ in 0..<3_000 where advised.isEmpty {
        for value in 1...20 { _ = try db.query("SELECT a FROM advised_once WHERE b = \(value)", as: Int.self) }
        let events = Collected<TraceEvent>()
        try await until {
          for event in log.take() { events.append(event) }
          return events.values.count == 20
        }
        advised = events.values.filter { !$0.advice.isEmpty }
        try await Task.sleep(for: .milliseconds(100))
      }
      let minutes = Int((ContinuousClock.now - begin) / .seconds(60))
      // The advisor can forget all shapes once, because another test has thousands of them.
      #expect((1...minutes + 2).contains(advised.count))
      #expect(Set(advised.map(\.advice)) == [[#"CREATE INDEX "advised_once_b" ON "advised_once" ("b")"#]])
    }
  }

  @Test func adviceDoesNotWaitForTheHandleNorHoldItUp() async throws {
    try await withBikes { db, log in
      try db.execute("CREATE TABLE held (a, b)")
      let child = try db.createChild()
      _ = log.take()
      let isAdvised = DispatchSemaphore(value: 0)
      try await onThread {
        try db.transaction(.exclusive) { db in
          try db.execute("INSERT INTO held VALUES (1, 2)")
          for _ in 0..<3_000 {
            _ = try child.query("SELECT a FROM held WHERE b = 1", as: Int.self)
            usleep(100_000)
            if log.take().contains(where: { !$0.advice.isEmpty }) {
              isAdvised.signal()
              break
            }
          }
        }
      }
      #expect(isAdvised.wait(timeout: .now()) == .success)
      // The statements of the advice emit no events.
      #expect(!log.take().contains { $0.sql.contains("sqlite_") })
      // The advice keeps no connection to the file open.
      try db.withClosed(within: .seconds(600)) { _ in }
    }
  }

  @Test func aDatabaseInMemoryHasNoAdvice() throws {
    let db = try SqliteDatabase.inMemory()
    try db.createTables(Person.self, Bicycle.self)
    let log = TraceLog()
    db.trace(.slow(.zero, advises: true), log.receive)
    _ = try Bicycle.read().filter(Bicycle.ownerId == 5).run(db)
    let event = try #require(log.take().last)
    #expect(event.advice == [])
    #expect(event.plan == ["SCAN bicycle"])
  }
}
