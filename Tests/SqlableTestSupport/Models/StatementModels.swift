import Foundation
import SqlableCore

/// A table without a primary key, with columns that share names and types with other models.
struct Note: Sqlable, Equatable {
  static let id = Column("id", .integer)
  static let name = Column("name", .text)
  static let tableLayout = [id, name]
  var id: Int
  var name: String

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
  init(row: ReadRow) throws { self.init(id: try row.get(Self.id), name: try row.get(Self.name)) }
  func write(to row: inout RowWriter) throws {
    row.set(Self.id, id)
    row.set(Self.name, name)
  }
}

/// A WITHOUT ROWID table with a key of two columns, a default and a generated column.
struct Seat: Sqlable, Equatable {
  static let row = column("row", Int.self)
  static let letter = column("letter", String.self)
  static let price = column("price", Double?.self, Default(9.5))
  static let label = column("label", String?.self, Generated("row || letter"))
  static let tableLayout = [row.column, letter.column, price.column, label.column]
  static let tableConstraints = [PrimaryKeys(row, letter)]
  static let tableOptions: [TableOption] = [.withoutRowid]
  var row: Int
  var letter: String
  var price: Double?
  var label: String?

  init(row: Int, letter: String, price: Double? = nil) { (self.row, self.letter, self.price) = (row, letter, price) }
  init(row: ReadRow) throws {
    self.init(row: try row.get(Self.row), letter: try row.get(Self.letter), price: try row.get(Self.price))
    label = try row.get(Self.label)
  }
  func write(to row: inout RowWriter) throws {
    row.set(Self.row, self.row)
    row.set(Self.letter, letter)
    row.set(Self.price, price)
    row.set(Self.label, "written by nobody")
  }
}

/// A WITHOUT ROWID table of nothing but an integer key.
struct Mark: Sqlable, Equatable {
  static let id = Column("id", .integer, PrimaryKey())
  static let tableLayout = [id]
  static let tableOptions: [TableOption] = [.withoutRowid]
  var id: Int

  init(id: Int) { self.id = id }
  init(row: ReadRow) throws { id = try row.get(Self.id) }
  func write(to row: inout RowWriter) throws { row.set(Self.id, id) }
}

/// A table with names that break SQL unless they are quoted.
struct Hostile: Sqlable, Equatable {
  static let tableName = #"order "x"; DROP TABLE person; --"#
  static let id = Column("group", .integer, PrimaryKey())
  static let text = Column("a'b\"c` [d] /* -- \n?1 :x", .nullable(.text))
  static let other = Column("naïve 日本 😀", .nullable(.text), Unique())
  static let tableLayout = [id, text, other]
  var id: Int?
  var text: String?
  var other: String?

  init(id: Int? = nil, text: String?, other: String?) { (self.id, self.text, self.other) = (id, text, other) }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Self.id), text: try row.get(Self.text), other: try row.get(Self.other))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Self.id, id)
    row.set(Self.text, text)
    row.set(Self.other, other)
  }
}

let hostileTexts = [
  "'; DROP TABLE person; --", "\"", "'", "`", "\0", "a\0b", "/*", "*/", "--", "?", "?1", ":x", "%_\\", "NULL", "\n",
  "日本 😀 e\u{301} é", "\u{FEFF}", String(repeating: "'", count: 100_000),
]
