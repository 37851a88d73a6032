import Foundation
import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite struct AssociationTests {
  /// Every row of the join table adds one row. The join table's columns can order and filter the association.
  @Test func aRowLinkedTwiceIsReturnedTwice() throws {
    try withSchool { db in
      try Enrolment.deleteAll().run(db)
      for course in [1, 2, 2] { try Enrolment(personId: 1, courseId: course).insert().run(db) }
      func courses(_ courses: Association<Person, Course, [Course]>) throws -> [Int?] {
        try Person.read().filter(Person.id == 1).including(courses).run(db).flatMap { $0.1.map(\.id) }
      }
      let byLink = Person.courses.orderBy(Enrolment.courseId, .desc)
      #expect(try courses(byLink) == [2, 2, 1])
      #expect(try courses(Person.courses.filter(Enrolment.courseId == 2)) == [2, 2])
      // The filter comes before the limit.
      #expect(try courses(byLink.filter(Course.id == 1).limit(1)) == [1])
    }
  }

  @Test func toOneReturnsTheReferencedRow() throws {
    try withSchool { db in
      let bikes = Bicycle.read().orderBy(Bicycle.name).including(Bicycle.owner)
      let rows: [(Bicycle, Person?)] = try bikes.run(db)
      #expect(rows.map(\.0.name) == ["Giant", "Kona", "Norco", "Trek"])
      #expect(rows.map { $0.1?.name } == ["Anna", nil, "Anna", "Bo"])
      let texts = try tracedReads(db) { _ = try bikes.run(db) }
      #expect(texts.last == #"SELECT "id", "name" FROM "person" WHERE "id" IN (?…)"#)
      let filtered = try Bicycle.read().orderBy(Bicycle.id)
        .including(Bicycle.owner.filter(Person.name != "Bo")).run(db)
      #expect(filtered.map { $0.1?.name } == ["Anna", nil, "Anna", nil])
      // A self-referencing table.
      let bosses = try Worker.read().orderBy(Worker.id).including(Worker.boss).including(Worker.team).run(db)
      #expect(bosses.map { $0.1?.name } == [nil, "Ada", "Ada", "Ben"])
      #expect(bosses.map { $0.2.map(\.name).sorted() } == [["Ben", "Cleo"], ["Dan"], [], []])
    }
  }

  @Test func aLimitAppliesToEachParentRow() throws {
    try withSchool { db in
      try Bicycle.insert([Bicycle(name: "Brompton", color: "red", ownerId: 2)]).run(db)
      let first = Person.read().orderBy(Person.id).including(Person.bikes.orderBy(Bicycle.name).limit(1))
      #expect(try first.run(db).map { $0.1.map(\.name) } == [["Giant"], ["Brompton"], []])
      let second = Person.bikes.orderBy(Bicycle.name).limit(1, offset: 1)
      #expect(
        try Person.read().orderBy(Person.id).including(second).run(db).map { $0.1.map(\.name) }
          == [["Norco"], ["Trek"], []])
      let last: Association<Person, Bicycle, Bicycle?> = Person.bikes.orderBy(Bicycle.name, .desc).first()
      #expect(
        try Person.read().orderBy(Person.id).including(last).run(db).map { $0.1?.name } == ["Norco", "Trek", nil])
      // A limit in an included statement applies to each parent too.
      let children = Bicycle.read().orderBy(Bicycle.name).limit(1)
      #expect(
        try Person.read().orderBy(Person.id).including(children, by: Bicycle.ownerId).run(db).map { $0.1.map(\.name) }
          == [["Giant"], ["Brompton"], []])
      for limit in [Person.bikes.limit(-1), Person.bikes.limit(1, offset: -1)] {
        expectInvalidStatement { _ = try Person.read().including(limit).run(db) }
      }
    }
  }

  @Test func aTableMayBeNamedLikeTheRankingQuery() throws {
    try withDatabase { db in
      try db.createTables(Member.self, Entry<Ranked>.self)
      try Member(id: 1, name: "a").insert().run(db)
      try Entry<Ranked>.insert([Entry<Ranked>(1, 1), Entry<Ranked>(2, 1), Entry<Ranked>(3, 1)]).run(db)
      let ranked = Member.toMany(Entry<Ranked>.self, by: Ranked.memberId)
      let best = Member.read().including(ranked.orderBy(Ranked.id, .desc).limit(2))
      #expect(try best.run(db).map { $0.1.map(\.values) } == [[[3, 1], [2, 1]]])
    }
  }

  private func expectMisuseOfAggregate(_ body: () throws -> Void) {
    #expect(sqlError(body)?.message.contains("aggregate") == true)
  }

  @Test func orderingAnAssociationByAnAggregateThrows() throws {
    let byCount = Person.bikes.orderBy(countAll())
    let (all, first) = (Person.read().including(byCount), Person.read().including(byCount.limit(1)))
    try withSchool { db in
      expectMisuseOfAggregate { _ = try all.run(db) }
      expectMisuseOfAggregate { _ = try first.run(db) }
    }
  }

  @Test func severalAssociationsAreIncludedAtOnce() throws {
    try withSchool { db in
      let people = Person.read().orderBy(Person.id).including(
        Person.bikes, Person.courses, Person.bikes.count(), Person.courses.orderBy(Course.title).first())
      let rows: [(Person, [Bicycle], [Course], Int, Course?)] = try people.run(db)
      #expect(rows.map { $0.1.count } == rows.map(\.3))
      #expect(rows.map { $0.2.count } == [2, 1, 1])
      #expect(rows.map { $0.4?.title } == ["Accounts", "Welding", "Welding"])
    }
  }

  /// SQLite's NOCASE compares texts up to a NUL, and then their lengths.
  @Test func textsWithNULAreGroupedAsSQLiteComparesThem() throws {
    try withDatabase { db in
      try db.createTable(Label.self)
      try Label.insert(["a\0b", "A\0B", "a\0c", "a\0", "ab"].enumerated().map { Label(id: $0, text: $1) }).run(db)
      let same = Label.toMany(Label.self, by: Label.text, of: Label.text)
      let rows = try Label.read().orderBy(Label.id).including(same, same.count()).run(db)
      #expect(rows.map { $0.1.count } == [3, 3, 3, 1, 1])
      #expect(rows.map(\.2) == [3, 3, 3, 1, 1])
    }
  }

  @Test func aJoinTableConnectsManyToMany() throws {
    try withSchool { db in
      let people = Person.read().orderBy(Person.id).including(Person.courses.orderBy(Course.title))
      #expect(try people.run(db).map { $0.1.map(\.title) } == [["Accounts", "Welding"], ["Welding"], ["Welding"]])
      let texts = try tracedReads(db) { _ = try people.run(db) }
      #expect(
        texts.last == """
          SELECT "course"."id", "course"."title", "enrolment"."person_id" FROM "course" JOIN "enrolment" \
          ON "course"."id" = "enrolment"."course_id" WHERE "enrolment"."person_id" IN (?…) ORDER BY "course"."title"
          """)
      // A row that is linked twice is returned twice.
      try Enrolment(personId: 2, courseId: 1).insert().run(db)
      #expect(try people.run(db).map { $0.1.count } == [2, 2, 1])
      #expect(try Person.read().whereAny(Person.courses).count(db) == 3)
      try Enrolment.delete(Enrolment.personId == 2).run(db)
      try Enrolment(personId: 2, courseId: 1).insert().run(db)
      let courses = Course.read().orderBy(Course.id).including(Course.people.orderBy(Person.name).limit(2))
        .including(Course.people.count())
      #expect(try courses.run(db).map { $0.1.map(\.name) } == [["Anna", "Bo"], ["Anna"], []])
      #expect(try courses.run(db).map(\.2) == [3, 1, 0])
    }
  }

  @Test func eachNestedLevelRunsOneStatement() throws {
    try withSchool { db in
      let people = Person.read().orderBy(Person.id).including(
        Person.bikes.orderBy(Bicycle.id).including(Bicycle.repairs.orderBy(Repair.id), Bicycle.owner)
      ).including(Person.courses.count())
      let rows: [(Person, [(Bicycle, [Repair], Person?)], Int)] = try people.run(db)
      #expect(rows.map { $0.1.map(\.0.name) } == [["Norco", "Giant"], ["Trek"], []])
      #expect(rows.map { $0.1.map { $0.1.map(\.cost) } } == [[[40, 25], [10]], [[90]], []])
      #expect(rows.flatMap { person, bikes, _ in bikes.map { $0.2 == person } } == [true, true, true])
      #expect(rows.map(\.2) == [2, 1, 1])
      let count = try tracedReads(db) { _ = try people.run(db) }.count
      #expect(count == 5)
      let up = Repair.read().orderBy(Repair.id).including(
        Repair.bicycle.including(Bicycle.owner.including(Person.bikes.count())))
      let owners: [(Repair, (Bicycle, (Person, Int)?)?)] = try up.run(db)
      #expect(owners.map { $0.1?.1?.1 } == [2, 2, 1, 2])
      // Without parent rows, SQLite reads no children.
      let nobody = Person.read().filter(Person.id > 99).including(Person.bikes)
      #expect(try tracedReads(db) { _ = try nobody.run(db) }.count == 1)
    }
  }

  @Test func parentsAreFilteredByTheirAssociatedRows() throws {
    try withSchool { db in
      let reds = Person.bikes.filter(Bicycle.color == "red")
      #expect(try Person.read().whereAny(reds).run(db).map(\.name) == ["Anna"])
      // NOT IN a list with NULL would be true for no row.
      #expect(try Person.read().whereNone(reds).orderBy(Person.id).run(db).map(\.name) == ["Bo", "Cid"])
      #expect(try Person.read().whereNone(Person.bikes).run(db).map(\.name) == ["Cid"])
      // `whereNone` includes rows whose reference is NULL.
      let annas = Bicycle.owner.filter(Person.name == "Anna")
      #expect(try Bicycle.read().whereAny(annas).orderBy(Bicycle.id).run(db).map(\.name) == ["Norco", "Giant"])
      #expect(try Bicycle.read().whereNone(annas).orderBy(Bicycle.id).run(db).map(\.name) == ["Trek", "Kona"])
      #expect(
        try Person.read().whereAny(Person.courses.filter(Course.title == "Accounts")).run(db).map(\.name) == ["Anna"])
      #expect(try Course.read().whereNone(Course.people).run(db).map(\.title) == ["Welsh"])
      #expect(try Worker.read().whereAny(Worker.team).orderBy(Worker.id).run(db).map(\.name) == ["Ada", "Ben"])
      #expect(try Worker.read().whereNone(Worker.boss).run(db).map(\.name) == ["Ada"])
      // Associations in nested conditions, counts and deletes.
      let dear = Person.bikes.filter(exists(Bicycle.repairs.filter(Repair.cost > 50)))
      #expect(try Person.count().whereAny(dear).run(db) == 1)
      let some = try Person.read().filter(exists(dear) || Person.id == 3).orderBy(Person.id).run(db)
      #expect(some.map(\.id) == [2, 3])
      #expect(try Person.read().including(dear).run(db).flatMap(\.1).map(\.name) == ["Trek"])
      #expect(try Bicycle.delete().whereNone(Bicycle.repairs).run(db) == 1)
      expectInvalidStatement { _ = try Person.read().whereAny(Person.bikes.limit(1)).run(db) }
      expectInvalidStatement { _ = try Person.read().including(Person.bikes.limit(1).count()).run(db) }
    }
  }

  @Test func declarationsThatContradictEachOtherAreRefused() throws {
    try withSchool { db in
      func message<Output>(_ association: Association<Person, some Sqlable, Output>) -> String? {
        expectMisuse { _ = try Person.read().including(association).run(db) }?.message
      }
      #expect(
        message(Person.toMany(Repair.self, by: Repair.bicycleId)) == "column bicycle_id does not reference person")
      #expect(
        message(Person.toMany(Course.self, through: Enrolment.self, from: Enrolment.courseId, to: Enrolment.personId))
          == "column course_id does not reference person")
      #expect(
        message(Person.toMany(Course.self, through: Repair.self, from: Repair.cost, to: Repair.bicycleId))
          == """
          column cost is not declared as a ForeignKey; declare the foreign key of the link table, \
          or use toMany(_:through:using:)
          """)
      #expect(
        message(Person.toOne(Worker.self, by: Person.id, of: Worker.name))
          == "a foreign key of type INTEGER can't match a referenced column of type TEXT; use the same type")
      expectError(.schema(.missingColumn("cost"))) {
        _ = try Person.read().including(Person.toMany(Bicycle.self, by: Repair.cost)).run(db)
      }
      expectMisuse { _ = try Person.read().whereAny(Person.toMany(Repair.self, by: Repair.bicycleId)).run(db) }
    }
  }

  @Test func aLiveResultFollowsEveryLevel() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self, Repair.self)
        try Person(id: 1, name: "Anna").insert().run(db)
        try Bicycle(name: "Norco", color: "red", ownerId: 1).insert().run(db)
      }
      let costs = Person.read().including(Person.bikes.including(Bicycle.repairs))
      var seen: [[Int]] = []
      for try await rows in costs.updates(in: pool) {
        seen.append(rows.flatMap { $0.1.flatMap { $0.1.map(\.cost) } })
        if seen.count == 2 { break }
        try await Repair(id: 1, bicycleId: 1, cost: 7).insert().run(pool)
      }
      #expect(seen == [[], [7]])
    }
  }
}

/// A table with the name of the query that ranks the rows of a limited association.
private enum Ranked: TableDeclaration {
  static let name = "ranked"
  static let (id, memberId) = (
    Column("id", .integer, PrimaryKey()), Column("member_id", .integer, ForeignKey<Member>())
  )
  static let columns = [id, memberId]
}
