import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// An essay with a full-text index.
struct Essay: SqlCodable, Equatable {
  let id: Int?
  let filmId: Int
  let text: String
  static let id = column("id", Int?.self, PrimaryKey())
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let text = column("text", String.self)
  static let tableLayout = [id.column, filmId.column, text.column]
  static let tableFullText = FullTextIndex(text, tokenizer: .porter)

  init(_ id: Int?, _ filmId: Int, _ text: String) { (self.id, self.filmId, self.text) = (id, filmId, text) }
}
