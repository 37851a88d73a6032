import Foundation
import Sqlable
import Testing

private struct Item {
  var id: Int?
  var price: Decimal
  var amount: Int
}

extension Item: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey())
  static let price = column("price", Decimal.self, as: .decimal(scale: 2), Default(Decimal(0)))
  static let amount = column("amount", Int.self)
  static let tableLayout = [id.column, price.column, amount.column]

  func write(to row: inout RowWriter) throws {
    row.set(Item.id, id)
    row.set(Item.price, price)
    row.set(Item.amount, amount)
  }

  init(row: ReadRow) throws {
    id = try row.get(Item.id)
    price = try row.get(Item.price)
    amount = try row.get(Item.amount)
  }
}

@Suite struct DecimalsGuide {
  @Test func decimalsOfAScale() throws {
    try withDatabase { db in
      try db.createTable(Item.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE name = 'item'", as: String.self) == [
          """
          CREATE TABLE "item" ("id" INTEGER PRIMARY KEY, "price" INTEGER NOT NULL DEFAULT 0, "amount" INTEGER NOT NULL)
          """
        ])
      try Item(price: Decimal(string: "12.34")!, amount: 3).insert().run(db)
      #expect(try db.query("SELECT price FROM item", as: Int.self) == [1234])
      let total = Item.price.times(Item.amount).sum()
      let statement = Item.select(Item.price + 1, total).filter(Item.price < Decimal(string: "12.345")!)
      // SELECT "price" + ?, sum("price" * "amount") FROM "item" WHERE "price" < ?
      // bindings: .integer(100), .integer(1235)
      #expect(statement.sql == #"SELECT "price" + ?, sum("price" * "amount") FROM "item" WHERE "price" < ?"#)
      #expect(statement.bindings == [.integer(100), .integer(1235)])
      let rows = try statement.run(db)
      #expect(rows.map(\.0) == [Decimal(string: "13.34")!] && rows.map(\.1) == [Decimal(string: "37.02")!])
      let cents = try Item.select(Item.price.units.average()).run(db)
      #expect(cents == [1234])
      #expect(try db.query("SELECT id FROM item WHERE price = \(rows[0].0 - 1, as: Item.price)", as: Int.self) == [1])
    }
  }
}
