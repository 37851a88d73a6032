import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Keys of type `Int` whose property is `Int?`: nil until the struct is stored.
@Suite struct IntegerKeyTests {
  private struct Product: Sqlable {
    static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
    static let name = column("name", String.self)
    static let stock = column("stock", Int.self)
    static let tableLayout = [id.column, name.column, stock.column]
    var id: Int?
    var name: String
    var stock: Int?

    init(id: Int? = nil, name: String, stock: Int? = 0) { (self.id, self.name, self.stock) = (id, name, stock) }
    init(row: ReadRow) throws {
      id = try row.get(Product.id)
      name = try row.get(Product.name)
      stock = try row.get(Product.stock)
    }
    func write(to row: inout RowWriter) throws {
      row.set(Product.id, id)
      row.set(Product.name, name)
      row.set(Product.stock, stock)
    }
  }

  private struct Order: Sqlable {
    static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
    static let productId = column("product_id", Int.self, ForeignKey<Product>())
    static let tableLayout = [id.column, productId.column]
    var id: Int?
    var productId: Int

    init(productId: Int) { self.productId = productId }
    init(row: ReadRow) throws { (id, productId) = (try row.get(Order.id), try row.get(Order.productId)) }
    func write(to row: inout RowWriter) throws {
      row.set(Order.id, id)
      row.set(Order.productId, productId)
    }
  }

  @Test func anOptionalKeyPropertyWorksAsAnIntInStatements() throws {
    try withDatabase { db in
      try db.createTables(Product.self, Order.self)
      #expect(Product(name: "a").insert().sql.hasPrefix(#"INSERT INTO "product" ("name", "stock") VALUES"#))
      let ids = try Product.insert(["a", "b", "c"].map { Product(name: $0) }).run(db)
      #expect(ids == [1, 2, 3])
      let second = try #require(try Product.byId(2).run(db))
      #expect(second.id == 2)
      #expect(try Product.read().filter(Product.id == second.id).run(db).map(\.name) == ["b"])
      #expect(try Product.read().filter(Product.id != second.id).run(db).map(\.name) == ["a", "c"])
      let unsaved = Product(name: "x")
      let none = Product.read().filter(Product.id == unsaved.id)
      #expect(none.sql.hasSuffix(#"WHERE "id" IS NULL"#))
      #expect(try none.run(db).isEmpty)
      let inserted = Order.insert(Order.productId, from: Product.select(Product.id).filter(Product.name != "b"))
      #expect(try inserted.run(db) == 2)
      let pairs = try Order.join(Product.self, on: Order.productId == Product.id).orderBy(Order.id).run(db)
      #expect(pairs.map(\.1.name) == ["a", "c"])
      let selected: [Int] = try Product.select(Product.id).orderBy(Product.id).run(db)
      #expect(selected == [1, 2, 3])
      var changed = second
      changed.name = "new"
      #expect(try changed.update().run(db) == 1)
      #expect(try changed.save().run(db) == 2)
      expectMisuse { try unsaved.update().run(db) }
    }
  }

  @Test func nilInANonKeyColumnIsRefused() throws {
    try withDatabase { db in
      try db.createTable(Product.self)
      let error = sqlError { try Product(name: "x", stock: nil).insert().run(db) }
      #expect(error?.isEncoding == true)
      #expect(error?.column == "stock")
      #expect(error?.message == "product.stock takes INTEGER, but was given nil")
      #expect(try Product.count().run(db) == 0)
    }
  }
}
