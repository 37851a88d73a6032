import Foundation
import Sqlable
import SqlableAdvice
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

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
      #expect(description.hasPrefix("read bicycle in "))
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

  @Test func onErrorReceivesEveryErrorOfASeverity() throws {
    try withPool { pool in
      let events = TraceLog()
      pool.onError(atLeast: .warning, events.receive)
      let log = { @Sendable (_: Any?...) in }
      expectInvalidStatement { _ = try Bicycle.read().limit(-1).run(pool) }
      let token = pool.onError(atLeast: .warning) { event in log(event.severity, event.error, event.callSite) }
      pool.removeTrace(token)
      let failed = Collected<String>()
      pool.didFail = { error in failed.append("\(error)") }
      pool.observe(.update, on: Bicycle.self) { _ in throw SqlError(.full, message: "no space is left") }
      try Bicycle(id: 1, name: "Giant", color: "red").update().run(pool)
      waitUntil { failed.values.count == 1 }
      #expect(events.take().map(\.severity) == [.error, .critical])
    }
  }

  @Test func slowStatementsHaveIndexAdvice() async throws {
    let lines = Collected<String>()
    try withPool { pool in
      let log = { @Sendable (text: String) in lines.append(text) }
      pool.trace(.slow(.milliseconds(50), advises: true)) { event in
        for index in event.advice { log("\(event.sql) needs \(index)") }
      }
      pool.trace(.slow(.zero, advises: true)) { event in
        for index in event.advice { log("\(event.sql) needs \(index)") }
      }
      _ = try Bicycle.read().filter(Bicycle.ownerId == 1).orderBy(Bicycle.id).run(pool)
      // An event has no advice while a hundred events of other tests wait. A new name is a new shape, which a trace
      // reports at once.
      var number = 0
      try waitUntil(within: .seconds(900)) {
        usleep(100_000)
        guard lines.values.isEmpty else { return true }
        number += 1
        _ = try pool.query(SQL(verbatim: "SELECT id AS a\(number) FROM bicycle WHERE owner_id = 1"), as: Int.self)
        return false
      }
    }
    #expect(lines.values.first?.hasSuffix(#"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#) == true)
  }

  @Test func eventsHaveTheValuesOfColumns() throws {
    try withPool { pool in
      let log = TraceLog()
      let options = TraceOptions(values: [.of(Bicycle.self, Bicycle.color, Bicycle.id)])
      let asking = pool.trace(options) { event in print(event.values) }  // [bicycle.color = 'red']
      pool.trace(options, log.receive)
      _ = try Bicycle.read().filter(Bicycle.color == "red").run(pool)
      pool.removeTrace(asking)
      #expect("\(log.take().last?.values ?? [])" == "[bicycle.color = 'red']")
    }
  }

  @Test func aPoolCountsItsStatements() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      var configuration = PoolConfiguration()
      configuration.keepsTotals = true
      let counting = try SqlitePool(filepath: path, configuration: configuration)
      try counting.transaction { db in try db.createTables(Person.self, Bicycle.self) }
      for id in 1...5 { _ = try Bicycle.byId(id).run(counting) }
      #expect(counting.topStatements(1, by: .count).first?.count == 5)
      for statement in counting.topStatements(10) { print(statement) }
      counting.resetStatistics()
      #expect(counting.topStatements().isEmpty)
      try counting.close()
    }
  }

  @Test func poolReportsTheHolderOfTheWriteLock() throws {
    try withPool { pool in
      if let holder = pool.writeLockHolder { print(holder) }
      #expect(pool.writeLockHolder == nil)
      try pool.transaction { _ in
        let holder = try #require(pool.writeLockHolder)
        #expect("\(holder)".hasPrefix("the call at SqlableTests/TracingGuide.swift:"))
      }
    }
  }

  @Test func aHandleHasStatistics() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let statistics = try db.statistics
      print(statistics.statements, statistics.committed, statistics.pageHitRate, statistics.bytes)
      #expect(statistics.bytes > 0)
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
