import Foundation
import Sqlable
import Testing

/// Tests that a model with macros and its handwritten twin have the same tables, statements and rows.
@Suite struct TwinTests {
  private func schema(_ models: any Sqlable.Type...) throws -> [String] {
    try withDatabase { db in
      for model in models { try db.createTable(model) }
      return try db.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid", as: String.self)
    }
  }

  @Test func twinsDeclareTheSameTables() throws {
    let drawn = try schema(Drawn.Maker.self, Drawn.Product.self)
    #expect(drawn == (try schema(Written.Maker.self, Written.Product.self)))
    #expect(
      drawn.first == #"CREATE TABLE "maker" ("code" TEXT PRIMARY KEY NOT NULL, "full_name" TEXT NOT NULL UNIQUE)"#)
    #expect(
      drawn.first { $0.contains("\"products\" (\"id\"") } == """
        CREATE TABLE "products" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "sku" TEXT NOT NULL, \
        "name" TEXT NOT NULL COLLATE NOCASE, "text" TEXT NOT NULL, "color" TEXT NOT NULL DEFAULT 'black', \
        "state" TEXT NOT NULL DEFAULT 'new', "price" REAL NOT NULL CHECK (price >= 0), \
        "maker_code" TEXT NOT NULL REFERENCES "maker" ("code") ON DELETE CASCADE, \
        "maker_name" TEXT REFERENCES "maker" ("full_name") ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED, \
        "parent_id" INTEGER REFERENCES "products" ("id") ON DELETE SET NULL, \
        "doubled" REAL GENERATED ALWAYS AS (price * 2) STORED, \
        "a label" TEXT NOT NULL GENERATED ALWAYS AS (name || '!') VIRTUAL, "sold" TEXT, \
        "home_street" TEXT NOT NULL, "home_town" TEXT COLLATE NOCASE, "w_street" TEXT, "w_town" TEXT COLLATE NOCASE, \
        "size" TEXT NOT NULL, "tags" TEXT NOT NULL, "row" INTEGER NOT NULL, "default" INTEGER, \
        UNIQUE ("sku", "name"), CHECK (length(sku) > 1)) STRICT
        """)
    #expect(drawn.contains(#"CREATE INDEX "by_price" ON "products" ("price" DESC)"#))
  }

  @Test func twinsMakeTheSameStatements() throws {
    let drawn = Drawn.Product(
      sku: "ab", name: "Bicycle", text: "fast", price: 5, makerCode: "n", home: .init(street: "a"),
      size: Size(width: 1, height: 2))
    let written = Written.Product(
      sku: "ab", name: "Bicycle", text: "fast", price: 5, makerCode: "n", home: .init(street: "a"),
      size: Size(width: 1, height: 2))
    #expect(drawn.insert().sql == written.insert().sql)
    #expect(drawn.insert().bindings == written.insert().bindings)
    #expect(drawn.save().sql == written.save().sql)
    #expect(Drawn.Product.read().sql == Written.Product.read().sql)
    let condition = Drawn.Product.id > 1 && Drawn.Product.home[Drawn.Place.city] == "Oslo"
    let other = Written.Product.id > 1 && Written.Product.home[Written.Place.city] == "Oslo"
    #expect(Drawn.Product.read().filter(condition).sql == Written.Product.read().filter(other).sql)
  }

  @Test func twinsReadEachOthersRows() throws {
    try withDatabase { db in
      try db.createTables(Drawn.Maker.self, Drawn.Product.self)
      #expect(try Schema(Written.Maker.self, Written.Product.self).differences(db).isEmpty)
      try Drawn.Maker(code: "n", fullName: "Norco").insert().run(db)
      let product = Drawn.Product(
        sku: "ab", name: "Bicycle", text: "fast", color: "red", state: .used, price: 5, makerCode: "n",
        makerName: "Norco", soldAt: Date(timeIntervalSince1970: 1.5), home: .init(street: "a", city: "Oslo"),
        size: Size(width: 1, height: 2), tags: ["new"], row: 7)
      let id = try product.insert().run(db)
      let written = try #require(try Written.Product.byId(id).run(db))
      #expect(written.sku == "ab")
      #expect(written.state == .used)
      #expect(written.doubled == 10)
      #expect(written.label == "Bicycle!")
      #expect(written.home == Written.Place(street: "a", city: "Oslo"))
      #expect(written.work == nil)
      #expect(written.size == Size(width: 1, height: 2))
      #expect(written.tags == ["new"])
      #expect(written.row == 7)
      var again = written
      (again.id, again.sku, again.work) = (nil, "cd", Written.Place(street: "w"))
      try again.insert().run(db)
      let drawn = try #require(try Drawn.Product.byId(id + 1).run(db))
      #expect(drawn.sku == "cd")
      #expect(drawn.work == Drawn.Place(street: "w"))
      #expect(drawn.isSold)
      #expect(drawn.soldAt == Date(timeIntervalSince1970: 1.5))
      #expect(!drawn.isDirty)
      #expect(drawn.color == "red")
      #expect(try Drawn.Product.read().filter(Drawn.Product.matches(.words("bicycles"))).run(db).count == 2)
    }
  }

  @Test func aKeyIsAnIntInQueries() throws {
    try withDatabase { db in
      try db.createTable(Drawn.Maker.self)
      try db.createTable(Drawn.Product.self)
      let ids: [Int] = try Drawn.Product.select(Drawn.Product.id).run(db).map { $0 }
      #expect(ids == [])
      #expect(
        Drawn.Product(
          sku: "", name: "", text: "", price: 0, makerCode: "", home: .init(street: ""), size: Size(width: 0, height: 0)
        ).id == nil)
    }
  }
}
