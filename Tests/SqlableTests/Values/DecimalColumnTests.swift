import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// A ware with a price in cents and a fee in tenths of a cent.
struct Ware: Equatable {
  var id: Int
  var price: Decimal
  var fee: Decimal
  var discount: Decimal?
  var amount: Int
}

extension Ware: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let price = column("price", Decimal.self, as: .decimal(scale: 2))
  static let fee = column("fee", Decimal.self, as: .decimal(scale: 3), Default(Decimal(string: "0.125")!))
  static let discount = column("discount", Decimal?.self, as: .decimal(scale: 2))
  static let amount = column("amount", Int.self)
  static let tableLayout = [id.column, price.column, fee.column, discount.column, amount.column]
  static let tableIndexes = [Index(price)]

  func write(to row: inout RowWriter) throws {
    row.set(Ware.id, id)
    row.set(Ware.price, price)
    row.set(Ware.fee, fee)
    row.set(Ware.discount, discount)
    row.set(Ware.amount, amount)
  }

  init(row: ReadRow) throws {
    id = try row.get(Ware.id)
    price = try row.get(Ware.price)
    fee = try row.get(Ware.fee)
    discount = try row.get(Ware.discount)
    amount = try row.get(Ware.amount)
  }

  init(_ id: Int, _ price: String, fee: String = "0.125", discount: String? = nil, amount: Int = 1) {
    (self.id, self.price, self.fee) = (id, Decimal(string: price)!, Decimal(string: fee)!)
    (self.discount, self.amount) = (discount.map { Decimal(string: $0)! }, amount)
  }
}

func decimal(_ text: String) -> Decimal { Decimal(string: text)! }

/// Decimals in columns with a scale, stored exactly as numbers of units.
@Suite struct DecimalColumnTests {
  private func withWares(_ articles: [Ware], _ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Ware.self)
      try Ware.insert(articles).run(db)
      try body(db)
    }
  }

  @Test func decimalsAreStoredAsUnits() throws {
    let articles = [
      Ware(1, "12.34", discount: "-0.5", amount: 2), Ware(2, "-0.01"), Ware(3, "0"),
      Ware(4, "92233720368547758.07"), Ware(5, "-92233720368547758.08", fee: "0.001"),
    ]
    try withWares(articles) { db in
      let rows = try db.query("SELECT price, typeof(price), fee, discount FROM ware ORDER BY id") { row in
        "\(try row.get(at: 0, as: Int.self)) \(try row.get(at: 1, as: String.self)) \(try row.get(at: 2, as: Int.self))"
          + " \(try row.get(at: 3, as: Int?.self).map(String.init) ?? "NULL")"
      }
      #expect(
        rows == [
          "1234 integer 125 -50",
          "-1 integer 125 NULL",
          "0 integer 125 NULL",
          "9223372036854775807 integer 125 NULL",
          "-9223372036854775808 integer 1 NULL",
        ])
      #expect(try Ware.read().orderBy(Ware.id).run(db) == articles)
      let sql = try #require(try db.schema().tables.first { $0.name == "ware" })
      #expect(sql.columns.map(\.type.text) == ["INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER"])
      try db.execute("INSERT INTO ware (id, price, amount) VALUES (6, 100, 1)")
      #expect(try Ware.read(Ware.id == 6).run(db) == [Ware(6, "1")])
      #expect(try Schema(Ware.self).differences(db).isEmpty)
    }
  }

  @Test func decimalsThatTheColumnCannotHoldAreRefused() throws {
    let type = "a Decimal with 2 digits after the point"
    try withWares([Ware(1, "1")]) { db in
      for (value, found) in [
        ("12.345", "a Decimal with more digits"), ("-0.001", "a Decimal with more digits"),
        ("92233720368547758.08", "a Decimal beyond 64 bits"), ("-92233720368547758.09", "a Decimal beyond 64 bits"),
        ("1" + String(repeating: "0", count: 100), "a Decimal beyond 64 bits"),
      ] {
        let message = "ware.price takes \(type), but was given \(found)"
        let error = sqlError { try Ware(2, value).insert().run(db) }
        #expect(error?.message == message)
        #expect(error?.table == "ware")
        #expect(error?.column == "price")
        let update = sqlError { try Ware.updateAll(Ware.price.set(to: decimal(value))).run(db) }
        #expect(update?.kind == .encoding(.init(expected: type, found: found)))
        let sum = sqlError { _ = try Ware.read(Ware.price + decimal(value) > 0).run(db) }
        #expect(sum?.kind == .encoding(.init(expected: type, found: found)))
      }
      expectSqlError { try Ware.updateAll(Ware.price.set(to: Decimal.nan)).run(db) }
      let rows = try Ware.read().run(db)
      #expect(rows == [Ware(1, "1")])
    }
  }

  @Test func typesOtherThanDecimalAreRefused() throws {
    try withWares([Ware(1, "1")]) { db in
      let price = Ware.price.column
      for value: any SqlValue in [100, 100.0, "100", true, Date(timeIntervalSince1970: 100), Data([1])] {
        expectSqlError { try Ware.updateAll(price.set(to: value)).run(db) }
        expectSqlError { _ = try Ware.read(price == value).run(db) }
        expectSqlError { _ = try Ware.read(price.in([1, 2])).run(db) }
        expectSqlError { _ = try Ware.read(price + value > Decimal(1)).run(db) }
      }
      let error = sqlError { try Loose(price: 100).insert().run(db) }
      #expect(error?.message == "ware.price takes a Decimal with 2 digits after the point, but was given INTEGER")
      let prepared = try db.prepare(Ware.read(Ware.price > Parameter("p")))
      expectSqlError { _ = try prepared.run(["p": 100]) }
      #expect(try prepared.run(decimal("0.999")).count == 1)
    }
  }

  @Test func aScaleOutOfRangeIsMisuse() throws {
    try withDatabase { db in
      let error = expectMisuse { try db.createTable(Entry<Overscaled>.self) }
      #expect(
        error?.message.contains("the scale of a decimal must be from 0 to 18, not 19") == true,
        "\(error?.message ?? "")")
      #expect(throws: SqlError.self) { try Decimal(1).databaseValue(in: .decimal(scale: -1)) }
    }
  }

  @Test func comparisonsAcceptAnyDecimal() throws {
    let prices = ["-92233720368547758.08", "-12.35", "-12.34", "0", "12.33", "12.34", "12.35", "92233720368547758.07"]
    let articles = prices.enumerated().map { Ware($0 + 1, $1) }
    try withWares(articles) { db in
      func found(_ condition: SqlExpression) throws -> [Decimal] {
        let found = try Ware.read(condition).orderBy(Ware.id).run(db)
        #expect(try Ware.read(condition).orderBy(Ware.id).evaluate(over: articles) == found)
        let decoded = try Statement<Ware, [Ware]>(json: try Ware.read(condition).orderBy(Ware.id).json())
        #expect(try decoded.run(db) == found)
        return found.map(\.price)
      }
      let values =
        prices + ["12.345", "-12.345", "12.3400000000000000000001", "1e30", "-1e30", "92233720368547758.071"]
      for value in values.map(decimal) {
        let all = articles.map(\.price)
        #expect(try found(Ware.price < value) == all.filter { $0 < value }, "\(value)")
        #expect(try found(Ware.price <= value) == all.filter { $0 <= value }, "\(value)")
        #expect(try found(Ware.price > value) == all.filter { $0 > value }, "\(value)")
        #expect(try found(Ware.price >= value) == all.filter { $0 >= value }, "\(value)")
        #expect(try found(Ware.price == value) == all.filter { $0 == value }, "\(value)")
        #expect(try found(Ware.price != value) == all.filter { $0 != value }, "\(value)")
        #expect(try found(Ware.price.is(value)) == all.filter { $0 == value }, "\(value)")
        #expect(try found(value < Ware.price) == all.filter { value < $0 }, "\(value)")
        #expect(try found(Ware.price.in([value, 0])) == all.filter { $0 == value || $0 == 0 }, "\(value)")
        #expect(try found(Ware.price.between(value, and: 13)) == all.filter { value <= $0 && $0 <= 13 }, "\(value)")
        #expect(try found(Ware.price.between(-13, and: value)) == all.filter { -13 <= $0 && $0 <= value }, "\(value)")
        for (statement, expected): (Statement<Ware, [Ware]>, (Decimal) -> Bool) in [
          (Ware.read(Ware.price < Parameter("p")), { $0 < value }),
          (Ware.read(Parameter("p") < Ware.price), { value < $0 }),
          (Ware.read(Ware.price <= Parameter("p")), { $0 <= value }),
          (Ware.read(Ware.price == Parameter("p")), { $0 == value }),
        ] {
          let rows = try db.prepare(statement.orderBy(Ware.id)).run(value)
          #expect(rows.map(\.price) == all.filter(expected), "\(value)")
        }
      }
    }
  }
}

private struct Loose {
  var price: Int
}

extension Loose: Sqlable {
  static let tableName = "ware"
  static let price = Column("price", .decimal(scale: 2))
  static let tableLayout = [price]
  func write(to row: inout RowWriter) throws { row.set(Loose.price, price) }
  init(row: ReadRow) throws { price = try row.get(Loose.price) }
}

private enum Overscaled: TableDeclaration {
  static let columns = [Column("price", .decimal(scale: 19))]
}
