import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Terms of types that differ and still fit: integers and floating-point numbers, and parameters that are optional.
@Suite struct MixedNumberTests {
  private func withSamples(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Sample.self)
      try Sample.insert([
        Sample(id: 1, count: 2, weight: 2.5),
        Sample(id: 2, count: 3, weight: nil),
        Sample(id: 3, count: nil, weight: 9),
      ]).run(db)
      try body(db)
    }
  }

  @Test func anIntegerIsComparedWithAnAverage() throws {
    try withSamples { db in
      let above = Sample.read().filter(Sample.id > scalar(Sample.select(Sample.id.average())))
      #expect(above.sql.hasSuffix(#" FROM "sample" WHERE "id" > (SELECT avg("sample"."id") FROM "sample")"#))
      #expect(try above.run(db).map(\.id) == [3])
      #expect(try Sample.read().filter(Sample.weight > Sample.count).run(db).map(\.id) == [1])
      #expect(try Sample.read().filter(Sample.count <= Sample.weight).run(db).map(\.id) == [1])
      #expect(try Sample.read().filter(Sample.id != Sample.weight).count(db) == 2)
      #expect(try Sample.read().filter(scalar(Sample.select(Sample.id.total())) == Sample.id * 3).count(db) == 1)
      let json = try above.json()
      #expect(try Statement<Sample, [Sample]>(json: json) == above)
    }
  }

  @Test func anOptionalParameterTakesATermThatIsNotNull() throws {
    try withSamples { db in
      let double = ScalarFunction("doubled") { (number: Int?) in (number ?? -1) * 2 }
      try db.register(double)
      let both = Sample.select(double(Sample.id), double(Sample.count)).orderBy(Sample.id)
      #expect(both.sql == #"SELECT "doubled"("id"), "doubled"("count") FROM "sample" ORDER BY "id""#)
      let rows = try both.run(db)
      #expect(rows.map(\.0) == [2, 4, 6])
      #expect(rows.map(\.1) == [4, 6, -2])
      let last = AggregateFunction("last_of", initial: 0) { (last: inout Int, number: Int?) in
        last = number ?? last
      } finish: {
        $0
      }
      try db.register(last)
      let least = try Sample.select(last(Sample.id, where: Sample.id < 3), last(Sample.count)).first(db)
      #expect(least?.0 == 2)
      #expect(least?.1 == 3)
    }
  }
}
