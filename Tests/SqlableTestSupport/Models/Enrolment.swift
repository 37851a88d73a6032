import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

/// A row of the join table of people and courses, which has no key.
struct Enrolment: SqlCodable, Equatable {
  let personId: Int
  let courseId: Int
  static let personId = column("person_id", Int.self, ForeignKey<Person>())
  static let courseId = column("course_id", Int.self, ForeignKey<Course>())
  static let tableLayout = [personId.column, courseId.column]
}
