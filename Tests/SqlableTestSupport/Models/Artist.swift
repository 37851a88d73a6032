import SqlableCore
import SqlableQueries
import SqlableSchema

/// An artist with a mentor, for self-joins and a join table.
struct Artist: Sqlable, Equatable {
  let id: Int?
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

  init(id: Int? = nil, name: String, mentorId: Int? = nil) {
    (self.id, self.name, self.mentorId) = (id, name, mentorId)
  }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Artist.id), name: try row.get(Artist.name), mentorId: try row.get(Artist.mentorId))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Artist.id, id)
    row.set(Artist.name, name)
    row.set(Artist.mentorId, mentorId)
  }
}
