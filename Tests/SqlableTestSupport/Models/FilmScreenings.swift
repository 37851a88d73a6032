import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A view with the number of screenings of each film that has screenings.
struct FilmScreenings: SqlCodable, Equatable {
  let filmId: Int
  let count: Int
  static let filmId = column("film_id", Int.self, PrimaryKey())
  static let count = column("count", Int.self)
  static let tableLayout = [filmId.column, count.column]
  static let tableOptions: [TableOption] = [
    .view(View(Screening.select(Screening.filmId, countAll()).groupBy(Screening.filmId)))
  ]
}
