import SqlableCore

/// An ordinary table with a full-text index.
struct Story: Sqlable, Equatable {
  var id: Int?
  var title: String
  var body: String?
  var year: Int
  var slug: String

  static let id = column("id", Int?.self, PrimaryKey())
  static let title = column("title", String.self)
  static let body = column("body", String?.self)
  static let year = column("year", Int.self)
  static let slug = column("slug", String.self, Unique())
  static let tableLayout = [id.column, title.column, body.column, year.column, slug.column]
  static let tableFullText = FullTextIndex(title, body, tokenizer: .porter, prefixes: [2, 3])

  init(_ id: Int?, _ title: String, _ body: String? = nil, year: Int = 2024, slug: String? = nil) {
    (self.id, self.title, self.body, self.year) = (id, title, body, year)
    self.slug = slug ?? "\(id ?? -1)"
  }

  init(row: ReadRow) throws {
    id = try row.get(Story.id)
    title = try row.get(Story.title)
    body = try row.get(Story.body)
    year = try row.get(Story.year)
    slug = try row.get(Story.slug)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Story.id, id)
    row.set(Story.title, title)
    row.set(Story.body, body)
    row.set(Story.year, year)
    row.set(Story.slug, slug)
  }
}

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

/// A contentless full-text table: it stores the index but not the texts.
struct Word: Sqlable, Equatable {
  var rowid: Int?
  var text: String?

  static let rowid = column("rowid", Int?.self, PrimaryKey())
  static let text = column("text", String?.self)
  static let tableLayout = [rowid.column, text.column]
  static let tableOptions: [TableOption] = [.fullText(tokenizer: .trigram, content: .none)]

  init(_ rowid: Int?, _ text: String?) { (self.rowid, self.text) = (rowid, text) }

  init(row: ReadRow) throws {
    rowid = try row.get(Word.rowid)
    text = try row.get(Word.text)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Word.rowid, rowid)
    row.set(Word.text, text)
  }
}
