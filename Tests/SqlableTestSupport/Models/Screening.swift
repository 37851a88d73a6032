import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A screening of a film, for counts and sums of children.
struct Screening: SqlCodable, Equatable {
  let id: Int?
  let filmId: Int
  let hall: String
  let seats: Int
  var sold: Int
  static let id = column("id", Int?.self, PrimaryKey())
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let hall = column("hall", String.self)
  static let seats = column("seats", Int.self)
  static let sold = column("sold", Int.self)
  static let tableLayout = [id.column, filmId.column, hall.column, seats.column, sold.column]
  static let film = toOne(Film.self, by: filmId)

  init(_ id: Int?, _ filmId: Int, _ hall: String, _ seats: Int, _ sold: Int) {
    (self.id, self.filmId, self.hall, self.seats, self.sold) = (id, filmId, hall, seats, sold)
  }
}
