import Sqlable
import Testing

@testable import SqlableTestSupport

/// Series of numbers as rows.
@Suite struct SeriesTests {
  private func expected(_ start: Int, _ end: Int, _ step: Int) -> [Int] {
    Array(stride(from: start, through: end, by: step))
  }

  @Test func aSeriesMatchesAStride() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let query = series(1...10, by: 2, as: "n")
      #expect(
        query.read().sql == #"""
          WITH RECURSIVE "n" ("c1") AS (SELECT * FROM (VALUES (?)) UNION ALL SELECT "n"."c1" + ? FROM "n" \#
          WHERE "n"."c1" < ?) SELECT "n"."c1" FROM "n"
          """#)
      #expect(try query.read().run(db) == [1, 3, 5, 7, 9])
      for (start, end, step) in [
        (1, 10, 1), (1, 1, 5), (-5, 7, 4), (10, 1, -3), (1, 10, -1), (3, 1, 1), (5, 5, -1), (0, 100, 7),
        (Int.max - 3, Int.max, 2), (Int.min, Int.min + 5, 5), (Int.min, Int.max, Int.max), (Int.max, Int.min, Int.min),
        (Int.max, Int.min, -Int.max), (Int.min + 3, Int.min, -2),
      ] {
        let numbers = series(from: start, through: end, by: step, as: "n")
        #expect(try numbers.read().run(db) == expected(start, end, step), "\(start) \(end) \(step)")
        #expect(try numbers.read().evaluate(over: MemoryTables()) == expected(start, end, step))
      }
      for wrong in [
        series(1...3, by: 0, as: "n"),
        series(1...3, by: -1, as: "n"),
        series(from: 1, through: 3, by: 0, as: "n"),
      ] {
        expectInvalidStatement { _ = try wrong.read().run(db) }
      }
    }
  }

  @Test func theBoundsMayBeTerms() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let number = series(from: Parameter("first"), through: Parameter("last"), as: "number")
      let prepared = try db.prepare(number.read())
      for (first, last) in [(1, 3), (3, 3), (4, 1), (Int.max - 1, Int.max)] {
        #expect(try prepared.run(["first": first, "last": last]) == expected(first, last, 1))
      }
      let down = series(
        from: scalar(Worker.select(Worker.id.max())).ifNull(0), through: TypedExpression(1), by: -2, as: "d")
      #expect(try down.read().run(db) == [4, 2])
      let none = series(
        from: scalar(Worker.select(Worker.id.max()).filter(Worker.id > 9)).ifNull(0), through: TypedExpression(-1),
        as: "d")
      #expect(try none.read().run(db) == [])
    }
  }

  @Test func aSeriesFillsGaps() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let id = series(1...6, as: "id")
      let found = id.read().select(id.column, Worker.name.typed(as: String?.self))
        .leftJoining(Worker.self, on: Worker.id == id.column).orderBy(id.column)
      let rows = try found.run(db)
      #expect(rows.map(\.0) == [1, 2, 3, 4, 5, 6])
      #expect(rows.map(\.1) == ["Ada", "Ben", "Cleo", "Dan", nil, nil])
      let document = try Select<(Int, String?)>(json: found.json(), rules: StatementRules(models: [Worker.self]))
      #expect(document == found)
    }
  }
}
