import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Product {
  var sku: String
  var name: String
  var price: Double
  var amount: Int
  var barcode: String?
  var total: Double?
}

extension Product: Sqlable {
  static let tableName = "products"
  static let sku = Column("sku", .text, PrimaryKey())
  static let name = Column("name", .text, Collate.nocase)
  static let price = Column("price", .real, Check("price >= 0"))
  static let amount = Column("amount", .integer, Default(1))
  static let barcode = Column("barcode", .nullable(.text), Unique())
  static let total = Column("total", .real, Generated("price * amount"))
  static let tableLayout = [sku, name, price, amount, barcode, total]
  static let tableOptions: [TableOption] = [.strict]
  static let tableIndexes = [Index(name), Index(price.desc, name, unique: true)]

  func write(to row: inout RowWriter) throws {
    row.set(Product.sku, sku)
    row.set(Product.name, name)
    row.set(Product.price, price)
    row.set(Product.amount, amount)
    row.set(Product.barcode, barcode)
  }

  init(row: ReadRow) throws {
    sku = try row.get(Product.sku)
    name = try row.get(Product.name)
    price = try row.get(Product.price)
    amount = try row.get(Product.amount)
    barcode = try row.get(Product.barcode)
    total = try row.get(Product.total)
  }
}

private struct Branch {
  var country: String
  var number: Int
}

extension Branch: Sqlable {
  static let country = column("country", String.self)
  static let number = column("number", Int.self)
  static let tableLayout = [country.column, number.column]
  static let tableConstraints = [PrimaryKeys(Branch.country, Branch.number.desc)]

  func write(to row: inout RowWriter) throws {
    row.set(Branch.country, country)
    row.set(Branch.number, number)
  }

  init(row: ReadRow) throws {
    country = try row.get(Branch.country)
    number = try row.get(Branch.number)
  }
}

private struct Employee {
  var id: Int?
  var country: String
  var branch: Int
  var managerId: Int?
}

extension Employee: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let country = column("country", String.self)
  static let branch = column("branch", Int.self)
  static let managerId = column("manager_id", Int?.self, ForeignKey<Employee>(onDelete: .setNull))
  static let tableLayout = [id.column, country.column, branch.column, managerId.column]
  static let tableConstraints: [TableConstraint] = [
    ForeignKeys([Employee.country, Employee.branch], to: Branch.self, [Branch.country, Branch.number]),
    Check("manager_id <> id"),
  ]

  func write(to row: inout RowWriter) throws {
    row.set(Employee.id, id)
    row.set(Employee.country, country)
    row.set(Employee.branch, branch)
    row.set(Employee.managerId, managerId)
  }

  init(row: ReadRow) throws {
    id = try row.get(Employee.id)
    country = try row.get(Employee.country)
    branch = try row.get(Employee.branch)
    managerId = try row.get(Employee.managerId)
  }
}

private struct Frame: Equatable {
  var id: Int
  var color: String?
  var size: Int
}

extension Frame: Sqlable {
  static let id = Column("id", .integer, PrimaryKey(onConflict: .replace))
  static let color = Column("color", .text, Default("black"), NotNull(onConflict: .replace, name: "colored"))
  static let size = Column("size", .integer, Check("size > 0", name: "positive"))
  static let tableLayout = [id, color, size]
  static let tableConstraints = [Unique(Frame.color, Frame.size, onConflict: .ignore)]

  func write(to row: inout RowWriter) throws {
    row.set(Frame.id, id)
    row.set(Frame.color, color)
    row.set(Frame.size, size)
  }

  init(row: ReadRow) throws {
    id = try row.get(Frame.id)
    color = try row.get(Frame.color)
    size = try row.get(Frame.size)
  }
}

private struct Offer {
  var id: Int
  var name: String
  var price: Double
  var amount: Double
  var soldAt: Date?
}

extension Offer: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let price: TypedColumn<Offer, Double> = column("price", Double.self, Check(Offer.price >= 0))
  static let amount = column("amount", Double.self)
  static let soldAt = column("sold_at", Date?.self)
  static let total = column("total", Double.self, Generated(Offer.price * Offer.amount, stored: true))
  static let tableLayout = [id.column, name.column, price.column, amount.column, soldAt.column, total.column]
  static let tableConstraints = [Check(Offer.name.in(["bell", "bike"]), name: "known")]
  static let tableIndexes = [
    Index(name.lowercase(), soldAt.desc),
    Index(name, unique: true, where: soldAt.isNull),
    Index(total.desc, where: amount == 1),
  ]

  func write(to row: inout RowWriter) throws {
    row.set(Offer.id, id)
    row.set(Offer.name, name)
    row.set(Offer.price, price)
    row.set(Offer.amount, amount)
    row.set(Offer.soldAt, soldAt)
  }

  init(row: ReadRow) throws {
    id = try row.get(Offer.id)
    name = try row.get(Offer.name)
    price = try row.get(Offer.price)
    amount = try row.get(Offer.amount)
    soldAt = try row.get(Offer.soldAt)
    row.skip(Offer.total)
  }
}

private struct Visit {
  var id: Int?
  var at: Date?
  var token: String?
}

extension Visit: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let at = column("at", Date.self, as: .date(.iso8601), Default(.now))
  static let token = column("token", String.self, Default(sql: "lower(hex(randomblob(16)))"))
  static let tableLayout = [id.column, at.column, token.column]

  func write(to row: inout RowWriter) throws {
    row.set(Visit.id, id)
    if let at { row.set(Visit.at, at) } else { row.skip(Visit.at) }
    if let token { row.set(Visit.token, token) } else { row.skip(Visit.token) }
  }

  init(row: ReadRow) throws {
    id = try row.get(Visit.id)
    at = try row.get(Visit.at)
    token = try row.get(Visit.token)
  }
}

struct ColorCount: Sqlable {
  let color: String
  let count: Int

  static let color = Column("color", .text, PrimaryKey())
  static let count = Column("count", .integer)
  static let tableLayout = [color, count]
  static let tableOptions: [TableOption] = [
    .view(View(Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color)))
  ]

  init(row: ReadRow) throws {
    color = try row.get(ColorCount.color)
    count = try row.get(ColorCount.count)
  }
}

@Suite struct SchemaGuide {
  @Test(.needs(37, "a STRICT table")) func columnOptionsBecomeSQL() throws {
    try withDatabase { db in
      let change = try db.createTable(Product.self)
      #expect(change.createdTable)
      #expect(change.addedIndexes == ["products_name", "products_price_desc_name"])
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", as: String.self) == [
          """
          CREATE TABLE "products" ("sku" TEXT PRIMARY KEY NOT NULL, "name" TEXT NOT NULL COLLATE NOCASE, \
          "price" REAL NOT NULL CHECK (price >= 0), "amount" INTEGER NOT NULL DEFAULT 1, "barcode" TEXT UNIQUE, \
          "total" REAL NOT NULL GENERATED ALWAYS AS (price * amount) VIRTUAL) STRICT
          """,
          #"CREATE INDEX "products_name" ON "products" ("name")"#,
          #"CREATE UNIQUE INDEX "products_price_desc_name" ON "products" ("price" DESC, "name")"#,
        ])
      try Product(sku: "a", name: "Bell", price: 4.5, amount: 2).insert().run(db)
      let bell = try #require(try Product.read().filter(Product.name == "BELL").first().run(db))
      #expect(bell.total == 9)
      #expect(try bell.update().run(db) == 1)
      let error = sqlError { _ = try Product(sku: "b", name: "Lamp", price: -1, amount: 1).insert().run(db) }
      #expect(error?.kind == .constraint(.check))
    }
  }

  @Test func viewsAndTriggersAreCreatedAndRun() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self, ColorCount.self)
      let popular = try ColorCount.read(ColorCount.count > 1).run(db)
      #expect(popular.isEmpty)
      let trigger = Trigger(
        "bicycle_repainted", after: .update(of: Bicycle.color), on: Bicycle.self,
        when: Bicycle.color.new != Bicycle.color.old,
        run: Person.update(Person.name.set(to: Bicycle.color.new)).filter(Person.id == Bicycle.ownerId.new))
      try trigger.ifNotExists().run(db)
      let schema = Schema(Person.self, Bicycle.self).adding(trigger)
      try schema.create(db)  // creates it if it is missing, and throws if the database has another of its name
      try schema.plan(db).apply(db)  // drops the other and creates it
      #expect(
        try db.schema().views.first?.sql.text
          == #"""
          CREATE VIEW "color_count" ("color", "count") AS SELECT "color", count("id") FROM "bicycle" GROUP BY "color"
          """#)
      #expect(
        ColorCount.read(ColorCount.count > 1).sql == #"SELECT "color", "count" FROM "color_count" WHERE "count" > ?"#)
      #expect(
        trigger.ifNotExists().sql == """
          CREATE TRIGGER IF NOT EXISTS "bicycle_repainted" AFTER UPDATE OF "color" ON "bicycle" FOR EACH ROW \
          WHEN "new"."color" <> "old"."color" \
          BEGIN UPDATE "person" SET "name" = "new"."color" WHERE "id" = "new"."owner_id"; END
          """)
    }
  }

  @Test func compositeKeysAndReferencesBecomeSQL() throws {
    try withDatabase { db in
      try db.createTable(Employee.self)
      try db.createTable(Branch.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE name IN ('employee', 'branch')", as: String.self) == [
          """
          CREATE TABLE "employee" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "country" TEXT NOT NULL, \
          "branch" INTEGER NOT NULL, "manager_id" INTEGER REFERENCES "employee" ("id") ON DELETE SET NULL, \
          CHECK (manager_id <> id), \
          FOREIGN KEY ("country", "branch") REFERENCES "branch" ("country", "number"))
          """,
          """
          CREATE TABLE "branch" ("country" TEXT NOT NULL, "number" INTEGER NOT NULL, \
          PRIMARY KEY ("country", "number" DESC))
          """,
        ])
      try Branch(country: "NO", number: 1).insert().run(db)
      let boss = try Employee(country: "NO", branch: 1).insert().run(db)
      let clerk = try Employee(country: "NO", branch: 1, managerId: boss).insert().run(db)
      let error = sqlError { _ = try Employee(country: "NO", branch: 2).insert().run(db) }
      #expect(error?.kind == .constraint(.foreignKey))
      try Employee.delete(Employee.id == boss).run(db)
      #expect(try Employee.byId(clerk).run(db).map { $0.managerId == nil } == true)
    }
  }

  @Test func constraintsResolveConflicts() throws {
    try withDatabase { db in
      try db.createTable(Frame.self)
      #expect(
        try db.definition(of: "frame") == """
          CREATE TABLE "frame" ("id" INTEGER PRIMARY KEY ON CONFLICT REPLACE, \
          "color" TEXT CONSTRAINT "colored" NOT NULL ON CONFLICT REPLACE DEFAULT 'black', \
          "size" INTEGER NOT NULL CONSTRAINT "positive" CHECK (size > 0), \
          UNIQUE ("color", "size") ON CONFLICT IGNORE)
          """)
      try Frame(id: 1, color: "red", size: 52).insert().run(db)  // 1
      try Frame(id: 1, color: nil, size: 54).insert().run(db)  // 1: a black frame replaces the red one
      try Frame(id: 2, color: "black", size: 54).insert().run(db)  // 0: there is one
      #expect(try Frame.read().run(db) == [Frame(id: 1, color: "black", size: 54)])
    }
  }

  @Test func typedChecksGeneratedColumnsAndIndexesBecomeSQL() throws {
    try withDatabase { db in
      try db.createTable(Offer.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema", as: String.self) == [
          """
          CREATE TABLE "offer" ("id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL, \
          "price" REAL NOT NULL CHECK ("price" >= 0.0), "amount" REAL NOT NULL, "sold_at" REAL, \
          "total" REAL NOT NULL GENERATED ALWAYS AS ("price" * "amount") STORED, \
          CONSTRAINT "known" CHECK ("name" IN ('bell', 'bike')))
          """,
          #"CREATE INDEX "offer_lower_name_sold_at_desc" ON "offer" (lower("name"), "sold_at" DESC)"#,
          #"CREATE UNIQUE INDEX "offer_name_where_sold_at_null" ON "offer" ("name") WHERE "sold_at" IS NULL"#,
          #"CREATE INDEX "offer_total_desc_where_amount" ON "offer" ("total" DESC) WHERE "amount" = 1.0"#,
        ])
      func uses(_ filter: SqlExpression, _ index: String) throws -> Bool {
        try Offer.read().filter(filter).explain(db).steps.map(\.detail).joined().contains("INDEX \(index) ")
      }
      #expect(try uses(Offer.name.lowercase() == "bell", "offer_lower_name_sold_at_desc"))
      #expect(try uses(Offer.name == "bell" && Offer.soldAt.isNull, "offer_name_where_sold_at_null"))
      #expect(try !uses(Offer.name == "bell", "offer_name_where_sold_at_null"))
      #expect(try uses(Offer.total > 5 && Offer.amount == 1, "offer_total_desc_where_amount"))
      #expect(try !uses(Offer.total > 5 && Offer.amount == 2, "offer_total_desc_where_amount"))
      try Offer(id: 1, name: "bell", price: 2, amount: 3).insert().run(db)
      let error = sqlError { _ = try Offer(id: 2, name: "bell", price: 2, amount: 3).insert().run(db) }
      #expect(error?.kind == .constraint(.unique))
      #expect(try Offer.count(Offer.total == 6).run(db) == 1)
    }
  }

  @Test func unneededSchemaPartsAreDropped() throws {
    try withDatabase { db in
      #expect(Bicycle.dropTable().sql == #"DROP TABLE main."bicycle""#)
      #expect(Bicycle.dropTable(named: "archive").ifExists().sql == #"DROP TABLE IF EXISTS main."archive""#)
      #expect(Bicycle.dropIndex(Index(Bicycle.color)).ifExists().sql == #"DROP INDEX IF EXISTS main."bicycle_color""#)
      #expect(DropStatement.view("names").ifExists().sql == #"DROP VIEW IF EXISTS main."names""#)
      try db.createTable(Bicycle.self)
      try Bicycle.dropTable().run(db)
      try Bicycle.dropTable(named: "archive").ifExists().run(db)
      try Bicycle.dropIndex(Index(Bicycle.color)).ifExists().run(db)
      try DropStatement.view("names").ifExists().run(db)
      #expect(try !db.tableExists(Bicycle.self))
    }
  }

  @Test func defaultsAreComputedBySQLite() throws {
    try withDatabase { db in
      try db.createTable(Visit.self)
      let now = Date()
      let id = try Visit().insert().run(db)
      let visit = try Visit.byId(id).run(db)  // at: the time of the insert, token: "5f2c…"
      #expect(abs(try #require(visit?.at).timeIntervalSince(now)) < 1_500)
      #expect(visit?.token?.count == 32)
      try Visit(at: .distantPast, token: "mine").insert().run(db)
      #expect(try Visit.byId(2).run(db)?.token == "mine")
      #expect(
        try db.definition(of: "visit") == """
          CREATE TABLE "visit" ("id" INTEGER PRIMARY KEY, \
          "at" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), \
          "token" TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))))
          """)
    }
  }
}
