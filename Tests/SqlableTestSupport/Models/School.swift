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

/// The company, with repairs, courses and enrolments.
func withSchool(_ body: (SqliteDatabase) throws -> Void) throws {
  try withCompany { db in
    try db.createTables(Repair.self, Course.self, Enrolment.self)
    try Repair.insert([(1, 1, 40), (2, 1, 25), (3, 2, 90), (4, 3, 10)].map(Repair.init)).run(db)
    try Course.insert([(1, "Welding"), (2, "Accounts"), (3, "Welsh")].map(Course.init)).run(db)
    try Enrolment.insert([(1, 1), (1, 2), (2, 1), (3, 1)].map(Enrolment.init)).run(db)
    try body(db)
  }
}
