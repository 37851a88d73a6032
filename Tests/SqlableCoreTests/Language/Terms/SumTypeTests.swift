import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// The types of sums and of arithmetic.
@Suite struct SumTypeTests {
  @Test func aSumIsWiderThanItsColumn() throws {
    try withDatabase { db in
      try db.createTable(Crate.self)
      for weight in [0.5, 0.25] as [Float] {
        try Crate(count: 200, spare: 100, stock: 30_000, weight: weight).insert().run(db)
      }
      let count: Int? = try Crate.select(Crate.count.sum()).first(db)
      #expect(count == 400)
      let spare: Int? = try Crate.select(Crate.spare.sum()).first(db)
      #expect(spare == 200)
      let stock: Int? = try Crate.select(Crate.stock.sum(distinct: false)).first(db)
      #expect(stock == 60_000)
      let weight: Double? = try Crate.select(Crate.weight.sum()).first(db)
      #expect(weight == 0.75)
      let running = try Crate.select(Crate.count.sum().over(orderBy: Crate.weight.asc)).orderBy(Crate.weight).run(db)
      #expect(running == [200, 400])
    }
  }

  @Test func arithmeticHasTheTypeOfItsColumnAndThrowsBeyondIt() throws {
    try withDatabase { db in
      try db.createTable(Crate.self)
      try Crate(count: 200, spare: -100, stock: 30_000, weight: 0.5).insert().run(db)
      let fitting = try #require(try Crate.select(Crate.count + 55, Crate.count - 200, Crate.stock / 2).first(db))
      #expect(fitting == (255, 0, 15_000))
      let narrow: [Select<UInt8>] = [
        Crate.select(Crate.count * 2),
        Crate.select(Crate.count + Crate.count),
        Crate.select(Crate.count - 201),
        Crate.select(-Crate.count),
        Crate.select(Crate.count.shiftedLeft(1)),
        Crate.select(Crate.count.inverted()),
      ]
      for query in narrow {
        let error = sqlError { _ = try query.run(db) }
        let message = "should hold UInt8, but holds an INTEGER out of range"
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
      }
      #expect(sqlError { _ = try Crate.select(Crate.stock * 2).run(db) } != nil)
      #expect(sqlError { _ = try Crate.select(Crate.spare * 2).run(db) } != nil)
      let wide = Crate.select(
        Crate.count.column.typed(as: Int.self) * 2,
        Crate.spare.column.typed(as: Int?.self) - 200,
        Crate.stock.column.typed(as: Int.self) * 2
      )
      let row = try #require(try wide.first(db))
      #expect(row == (400, -300, 60_000))
      // A condition has no column type: SQLite compares 64 bits.
      #expect(try Crate.count().filter(Crate.count * 2 == 144).run(db) == 0)
      #expect(try Crate.count().filter(Crate.count.column.typed(as: Int.self) * 2 == 400).run(db) == 1)
      // An update stores a value out of range, which the column's type can't read.
      try Crate.updateAll(Crate.count.set(to: Crate.count * 2)).run(db)
      expectSqlError { _ = try Crate.select(Crate.count).run(db) }
    }
  }

  @Test func aggregatesOfSmallIntegersAreWide() throws {
    try withDatabase { db in
      try db.createTable(Crate.self)
      for _ in 0..<3 { try Crate(count: 200, spare: nil, stock: 30_000, weight: 0.5).insert().run(db) }
      let average: Double? = try Crate.select(Crate.count.average()).first(db)
      #expect(average == 200)
      let total: Double? = try Crate.select(Crate.stock.total()).first(db)
      #expect(total == 90_000)
      let most: UInt8? = try Crate.select(Crate.count.max()).first(db)
      #expect(most == 200)
    }
  }
}
