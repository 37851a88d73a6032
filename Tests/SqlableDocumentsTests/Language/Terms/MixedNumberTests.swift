import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Terms of types that differ and still fit: integers and floating-point numbers, and parameters that are optional.
@Suite struct MixedNumberTests {
  private func withBoats(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Measure.self)
      try Measure.insert([Measure(1, 2, 2.5), Measure(2, 3, nil), Measure(3, nil, 9)]).run(db)
      try body(db)
    }
  }

  @Test func anIntegerIsComparedWithAnAverage() throws {
    try withBoats { db in
      let above = Measure.read().filter(Measure.id > scalar(Measure.select(Measure.id.average())))
      #expect(
        above.sql == """
          SELECT "id", "count", "weight" FROM "measure" \
          WHERE "id" > (SELECT avg("measure"."id") FROM "measure")
          """)
      #expect(try above.run(db).map(\.id) == [3])
      #expect(try Measure.read().filter(Measure.weight > Measure.count).run(db).map(\.id) == [1])
      #expect(try Measure.read().filter(Measure.count <= Measure.weight).run(db).map(\.id) == [1])
      #expect(try Measure.read().filter(Measure.id != Measure.weight).count(db) == 2)
      #expect(try Measure.read().filter(scalar(Measure.select(Measure.id.total())) == Measure.id * 3).count(db) == 1)
      let json = try above.json()
      #expect(try Statement<Measure, [Measure]>(json: json) == above)
    }
  }

  @Test func anOptionalParameterTakesATermThatIsNotNull() throws {
    try withBoats { db in
      let double = ScalarFunction("doubled") { (number: Int?) in (number ?? -1) * 2 }
      try db.register(double)
      let both = Measure.select(double(Measure.id), double(Measure.count)).orderBy(Measure.id)
      #expect(both.sql == #"SELECT "doubled"("id"), "doubled"("count") FROM "measure" ORDER BY "id""#)
      let rows = try both.run(db)
      #expect(rows.map(\.0) == [2, 4, 6])
      #expect(rows.map(\.1) == [4, 6, -2])
      let last = AggregateFunction("last_of", initial: 0) { (last: inout Int, number: Int?) in
        last = number ?? last
      } finish: {
        $0
      }
      try db.register(last)
      let least = try Measure.select(last(Measure.id, where: Measure.id < 3), last(Measure.count)).first(db)
      #expect(least?.0 == 2)
      #expect(least?.1 == 3)
    }
  }
}

private struct Measure: Sqlable, Equatable {
  let (id, count, weight): (Int, Int?, Double?)
  static let id = column("id", Int.self, PrimaryKey())
  static let count = column("count", Int?.self)
  static let weight = column("weight", Double?.self)
  static let tableLayout = [id.column, count.column, weight.column]

  init(_ id: Int, _ count: Int?, _ weight: Double?) { (self.id, self.count, self.weight) = (id, count, weight) }
  init(row: ReadRow) throws {
    self.init(try row.get(Measure.id), try row.get(Measure.count), try row.get(Measure.weight))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Measure.id, id)
    row.set(Measure.count, count)
    row.set(Measure.weight, weight)
  }
}
