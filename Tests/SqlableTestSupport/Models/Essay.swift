import SqlableCore
import SqlableQueries
import SqlableSchema

/// An essay with a full-text index.
struct Essay: Sqlable, Equatable {
  let id: Int?
  let filmId: Int
  let text: String
  static let id = column("id", Int?.self, PrimaryKey())
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let text = column("text", String.self)
  static let tableLayout = [id.column, filmId.column, text.column]
  static let tableFullText = FullTextIndex(text, tokenizer: .porter)

  init(_ id: Int?, _ filmId: Int, _ text: String) { (self.id, self.filmId, self.text) = (id, filmId, text) }
  init(row: ReadRow) throws {
    self.init(try row.get(Essay.id), try row.get(Essay.filmId), try row.get(Essay.text))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Essay.id, id)
    row.set(Essay.filmId, filmId)
    row.set(Essay.text, text)
  }
}
