import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Associations by foreign keys of two columns.
@Suite struct CompositeAssociationTests {
  private func withOrders(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try createOrders(db)
      try body(db)
    }
  }

  private let orders = ShopOrder.read().orderBy(ShopOrder.shop).orderBy(ShopOrder.number)

  @Test func rowsComeWithTheRowsThatReferenceAllColumns() throws {
    try withOrders { db in
      let rows = try orders.including(ShopOrder.lines.orderBy(OrderLine.id), ShopOrder.lines.count()).run(db)
      #expect(rows.map { $0.1.map(\.id) } == [[1, 2], [], [3]])
      #expect(rows.map(\.2) == [2, 0, 1])
    }
  }

  @Test func aNullInTheKeyMatchesNothing() throws {
    try withOrders { db in
      let lines = OrderLine.read().orderBy(OrderLine.id)
      let rows = try lines.including(OrderLine.placed).run(db)
      let (north, south) = (ShopOrder("north", 1), ShopOrder("south", 1))
      #expect(rows.map(\.1) == [north, north, south, nil, nil])
      #expect(try lines.whereAny(OrderLine.placed).run(db).map(\.id) == [1, 2, 3])
      #expect(try lines.whereNone(OrderLine.placed).run(db).map(\.id) == [4, 5])
    }
  }

  @Test func rowsAreFilteredByRowsThatReferenceAllColumns() throws {
    try withOrders { db in
      let dear = ShopOrder.lines.filter(OrderLine.price > 10)
      let some = orders.whereAny(dear)
      #expect(
        some.sql == """
          SELECT "number", "shop" FROM "shop_order" WHERE ("shop", "number") IN (SELECT "order_line"."shop", \
          "order_line"."order" FROM "order_line" WHERE "order_line"."price" > ? AND "order_line"."shop" IS NOT NULL \
          AND "order_line"."order" IS NOT NULL) ORDER BY "shop", "number"
          """)
      let found = try some.run(db)
      #expect(found == [ShopOrder("north", 1), ShopOrder("south", 1)])
      #expect(try orders.whereNone(dear).run(db) == [ShopOrder("north", 2)])
      #expect(try ShopOrder.read().filter(exists(dear)).count(db) == 2)
      let busy = orders.filter(ShopOrder.lines.count() > 1)
      #expect(try busy.run(db) == [ShopOrder("north", 1)])
    }
  }

  @Test func aggregatesAndLimitsApplyToEachParentRow() throws {
    try withOrders { db in
      let sum = ShopOrder.lines.aggregate(OrderLine.price.sum())
      let rows = try orders.including(sum, ShopOrder.lines.orderBy(OrderLine.price, .desc).limit(1)).run(db)
      #expect(rows.map(\.1) == [30, nil, 40])
      #expect(rows.map { $0.2.map(\.id) } == [[2], [], [3]])
      #expect(try ShopOrder.select(sum).orderBy(ShopOrder.shop).orderBy(ShopOrder.number).run(db) == [30, nil, 40])
    }
  }

  @Test func aJoinTableReferencesAKeyOfTwoColumns() throws {
    try withOrders { db in
      let rows = try orders.including(ShopOrder.tags.orderBy(OrderTag.name), ShopOrder.tags.count()).run(db)
      #expect(rows.map { $0.1.map(\.name) } == [["gift", "large"], [], ["gift"]])
      #expect(rows.map(\.2) == [2, 0, 1])
      let gifts = orders.whereAny(ShopOrder.tags.filter(OrderTag.name == "gift"))
      #expect(try gifts.run(db) == [ShopOrder("north", 1), ShopOrder("south", 1)])
    }
  }

  @Test func nestedRowsAreIncludedByAllColumns() throws {
    try withOrders { db in
      let rows = try orders.including(ShopOrder.lines.orderBy(OrderLine.id).including(OrderLine.placed)).run(db)
      #expect(rows.map { $0.1.map(\.0.id) } == [[1, 2], [], [3]])
      #expect(rows.flatMap { row in row.1.map { $0.1 == row.0 } } == [true, true, true])
      let given = try orders.including(OrderLine.read(), by: [OrderLine.shop, OrderLine.order]).run(db)
      #expect(given.map(\.1.count) == [2, 0, 1])
    }
  }

  /// SQLite uses both columns of the index, although the first column of the key is a number.
  @Test(arguments: [1, 40]) func theReadUsesTheIndexOfBothColumns(count: Int) throws {
    try withOrders { db in
      if count > 1 { try ShopOrder.insert((3...count).map { ShopOrder("east", $0) }).run(db) }
      let reads = try tracedReads(db) { _ = try orders.including(ShopOrder.lines).run(db) }
      #expect(reads.last?.hasSuffix(#"("shop", "order") IN (SELECT value, value2 FROM sqlable_values(?))"#) == true)
      let plan = "EXPLAIN QUERY PLAN " + (reads.last ?? "").replacing("(?)", with: "(NULL)")
      let first = try db.query(SQL(verbatim: plan), as: DynamicRow.self).first?.values.last
      #expect(first == .text("SEARCH order_line USING INDEX order_line_order_shop (order=? AND shop=?)"))
      let term = ShopOrder.select(ShopOrder.lines.count())
      #expect(
        try term.explain(db).steps.last?.detail
          == "SEARCH order_line USING COVERING INDEX order_line_order_shop (order=? AND shop=?)")
    }
  }

  @Test func rowsAreGroupedByTheCollationOfEachColumn() throws {
    try withDatabase { db in
      try db.createTable(Label.self)
      try Label.insert([
        Label(id: 1, text: "a", number: 1),
        Label(id: 2, text: "A", number: 1),
        Label(id: 3, text: "a", number: 2),
        Label(id: 4, text: "b", number: 1),
      ]).run(db)
      let same = Label.toMany(Label.self, by: [Label.text, Label.number], of: [Label.text, Label.number])
      let rows = try Label.read().orderBy(Label.id).including(same, same.count()).run(db)
      #expect(rows.map { $0.1.count } == [2, 2, 1, 1])
      #expect(rows.map(\.2) == [2, 2, 1, 1])
      #expect(try Label.select(same.count()).orderBy(Label.id).run(db) == [2, 2, 1, 1])
      let some = Label.read().whereAny(same.filter(Label.id == 2))
      #expect(try some.run(db).map(\.id) == [1, 2])
      #expect(some.sql.contains(#"AND ("number", "text") IN (SELECT"#))
    }
  }

  @Test func aRemoteDatabaseReceivesTheKeysAsJSON() async throws {
    let db = try SqliteDatabase.inMemory()
    try createOrders(db)
    let rows = try await orders.including(ShopOrder.lines, ShopOrder.lines.count()).run(SameProcess(db: db))
    #expect(rows.map(\.1.count) == [2, 0, 1])
    #expect(rows.map(\.2) == [2, 0, 1])
  }

  @Test func aKeyThatContradictsTheDeclarationsThrows() throws {
    let swapped = ShopOrder.toMany(
      OrderLine.self, by: [OrderLine.shop, OrderLine.order], of: [ShopOrder.number, ShopOrder.shop])
    let short = ShopOrder.toMany(OrderLine.self, by: [OrderLine.shop, OrderLine.order], of: [ShopOrder.shop])
    let undeclared = ShopOrder.toMany(OrderLine.self, by: [OrderLine.shop, OrderLine.price])
    let half = ShopOrder.toMany(OrderLine.self, by: OrderLine.shop)
    let empty = ShopOrder.toMany(OrderLine.self, by: [], of: [])
    try withOrders { db in
      func message(_ association: Association<ShopOrder, OrderLine, [OrderLine]>) -> String? {
        sqlError { _ = try ShopOrder.read().including(association).run(db) }?.message
      }
      #expect(message(swapped) == "columns shop, order do not reference shop_order (number, shop)")
      #expect(
        message(short)
          == "the foreign key (shop, order) and the key (shop) of shop_order must have the same number of columns")
      #expect(
        message(undeclared)
          == "columns shop, price are not declared as ForeignKeys; pass the referenced columns as `of`")
      #expect(
        message(half) == "column shop is not declared as a ForeignKey; pass the referenced column as `of`")
      #expect(message(empty) == "the foreign key of an association needs at least one column")
    }
  }

  @Test func aDocumentNamesAllColumnsOfTheKey() throws {
    try withOrders { db in
      let known = orders.including(ShopOrder.lines, ShopOrder.tags)
      let json = try known.json()
      #expect(
        String(decoding: json, as: UTF8.self) == """
          {"read":{"from":"shop_order","including":[{"from":"order_line","referringBy":["shop","order"]},\
          {"from":"order_tag","through":{"from":["shop","order"],"table":"tagged_order","to":"tag"}}],\
          "orderBy":[{"asc":{"column":"shop"}},{"asc":{"column":"number"}}]},"sqlable":1}
          """)
      let decoded = try AssociatedQuery(json: json, like: known)
      #expect(try decoded.run(db).map { [$0.1.count, $0.2.count] } == [[2, 2], [0, 0], [1, 1]])
      let text = String(decoding: json, as: UTF8.self)
      let other = text.replacing(#""referringBy":["shop","order"]"#, with: #""referringBy":"shop""#)
      expectInvalidStatement { _ = try AssociatedQuery(json: Data(other.utf8), like: known) }
    }
  }
}
