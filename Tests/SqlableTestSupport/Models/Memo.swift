import SqlableCore

/// A full-text table that stores its rows.
struct Memo: Sqlable, Equatable {
  var rowid: Int?
  var title: String
  var body: String
  var stars: Int?

  static let rowid = Column("rowid", .integer, PrimaryKey())
  static let title = Column("title", .text)
  static let body = Column("body", .text)
  static let stars = Column("stars", .nullable(.integer), Unindexed())
  static let tableLayout = [rowid, title, body, stars]
  static let tableOptions: [TableOption] = [.fullText(tokenizer: .porter, prefixes: [2, 3])]

  init(_ rowid: Int?, _ title: String, _ body: String = "", stars: Int? = nil) {
    (self.rowid, self.title, self.body, self.stars) = (rowid, title, body, stars)
  }

  init(row: ReadRow) throws {
    rowid = try row.get(Memo.rowid)
    title = try row.get(Memo.title)
    body = try row.get(Memo.body)
    stars = try row.get(Memo.stars)
  }

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Memo.rowid: rowid
    case Memo.title: title
    case Memo.body: body
    case Memo.stars: stars ?? Null()
    case _: nil
    }
  }
}
