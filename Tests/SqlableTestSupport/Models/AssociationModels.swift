import SqlableCore
import SqlableQueries
import SqlableSchema

extension Person {
  static let courses = toMany(Course.self, through: Enrolment.self, from: Enrolment.personId, to: Enrolment.courseId)
}

extension Person {
  static let repairs = toMany(Repair.self, through: bikes, using: Bicycle.repairs)
}
extension Repair {
  static let owner = toOne(Person.self, through: bicycle, using: Bicycle.owner)
}

extension Bicycle {
  static let repairs = toMany(Repair.self, by: Repair.bicycleId)
}

extension Worker {
  static let team = toMany(Worker.self, by: bossId, of: id)
  static let boss = toOne(Worker.self, by: bossId, of: id)
}

struct Repair: Sqlable, Equatable {
  let id: Int
  let bicycleId: Int
  let cost: Int
  static let id = column("id", Int.self, PrimaryKey())
  static let bicycleId = column("bicycle_id", Int.self, ForeignKey<Bicycle>())
  static let cost = column("cost", Int.self)
  static let bicycle = toOne(Bicycle.self, by: bicycleId)
  static let tableLayout = [id.column, bicycleId.column, cost.column]

  init(id: Int, bicycleId: Int, cost: Int) { (self.id, self.bicycleId, self.cost) = (id, bicycleId, cost) }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Repair.id), bicycleId: try row.get(Repair.bicycleId), cost: try row.get(Repair.cost))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Repair.id, id)
    row.set(Repair.bicycleId, bicycleId)
    row.set(Repair.cost, cost)
  }
}

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

/// The company, with repairs, courses and enrolments.
func withSchool(_ body: (SqliteDatabase) throws -> Void) throws {
  try withCompany { db in
    try db.createTable(Repair.self)
    try db.createTable(Course.self)
    try db.createTable(Enrolment.self)
    try Repair.insert([(1, 1, 40), (2, 1, 25), (3, 2, 90), (4, 3, 10)].map(Repair.init)).run(db)
    try Course.insert([(1, "Welding"), (2, "Accounts"), (3, "Welsh")].map(Course.init)).run(db)
    try Enrolment.insert([(1, 1), (1, 2), (2, 1), (3, 1)].map(Enrolment.init)).run(db)
    try body(db)
  }
}
