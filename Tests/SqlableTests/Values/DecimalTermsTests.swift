import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Terms of decimals: exact arithmetic, and refusal of terms that would not be exact.
@Suite struct DecimalTermsTests {
  private let wares = [
    Ware(1, "12.34", fee: "1.005", discount: "0.5", amount: 3), Ware(2, "0.99", fee: "0.001", amount: 7),
    Ware(3, "-5", fee: "2", discount: "1.01", amount: 2),
  ]

  private func withWares(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Ware.self)
      try Ware.insert(wares).run(db)
      try body(db)
    }
  }

  private func refuses(_ comment: Comment, _ body: () throws -> Void) {
    #expect(sqlError(body) != nil, comment)
  }

  @Test func valuesOfOtherRowsKeepTheScale() throws {
    try withWares { db in
      let second = try Ware.select(Ware.price.nthValue(2).over(orderBy: Ware.id.asc)).orderBy(Ware.id).run(db)
      #expect(second == [nil, wares[1].price, wares[1].price])
      let former = Ware.price.expression * Ware.amount.lag().over(orderBy: Ware.id.asc).expression
      let products = try Ware.select(former.typed(as: Decimal?.self)).orderBy(Ware.id).run(db)
      #expect(products == [nil, wares[1].price * 3, wares[2].price * 7])
    }
  }

  @Test func arithmeticKeepsTheScale() throws {
    try withWares { db in
      func values(_ term: TypedExpression<Decimal>) throws -> [Decimal] {
        let select = Ware.select(term).orderBy(Ware.id)
        let values = try select.run(db)
        #expect(try select.evaluate(over: MemoryTables(wares)) == values)
        let decoded = try Select<Decimal>(json: try select.json(), rules: StatementRules(models: [Ware.self]))
        #expect(try decoded.run(db) == values)
        let named = select.named("terms")
        let read = try Select<Decimal>(json: try named.read().json(), rules: StatementRules(models: [Ware.self]))
        #expect(try read.run(db).sorted() == values.sorted())
        #expect(String(decoding: try named.read().json(), as: UTF8.self).contains(#""columns":["decimal.2"#))
        return values
      }
      let prices = wares.map(\.price)
      #expect(try values(Ware.price + 1) == prices.map { $0 + 1 })
      #expect(try values(1 - Ware.price) == prices.map { 1 - $0 })
      #expect(try values(Ware.price - decimal("0.25") + Ware.price) == prices.map { $0 - decimal("0.25") + $0 })
      #expect(try values(-Ware.price) == prices.map { -$0 })
      #expect(try values(Ware.price * 3) == prices.map { $0 * 3 })
      #expect(try values(3 * Ware.price) == prices.map { $0 * 3 })
      #expect(try values(Ware.price.times(Ware.amount)) == wares.map { $0.price * Decimal($0.amount) })
      #expect(try values(Ware.price % 5) == [decimal("2.34"), decimal("0.99"), 0])
      #expect(try values(Ware.discount.ifNull(0) + Ware.price) == wares.map { ($0.discount ?? 0) + $0.price })
      #expect(try values(Ware.price.greatest(1)) == prices.map { max($0, 1) })
      let cheap = Case.when(Ware.amount > 2, then: Ware.price).else(decimal("9.75"))
      #expect(try values(cheap) == [decimal("12.34"), decimal("0.99"), decimal("9.75")])
      let (one, all) = (Ware.price.sum(), Ware.price.times(Ware.amount).sum())
      let total = wares.map { $0.price * Decimal($0.amount) }.reduce(0, +)
      let sums = try Ware.select(one, all, Ware.price.min(), Ware.discount.max(), Ware.price.count()).run(db).map {
        "\($0)"
      }
      #expect(sums == ["(Optional(8.33), Optional(\(total)), Optional(-5), Optional(1.01), 3)"])
      let running = Ware.select(
        Ware.price.sum().over(orderBy: Ware.id.asc), Ware.price.lag().over(orderBy: Ware.id.asc))
      #expect(try running.run(db).map(\.0) == [decimal("12.34"), decimal("13.33"), decimal("8.33")])
      #expect(try running.run(db).map(\.1) == [nil, decimal("12.34"), decimal("0.99")])
      #expect(try Ware.read(Ware.price + 1 > decimal("13.339")).run(db).map(\.id) == [1])
      let named = Ware.select(Ware.amount, Ware.price.sum()).groupBy(Ware.amount).named("sums")
      let (_, sum) = named.columns
      #expect(try named.read().filter(sum < decimal("0.995")).orderBy(sum).run(db).map(\.1) == [-5, decimal("0.99")])
      #expect(try Ware.read(Ware.price == scalar(Ware.select(Ware.price.max()))).run(db).map(\.id) == [1])
      #expect(try Ware.read(Ware.price.in(Ware.select(Ware.price - 0))).run(db).count == 3)
      #expect(try Ware.select(Ware.price).union(Ware.select(Ware.price + 1)).run(db).count == 6)
      #expect(try Ware.select(Ware.price.units).orderBy(Ware.id).run(db) == [1234, 99, -500])
      #expect(try Ware.select(Ware.price.units.average()).run(db) == [833.0 / 3])
    }
  }

  @Test func updatesAreExact() throws {
    try withWares { db in
      try Ware.updateAll(Ware.price.set(to: Ware.price + decimal("0.1")), Ware.discount.set(to: Ware.price * 2)).run(db)
      #expect(try Ware.read().orderBy(Ware.id).run(db).map(\.price) == wares.map { $0.price + decimal("0.1") })
      #expect(try Ware.read().orderBy(Ware.id).run(db).map(\.discount) == wares.map { $0.price * 2 })
      let added = try db.prepare(Ware.updateAll(Ware.price.set(to: Ware.price + Parameter("more"))))
      try added.run(decimal("1.9"))
      #expect(try Ware.read().orderBy(Ware.id).run(db).map(\.price) == wares.map { $0.price + 2 })
      expectSqlError { try added.run(decimal("0.001")) }
      try Ware(1, "0.66").insert().onConflict(Ware.id, set: Ware.price.set(to: Ware.price + Ware.price.excluded)).run(
        db)
      #expect(try Ware.read(Ware.id == 1).run(db).first?.price == 15)
    }
  }

  @Test func inexactTermsAreRefused() throws {
    try withWares { db in
      let (price, fee, amount) = (Ware.price.column, Ware.fee.column, Ware.amount.column)
      let terms: [SqlExpression] = [
        price * price, price / 2, price / amount, price % fee, price + fee, price - fee, price + amount,
        amount + price, price * decimal("1.5"), price * 1.5, price + 1, price.average(), price.total(),
        price.groupConcat(), price.concatenated("€"), price.like("1%"), price.coalesce(fee), price.ifNull(fee),
        price.ifNull(amount), amount.ifNull(price), price.least(fee), price.cast(to: Int.self),
        price.cast(to: String.self),
        price.jsonGroupArray(), Ware.price.hex().expression,
        Case.when(Ware.id > 0, then: price).else(fee), Case.when(Ware.id > 0, then: amount).else(price),
        amount.units, TypedExpression(decimal("1.5")).expression + price,
      ]
      for (index, term) in terms.enumerated() {
        refuses("\(index)") { _ = try Ware.select(term.typed(as: Double?.self)).run(db) }
        refuses("\(index)") { _ = try Ware.read(term > 0).run(db) }
      }
      let conditions: [SqlExpression] = [
        price == fee, price < amount, amount != price, price.in(Ware.select(Ware.fee)),
        amount.in(Ware.select(Ware.price)), Ware.price == scalar(Ware.select(Ware.fee)), price.between(1, and: 2),
        price == "12.34",
      ]
      for (index, condition) in conditions.enumerated() {
        refuses("\(index)") { _ = try Ware.read(condition).run(db) }
      }
      for assignment in [
        price.set(to: fee), price.set(to: amount), amount.set(to: price), price.set(to: amount * 2),
        price.set(to: price.units), price.set(to: price * price),
      ] { expectSqlError { try Ware.updateAll(assignment).run(db) } }
      expectSqlError { _ = try Ware.select(Ware.price).union(Ware.select(Ware.fee)).run(db) }
      expectSqlError { _ = try Ware.select(price.typed(as: Int.self)).union(Ware.select(Ware.amount)).run(db) }
      let error = expectInvalidStatement { _ = try Ware.read(price == fee).run(db) }
      #expect(
        error?.message == "a decimal can't be combined with a number of another scale or without a scale; use `units`")
      #expect(error?.table == "ware")
      #expect(error?.column == "price")
      let rows = try Ware.read().orderBy(Ware.id).run(db)
      #expect(rows == wares)
    }
  }

  @Test func termsOfDocumentsAreChecked() throws {
    try withWares { db in
      for text in [
        #"{"+":[{"column":"price"},{"column":"fee"}]}"#, #"{"*":[{"column":"price"},{"column":"price"}]}"#,
        #"{"function":"avg","arguments":[{"column":"price"}]}"#, #"{"/":[{"column":"price"},2]}"#,
      ] {
        let term = try JSONDecoder().decode(SqlExpression.self, from: Data(text.utf8))
        expectInvalidStatement("\(text)") { _ = try Ware.select(term.typed(as: Double.self)).run(db) }
      }
      let half = try JSONDecoder().decode(
        SqlExpression.self, from: Data(#"{">":[{"+":[{"column":"price"},1]},1234]}"#.utf8))
      #expect(try Ware.read(half).run(db).map(\.id) == [1])
    }
  }

  @Test func comparisonsWithDecimalsUseAnIndex() throws {
    try withWares { db in
      let conditions = [Ware.price < decimal("12.345"), Ware.price == decimal("12.34"), Ware.price == decimal("1.234")]
      for condition in conditions {
        let plan = try Ware.read(condition).explain(db)
        #expect("\(plan)".contains("USING INDEX ware_price"), "\(plan)")
      }
    }
  }

  @Test func randomDecimalsComputeAsInSwift() throws {
    var source = SeededGenerator(seed: SeededGenerator.seed)
    func random(_ digits: Int) -> Decimal {
      let text = "\(Int.random(in: -99_999...99_999, using: &source))"
      return Decimal(sign: .plus, exponent: -Int.random(in: 0...digits, using: &source), significand: decimal(text))
    }
    let wares = (1...200).map { id in
      var ware = Ware(id, "0", amount: Int.random(in: -9...9, using: &source))
      (ware.price, ware.fee) = (random(2), random(3))
      ware.discount = source.chance(30) ? nil : random(2)
      return ware
    }
    try withDatabase { db in
      try db.createTable(Ware.self)
      try Ware.insert(wares).run(db)
      #expect(try Ware.read().orderBy(Ware.id).run(db) == wares)
      let sorted = wares.sorted { ($0.price, $0.id) < ($1.price, $1.id) }
      #expect(try Ware.read().orderBy(Ware.price.asc, Ware.id.asc).run(db) == sorted)
      for _ in 0..<100 {
        let (value, other) = (random(4), random(2))
        let (found, sum) = try #require(
          try Ware.select(Ware.price.count(), Ware.price.sum()).filter(Ware.price + other < value).run(db).first)
        let expected = wares.filter { $0.price + other < value }
        #expect(found == expected.count)
        #expect(sum == (expected.isEmpty ? nil : expected.map(\.price).reduce(0, +)))
        let products = try Ware.select(Ware.price.times(Ware.amount) - other).filter(Ware.fee >= value).orderBy(Ware.id)
          .run(db)
        #expect(products == wares.filter { $0.fee >= value }.map { $0.price * Decimal($0.amount) - other })
        let rest = try Ware.read(Ware.discount <= value || Ware.discount == other).orderBy(Ware.id).run(db)
        #expect(rest == wares.filter { $0.discount.map { $0 <= value || $0 == other } ?? false })
      }
    }
  }
}
