import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A review of a film, for plain inserts and left joins.
struct Review: SqlCodable, Equatable {
  let id: Int?
  let filmId: Int
  let text: String
  static let id = column("id", Int?.self, PrimaryKey())
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let text = column("text", String.self)
  static let tableLayout = [id.column, filmId.column, text.column]

  init(_ id: Int?, _ filmId: Int, _ text: String) { (self.id, self.filmId, self.text) = (id, filmId, text) }
}
