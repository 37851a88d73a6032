import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Filters by Swift ranges.
@Suite struct RangeTests {
  private static func day(_ day: Int) -> Date { Date(timeIntervalSince1970: Double(day) * 86_400) }

  private func withLots(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Lot.self)
      for id in 1...5 {
        try Lot(
          id: id, price: Decimal(id), weight: id == 3 ? nil : Double(id), soldAt: id == 5 ? nil : RangeTests.day(id),
          checkedAt: RangeTests.day(id)
        ).insert().run(db)
      }
      try body(db)
    }
  }

  private func expect(
    _ db: SqliteDatabase, _ condition: SqlExpression, _ sql: String, _ ids: [Int],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let query = Lot.select(Lot.id).filter(condition).orderBy(Lot.id)
    #expect(
      query.sql == #"SELECT "id" FROM "lot" WHERE "# + sql + #" ORDER BY "id""#, sourceLocation: sourceLocation)
    #expect(try query.run(db) == ids, sourceLocation: sourceLocation)
  }

  @Test func everyRangeIsAFilter() throws {
    try withLots { db in
      try expect(db, Lot.id.between(2...4), #""id" BETWEEN ? AND ?"#, [2, 3, 4])
      try expect(db, Lot.id.between(2..<4), #""id" >= ? AND "id" < ?"#, [2, 3])
      try expect(db, Lot.id.between(4...), #""id" >= ?"#, [4, 5])
      try expect(db, Lot.id.between(...2), #""id" <= ?"#, [1, 2])
      try expect(db, Lot.id.between(..<2), #""id" < ?"#, [1])
      try expect(db, Lot.id.between(3..<3), #""id" >= ? AND "id" < ?"#, [])
      try expect(db, !Lot.id.between(2..<4), #"NOT ("id" >= ? AND "id" < ?)"#, [1, 4, 5])
    }
  }

  @Test func rangesWorkOnUntypedColumnsAndTerms() throws {
    try withLots { db in
      let id = Lot.id.column
      try expect(db, id.between(2...4), #""id" BETWEEN ? AND ?"#, [2, 3, 4])
      try expect(db, id.between(2..<4), #""id" >= ? AND "id" < ?"#, [2, 3])
      try expect(db, id.between(4...), #""id" >= ?"#, [4, 5])
      try expect(db, (id * 2).between(...4), #""id" * ? <= ?"#, [1, 2])
      try expect(db, (Lot.id * 2).between(4..<8), #""id" * ? >= ? AND "id" * ? < ?"#, [2, 3])
      for condition in [id.between("a"..."b"), id.between("a"..<"b"), id.between("a"...)] {
        let error = sqlError { _ = try Lot.count(condition).run(db) }
        #expect(error?.message == "column id takes INTEGER, but was given TEXT")
      }
    }
  }

  @Test func aNullIsInNoRange() throws {
    try withLots { db in
      try expect(db, Lot.weight.between(1...4.5), #""weight" BETWEEN ? AND ?"#, [1, 2, 4])
      try expect(db, Lot.weight.between(2..<4), #""weight" >= ? AND "weight" < ?"#, [2])
      try expect(db, !Lot.weight.between(...2), #"NOT "weight" <= ?"#, [4, 5])
    }
  }

  @Test func datesAreBoundInTheFormOfTheColumn() throws {
    try withLots { db in
      let (second, fourth) = (RangeTests.day(2), RangeTests.day(4))
      try expect(db, Lot.soldAt.between(second..<fourth), #""sold_at" >= ? AND "sold_at" < ?"#, [2, 3])
      try expect(db, Lot.soldAt.between(second...fourth), #""sold_at" BETWEEN ? AND ?"#, [2, 3, 4])
      try expect(db, Lot.soldAt.between(fourth...), #""sold_at" >= ?"#, [4])
      let late = fourth.addingTimeInterval(0.5)
      try expect(db, Lot.checkedAt.between(second...late), #""checked_at" BETWEEN ? AND ?"#, [2, 3, 4])
      #expect(
        Lot.count(Lot.soldAt.between(second..<fourth)).bindings
          == [.text("1970-01-03T00:00:00.000Z"), .text("1970-01-05T00:00:00.000Z")])
    }
  }

  @Test func boundsWithTooManyDigitsAreRoundedInward() throws {
    try withLots { db in
      let (low, high) = (Decimal(string: "1.995")!, Decimal(string: "4.004")!)
      try expect(db, Lot.price.between(low...high), #""price" BETWEEN ? AND ?"#, [2, 3, 4])
      try expect(db, Lot.price.between(low..<high), #""price" >= ? AND "price" < ?"#, [2, 3, 4])
      try expect(db, Lot.price.between(..<4), #""price" < ?"#, [1, 2, 3])
    }
  }

  @Test func aRangeOfAnotherTypeThanAFunctionThrows() throws {
    try withLots { db in
      expectInvalidStatement { _ = try Lot.count((Lot.id.column + 1).between("a"..."b")).run(db) }
    }
  }

  @Test func aRangeIsEncoded() throws {
    for condition in [Lot.id.between(2...4), Lot.id.between(2..<4), Lot.soldAt.between(RangeTests.day(1)...)] {
      let statement = Lot.read(condition)
      #expect(try Statement<Lot, [Lot]>(json: statement.json()) == statement)
    }
  }
}
