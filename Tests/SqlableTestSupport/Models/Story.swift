import SqlableCodable
import SqlableCore

/// An ordinary table with a full-text index.
struct Story: SqlCodable, Equatable {
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
}
