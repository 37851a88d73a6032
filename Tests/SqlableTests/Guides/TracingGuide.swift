import Foundation
import Sqlable
import Testing

@Suite struct TracingGuide {
  private func withPool(_ body: (SqlitePool) throws -> Void) throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/bikes.sqlite")
      try pool.withWriter { db in
        try db.createTables(Person.self, Bicycle.self)
        try Bicycle(name: "Trek", color: "red").insert().run(db)
      }
      try body(pool)
      try pool.close()
    }
  }

  @Test func aTraceReportsEveryStatement() throws {
    try withPool { pool in
      let log = TraceLog()
      pool.trace(.init(), log.receive)
      let token = pool.trace { event in print(event) }
      let bikes = try Bicycle.read().filter(Bicycle.color == "red").run(pool)
      pool.removeTrace(token)
      #expect(bikes.count == 1)
      let description = try #require(log.take().last?.description)
      #expect(description.hasPrefix("read bicycle in 0."))
      #expect(
        description.hasSuffix(
          #" ms, 1 rows: SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ?"#))
    }
  }

  @Test func slowStatementsHaveTheirPlan() throws {
    try withPool { pool in
      let lines = TraceLog()
      let log = { @Sendable (_: Any...) in }
      pool.trace(.slow(.milliseconds(50))) { event in
        log(event.sql, event.duration, event.rowsScanned, event.plan)
      }
      pool.trace(.slow(.zero), lines.receive)
      _ = try Bicycle.read().filter(Bicycle.ownerId == 1).run(pool)
      let event = try #require(lines.take().last)
      #expect(event.sql == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "owner_id" = ?"#)
      #expect(event.plan == ["SCAN bicycle"])
    }
  }

  @Test func eventsHaveTheContextOfTheirTask() throws {
    try withPool { pool in
      let log = TraceLog()
      pool.trace(.init(), log.receive)
      let count = try Tracing.$context.withValue("request 17") { try Bicycle.count().run(pool) }
      #expect(count == 1)
      #expect(log.take().last?.context == "request 17")
    }
  }

  @Test func totalsCountShapes() throws {
    try withPool { pool in
      let totals = StatementTotals()
      pool.trace { event in totals.add(event) }
      for id in 1...5 { _ = try Bicycle.byId(id).run(pool) }
      #expect(totals.top(1, by: .count).map(\.count) == [5])
      for statement in totals.top(10) { print(statement) }  // by total, count, p99 or longest
      totals.reset()
      #expect(totals.top().isEmpty)
    }
  }

  @Test func healthAnswersAProbe() throws {
    try withPool { pool in
      let health: SqlitePool.Health = pool.health(within: .milliseconds(500))
      if !health.isHealthy { print(health.problems) }
      #expect(!health.problems.contains(.closed))
    }
  }
}
