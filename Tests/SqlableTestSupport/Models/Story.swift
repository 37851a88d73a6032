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
