import SqlableCore
import SqlableQueries
import SqlableSchema

/// A course that people attend, for associations through a join table.
struct Course: Sqlable, Equatable {
  let id: Int
  let title: String
  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self)
  static let people = toMany(Person.self, through: Enrolment.self, from: Enrolment.courseId, to: Enrolment.personId)
  static let tableLayout = [id.column, title.column]

  init(id: Int, title: String) { (self.id, self.title) = (id, title) }
  init(row: ReadRow) throws { self.init(id: try row.get(Course.id), title: try row.get(Course.title)) }
  func write(to row: inout RowWriter) throws {
    row.set(Course.id, id)
    row.set(Course.title, title)
  }
}
