import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A course that people attend, for associations through a join table.
struct Course: SqlCodable, Equatable {
  let id: Int
  let title: String
  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self)
  static let people = toMany(Person.self, through: Enrolment.self, from: Enrolment.courseId, to: Enrolment.personId)
  static let tableLayout = [id.column, title.column]
}
