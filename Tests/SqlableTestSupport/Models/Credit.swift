import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A row of the join table of films and artists, with a composite key and two values of its own.
struct Credit: SqlCodable, Equatable {
  let filmId: Int
  let artistId: Int
  var part: String
  var fee: Double?
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let artistId = column("artist_id", Int.self, ForeignKey<Artist>())
  static let part = column("part", String.self)
  static let fee = column("fee", Double?.self)
  static let tableLayout = [filmId.column, artistId.column, part.column, fee.column]
  static let tableConstraints = [PrimaryKeys(filmId, artistId)]
  static let film = toOne(Film.self, by: filmId)
  static let artist = toOne(Artist.self, by: artistId)

  init(_ filmId: Int, _ artistId: Int, _ part: String, _ fee: Double?) {
    (self.filmId, self.artistId, self.part, self.fee) = (filmId, artistId, part, fee)
  }
}
