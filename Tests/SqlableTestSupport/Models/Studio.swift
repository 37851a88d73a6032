import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A studio with many films and a unique name.
struct Studio: SqlCodable, Equatable {
  var id: Int?
  var name: String
  var country: String?
  static let id = column("id", Int?.self, PrimaryKey())
  static let name = column("name", String.self, Unique())
  static let country = column("country", String?.self)
  static let tableLayout = [id.column, name.column, country.column]
  static let films = toMany(Film.self, by: Film.studioId)
}
