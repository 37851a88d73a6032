import Foundation
import Sqlable
import SqlablePolicies

extension Subject {
  // MARK: Wide models

  static func wideModels(_ place: Place) -> [Subject] {
    [
      wide("createTable") { try SqliteDatabase.inMemory().createTable($0) },
      wide("insert") { model in try model.filled(0) },
      wide("insert and read") { model in try model.filled(1) },
      wide("batch of inserts") { try $0.filledByBatch() },
      wide("insert and read by SQL") { try $0.filledAndQueried() },
      wide("verify") { try $0.verified() },
      wide("plan") { try $0.planned() },
      wide("json of an insert") { try $0.coded() },
      wide("json by a policy") { try $0.coded(by: true) },
    ]
  }

  private static func wide(_ name: String, _ body: @escaping (any WideModel.Type) throws -> Void) -> Subject {
    Subject(
      "wide model: \(name)", 249,
      prepare: { count -> any WideModel.Type in
        switch count {
        case 249: Wide<249>.self
        case 498: Wide<498>.self
        case 996: Wide<996>.self
        default: Wide<1992>.self
        }
      }, measure: { try body($0) })
  }

  // MARK: Many tables

  static func schemas(_ place: Place) -> [Subject] {
    func schema(_ count: Int, _ model: any Sqlable.Type = Item.self) -> Schema {
      (0..<count).reduce(into: Schema()) { $0 = $0.adding(model, named: "table_\($1)") }
    }
    func filled(_ count: Int, _ model: any Sqlable.Type = Item.self) throws -> (SqliteDatabase, Schema) {
      let (db, schema) = (try SqliteDatabase.inMemory(), schema(count, model))
      try db.createTables(of: schema)
      return (db, schema)
    }
    func sql(_ count: Int) -> String {
      "BEGIN;"
        + (0..<count).map { "CREATE TABLE table_\($0) (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER);" }
        .joined() + "COMMIT"
    }
    return [
      Subject("tables: Schema.adding in a loop", 600, prepare: { $0 }, measure: { _ = schema($0) }),
      Subject(
        "tables by a script", 600, prepare: { (try SqliteDatabase.inMemory(), sql($0)) },
        measure: { try $0.execute($1) }),
      Subject(
        "tables: createTables", 150, prepare: { (try SqliteDatabase.inMemory(), schema($0)) },
        measure: {
          try $0.createTables(of: $1)
        }),
      Subject("tables: createTables again", 150, prepare: { try filled($0) }, measure: { try $0.createTables(of: $1) }),
      Subject(
        "tables: createTables of references", 100,
        prepare: { count in
          (try SqliteDatabase.inMemory(), schema(count, Linked.self).adding(Item.self, named: "item"))
        }, measure: { try $0.createTables(of: $1) }),
      Subject("tables: verify", 300, prepare: { try filled($0) }, measure: { try $1.verify($0) }),
      Subject("tables: db.schema()", 300, prepare: { try filled($0) }, measure: { db, _ in _ = try db.schema() }),
      Subject(
        "tables: plan of a new file", 100, prepare: { (try SqliteDatabase.inMemory(), schema($0)) },
        measure: {
          _ = try $1.plan($0)
        }),
      Subject("tables: plan without changes", 150, prepare: { try filled($0) }, measure: { _ = try $1.plan($0) }),
      Subject(
        "tables: plan of rebuilds", 50,
        prepare: { count in
          let db = try filled(count).0
          return (db, schema(count, Changed.self))
        }, measure: { _ = try $1.plan($0) }),
      Subject(
        "tables: plan of rebuilds, applied", 50,
        prepare: { count in
          let db = try filled(count).0
          return (db, try schema(count, Changed.self).plan(db))
        }, measure: { try $1.apply($0) }),
      migrations("migrations: first run", 125, done: false),
      migrations("migrations: all done", 500, done: true),
      Subject(
        "migrations of tables: first run", 125,
        prepare: { count in
          (
            try SqliteDatabase.inMemory(),
            Migrations(
              (0..<count).map { number in
                Migration("m\(number)", sql: "CREATE TABLE table_\(number) (id INTEGER PRIMARY KEY, name TEXT)")
              })
          )
        }, measure: { db, migrations in try migrations.apply(db) }),
      Subject(
        "migrations: status", 500,
        prepare: { count in
          let (db, migrations) = (try SqliteDatabase.inMemory(), updates(count))
          try migrations.apply(db)
          return (db, migrations)
        }, measure: { db, migrations in _ = try migrations.status(db) }),
    ]
  }

  private static func updates(_ count: Int) -> Migrations {
    Migrations(
      [Migration("item", sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)")]
        + (1..<count).map { Migration("m\($0)", sql: "UPDATE item SET name = 'n'") })
  }

  private static func migrations(_ name: String, _ base: Int, done: Bool) -> Subject {
    Subject(
      name, base,
      prepare: { count -> (SqliteDatabase, Migrations) in
        let (db, migrations) = (try SqliteDatabase.inMemory(), updates(count))
        if done { try migrations.apply(db) }
        return (db, migrations)
      }, measure: { (db, migrations) in try migrations.apply(db) })
  }
}

/// The table of `Item` with another collation, which needs a rebuild.
private struct Changed: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self, Collate.nocase)
  static let price = column("price", Int?.self)
  static let tableLayout = [id.column, name.column, price.column]
  static let tableIndexes = [Index(name)]

  init(row: ReadRow) throws {}
  func write(to row: inout RowWriter) throws {}
}

/// A table that references the last table of the schema.
private struct Linked: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let item = column("item", Int?.self, ForeignKey<Item>())
  static let tableLayout = [id.column, item.column]

  init(row: ReadRow) throws {}
  func write(to row: inout RowWriter) throws {}
}

protocol WideModel: Sqlable {
  init(_ start: Int)
}

extension Wide: WideModel {}

extension WideModel {
  fileprivate static func database() throws -> SqliteDatabase {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Self.self)
    return db
  }

  fileprivate static func filled(_ reads: Int) throws {
    let db = try database()
    for number in 0..<10 { try Self(number * 10_000).insert().run(db) }
    for _ in 0..<reads { _ = try Self.read().run(db) }
  }

  fileprivate static func filledByBatch() throws {
    try Self.insert((0..<300).map { Self($0) }).run(database())
  }

  fileprivate static func filledAndQueried() throws {
    let db = try database()
    for number in 0..<10 { try Self(number * 10_000).insert().run(db) }
    for _ in 0..<10 { _ = try db.query("SELECT * FROM \(table: Self.tableName)", as: Self.self) }
  }

  fileprivate static func verified() throws { try Schema(Self.self).verify(database()) }

  fileprivate static func planned() throws {
    let db = try SqliteDatabase.inMemory()
    try Schema(Self.self).plan(db).apply(db)
    _ = try Schema(Self.self).plan(db)
  }

  fileprivate static func coded(by usesPolicy: Bool = false) throws {
    let read = Self.read().filter(.all(Self.tableLayout.map { $0 > 0 }))
    let json = try read.json()
    guard usesPolicy else {
      _ = try Statement<Self, [Self]>(json: json)
      return
    }
    var rules = TablePolicy(Self.self).readingAll()
    for column in Self.tableLayout { rules = rules.filtering(column, by: .comparison) }
    _ = try StatementPolicy(rules).withoutLimits.statement(Statement<Self, [Self]>.self, json: json)
  }
}
