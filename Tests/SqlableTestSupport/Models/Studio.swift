import SqlableCore
import SqlableQueries
import SqlableSchema

/// A studio with many films and a unique name.
struct Studio: Sqlable, Equatable {
  let id: Int?
  var name: String
  var country: String?
  static let id = column("id", Int?.self, PrimaryKey())
  static let name = column("name", String.self, Unique())
  static let country = column("country", String?.self)
  static let tableLayout = [id.column, name.column, country.column]
  static let films = toMany(Film.self, by: Film.studioId)

  init(id: Int? = nil, name: String, country: String? = nil) {
    (self.id, self.name, self.country) = (id, name, country)
  }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Studio.id), name: try row.get(Studio.name), country: try row.get(Studio.country))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Studio.id, id)
    row.set(Studio.name, name)
    row.set(Studio.country, country)
  }
}
