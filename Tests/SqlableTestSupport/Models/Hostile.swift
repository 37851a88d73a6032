import SqlableCore

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
