import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

@Suite struct StatementTotalsTests {
  @Test func runsOfOneShapeAreCountedTogether() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let (totals, log) = (StatementTotals(), TraceLog())
      db.trace { event in
        totals.add(event)
        log.receive(event)
      }
      for color in ["red", "blue", "green"] { try Bicycle(name: color, color: color).insert().run(db) }
      for color in ["red", "blue", "grey", "red"] { _ = try Bicycle.read().filter(Bicycle.color == color).run(db) }
      expectSqlError { try db.execute("SELECT nosuch") }
      let events = log.take()
      let reads = try #require(totals.top().first { $0.kind == .read && $0.table == "bicycle" })
      #expect(reads.count == 4)
      #expect(reads.failures == 0)
      #expect(reads.rowsRead == 3)
      #expect(reads.rowsScanned == 0)
      #expect(
        reads.sql == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ?"#)
      let durations = events.filter { $0.sql == reads.sql }.map(\.duration)
      #expect(reads.total == durations.reduce(.zero, +))
      #expect(reads.longest == durations.max())
      let writes = try #require(totals.top().first { $0.kind == .write })
      #expect(writes.count == 3)
      #expect(writes.rowsChanged == 3)
      let failed = totals.top().first { $0.sql == "SELECT nosuch" }
      #expect(failed?.failures == 1)
      #expect(failed?.count == 1)
      #expect(totals.top().first { $0.kind == .transaction(.committed) }?.count == 3)
      totals.reset()
      #expect(totals.top() == [])
      #expect(totals.others.count == 0)
    }
  }

  @Test func quantilesAreWithinAnEighthOfThoseOfAllDurations() throws {
    try withDatabase { db in
      let (totals, log) = (StatementTotals(), TraceLog())
      db.trace { event in
        totals.add(event)
        log.receive(event)
      }
      for count in 1...300 {
        let rows = count % 50 == 0 ? 20_000 : count
        let sql: SQL =
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) SELECT max(i) FROM n"
        _ = try db.query(sql, as: Int.self)
      }
      let durations = log.take().map(\.duration).sorted()
      let found = try #require(totals.top(1).first)
      #expect(found.count == 300)
      #expect(durations.count == 300)
      for (quantile, exact) in [(found.p50, durations[149]), (found.p99, durations[296])] {
        #expect(quantile >= exact)
        #expect(quantile <= exact + exact / 7)
      }
    }
  }

  @Test func topSortsByTheChosenMeasure() throws {
    try withDatabase { db in
      let totals = StatementTotals()
      db.trace { totals.add($0) }
      for _ in 0..<200 { _ = try db.query("SELECT 1", as: Int.self) }
      let slow: SQL =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT max(i) FROM n"
      _ = try db.query(slow, as: Int.self)
      #expect(totals.top(1, by: .count).map(\.sql) == ["SELECT ?"])
      // On a busy machine, one of the short statements can take longer than the slow one.
      let longest = totals.top(10, by: .longest).map(\.longest)
      let p99 = totals.top(10, by: .p99).map(\.p99)
      #expect(longest.count >= 2)
      #expect(longest == longest.sorted(by: >))
      #expect(p99 == p99.sorted(by: >))
      #expect(totals.top(0) == [])
      #expect(totals.top(-1) == [])
    }
  }

  @Test func newShapesDoNotGrowTheTotalsPastTheLimit() throws {
    try withDatabase { db in
      let totals = StatementTotals(maximumShapes: 50)
      db.trace { totals.add($0) }
      for number in 0..<1_000 { _ = try db.query(SQL(verbatim: "SELECT 1 AS c\(number)"), as: Int.self) }
      #expect(totals.top(10_000).count <= 50)
      #expect(totals.top(10_000).map(\.count).reduce(0, +) + totals.others.count == 1_000)
    }
  }
}
