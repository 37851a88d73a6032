import Sqlable
import Testing

/// The types of sums.
@Suite struct SumTypeTests {
  @Test func aSumHoldsMoreThanItsColumn() throws {
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
}

private struct Crate: Sqlable {
  var count: UInt8
  var spare: Int8?
  var stock: Int16
  var weight: Float

  static let tableName = "crate"
  static let count = column("count", UInt8.self)
  static let spare = column("spare", Int8?.self)
  static let stock = column("stock", Int16.self)
  static let weight = column("weight", Float.self)
  static let tableLayout = [count.column, spare.column, stock.column, weight.column]

  init(count: UInt8, spare: Int8?, stock: Int16, weight: Float) {
    (self.count, self.spare, self.stock, self.weight) = (count, spare, stock, weight)
  }

  init(row: ReadRow) throws {
    (count, spare) = (try row.get(Crate.count), try row.get(Crate.spare))
    (stock, weight) = (try row.get(Crate.stock), try row.get(Crate.weight))
  }

  func write(to row: inout RowWriter) throws {
    row.set(Crate.count, count)
    row.set(Crate.spare, spare)
    row.set(Crate.stock, stock)
    row.set(Crate.weight, weight)
  }
}
