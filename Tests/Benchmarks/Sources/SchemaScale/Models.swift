import Sqlable

/// The table as it was.
struct Before: SqlCodable {
  var id: Int?
  var name: String
  var price: Double?

  static let tableName = "item"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let price = column("price", Double?.self)
  static let tableLayout = [id.column, name.column, price.column]
}

/// The table with another collation and a check: SQLite can't alter it so.
struct After: SqlCodable {
  var id: Int?
  var name: String
  var price: Double?

  static let tableName = "item"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self, Collate.nocase)
  static let price = column("price", Double?.self, Check("price >= 0"))
  static let tableLayout = [id.column, name.column, price.column]
}

/// The table with another column.
struct Longer: SqlCodable {
  var id: Int?
  var name: String
  var price: Double?
  var note: String?

  static let tableName = "item"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let price = column("price", Double?.self)
  static let note = column("note", String?.self)
  static let tableLayout = [id.column, name.column, price.column, note.column]
}

/// The table with an index.
struct Indexed: SqlCodable {
  var id: Int?
  var name: String
  var price: Double?

  static let tableName = "item"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let price = column("price", Double?.self)
  static let tableLayout = [id.column, name.column, price.column]
  static let tableIndexes = [Index(price)]
}

/// A change by a plan, and by hand.
struct Change {
  let name: String
  let schema: Schema
  let sql: String

  static let all = [
    Change(
      name: "rebuild", schema: Schema(After.self),
      sql: """
        BEGIN IMMEDIATE;
        CREATE TABLE new (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, price REAL CHECK (price >= 0));
        INSERT INTO new SELECT id, name, price FROM item;
        DROP TABLE item;
        ALTER TABLE new RENAME TO item;
        COMMIT
        """),
    Change(name: "add a column", schema: Schema(Longer.self), sql: "ALTER TABLE item ADD COLUMN note TEXT"),
    Change(name: "add an index", schema: Schema(Indexed.self), sql: "CREATE INDEX item_price ON item (price)"),
  ]
}
