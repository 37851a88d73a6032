import SqlableCore
import SqlableQueries
import SqlableSchema

/// A row of the join table of people and courses, which has no key.
struct Enrolment: Sqlable, Equatable {
  let personId: Int
  let courseId: Int
  static let personId = column("person_id", Int.self, ForeignKey<Person>())
  static let courseId = column("course_id", Int.self, ForeignKey<Course>())
  static let tableLayout = [personId.column, courseId.column]

  init(personId: Int, courseId: Int) { (self.personId, self.courseId) = (personId, courseId) }
  init(row: ReadRow) throws {
    self.init(personId: try row.get(Enrolment.personId), courseId: try row.get(Enrolment.courseId))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Enrolment.personId, personId)
    row.set(Enrolment.courseId, courseId)
  }
}
