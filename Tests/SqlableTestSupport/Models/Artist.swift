import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// An artist with a mentor, for self-joins and a join table.
struct Artist: SqlCodable, Equatable {
  var id: Int?
  var name: String
  var mentorId: Int?
  static let id = column("id", Int?.self, PrimaryKey())
  static let name = column("name", String.self)
  static let mentorId = column("mentor_id", Int?.self)
  static let tableLayout = [id.column, name.column, mentorId.column]
  static let mentor = toOne(Artist.self, by: mentorId, of: id)
  static let pupils = toMany(Artist.self, by: mentorId, of: id)
  static let credits = toMany(Credit.self, by: Credit.artistId)
  static let films = toMany(Film.self, through: Credit.self, from: Credit.artistId, to: Credit.filmId)
}
