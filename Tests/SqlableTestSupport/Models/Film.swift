import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A film with a column of most types, each with a default. The parent of credits and screenings.
struct Film: SqlCodable, Equatable {
  let id: Int?
  var title: String
  var year: Int
  var minutes: Int?
  var genre = "drama"
  var isRestored = false
  var tags: [String] = []
  var premiere: Date?
  var studioId: Int?
  static let id = column("id", Int?.self, PrimaryKey())
  static let title = column("title", String.self, Default(""))
  static let year = column("year", Int.self, Default(0))
  static let minutes = column("minutes", Int?.self)
  static let genre = column("genre", String.self, Default("drama"))
  static let isRestored = column("is_restored", Bool.self, Default(false))
  static let tags = column("tags", [String].self, Default([String]()))
  static let premiere = column("premiere", Date?.self)
  static let studioId = column("studio_id", Int?.self, ForeignKey<Studio>())
  static let tableLayout = [
    id.column, title.column, year.column, minutes.column, genre.column, isRestored.column, tags.column, premiere.column,
    studioId.column,
  ]
  static let studio = toOne(Studio.self, by: studioId)
  static let credits = toMany(Credit.self, by: Credit.filmId)
  static let screenings = toMany(Screening.self, by: Screening.filmId)
  static let artists = toMany(Artist.self, through: Credit.self, from: Credit.filmId, to: Credit.artistId)
  static let restored = read().filter(isRestored.isTrue)
  static let isOld = year < 1970
}
