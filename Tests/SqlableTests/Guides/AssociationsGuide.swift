import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Queries.md on associations.
@Suite struct AssociationsGuide {
  @Test func rowsIncludeTheirAssociatedRows() throws {
    try withSchool { db in
      let owners = Person.read().orderBy(Person.name).including(Person.bikes.orderBy(Bicycle.name).limit(3))
      for (person, bikes) in try owners.run(db) { print(person.name, bikes.map(\.name)) }  // Person, [Bicycle]
      let bikes = try Bicycle.read().including(Bicycle.owner).run(db)  // [(Bicycle, Person?)]
      #expect(bikes.count == 4)
      let texts = Mutex<[String]>([])
      let trace = db.trace { event in texts.withLock { $0.append(event.sql) } }
      defer { db.removeTrace(trace) }
      _ = try owners.run(db)
      #expect(
        texts.withLock(\.self).contains(
          """
          WITH RECURSIVE "ranked" ("c1", "c2", "c3", "c4", "c5") AS (SELECT "id", "name", "color", "owner_id", \
          row_number() OVER (PARTITION BY "owner_id" ORDER BY "name") FROM "bicycle" WHERE "owner_id" IN (?…)) \
          SELECT "ranked"."c1", "ranked"."c2", "ranked"."c3", "ranked"."c4" FROM "ranked" WHERE "ranked"."c5" <= ? \
          ORDER BY "ranked"."c5"
          """))
    }
  }

  @Test func includedAssociationsAreNested() throws {
    try withSchool { db in
      let people = Person.read()
        .including(Person.bikes.including(Bicycle.repairs, Bicycle.owner))
        .including(Person.courses.count())
      for (person, bikes, courses) in try people.run(db) { print(person.name, bikes.count, courses) }
    }
  }

  @Test func associationsLeadThroughOthers() throws {
    try withSchool { db in
      let texts = Mutex<[String]>([])
      let trace = db.trace { event in texts.withLock { $0.append(event.sql) } }
      defer { db.removeTrace(trace) }
      let people = try Person.read().including(Person.repairs).run(db)
      #expect(people.map(\.1.count) == [3, 1, 0])
      #expect(
        texts.withLock(\.self).contains(
          """
          SELECT "repair"."id", "repair"."bicycle_id", "repair"."cost", "bicycle"."owner_id" \
          FROM "repair" JOIN "bicycle" ON "repair"."bicycle_id" = "bicycle"."id" WHERE "bicycle"."owner_id" IN (?…)
          """))
      let latest = Person.repairs.limit(3)
      #expect(try Person.read().including(latest).run(db).map(\.1.count) == [3, 1, 0])
      let repairs = try Repair.read().orderBy(Repair.id).including(Repair.owner).run(db)
      #expect(repairs.map { $0.1?.name } == ["Anna", "Anna", "Bo", "Anna"])
      let bikes = try Person.read().including(Person.bikes.including(Bicycle.repairs)).run(db)
      #expect(bikes.map { $0.1.map { $0.1.count } } == [[2, 1], [1], []])
    }
  }

  @Test func rowsAreFilteredByAssociatedRows() throws {
    try withSchool { db in
      let reds = Person.bikes.filter(Bicycle.color == "red")
      let some = Person.read().whereAny(reds)
      let others = Person.read().filter(!exists(reds) && Person.id > 1)
      let neglected = Person.bikes.filter(!exists(Bicycle.repairs))  // an association with a filter by another
      #expect(
        some.sql == """
          SELECT "id", "name" FROM "person" WHERE "id" IN (SELECT "bicycle"."owner_id" FROM "bicycle" \
          WHERE "bicycle"."color" = ? AND "bicycle"."owner_id" IS NOT NULL)
          """)
      let count = try others.count(db)
      #expect(count == 2)
      #expect(try Person.read().whereAny(neglected).run(db).isEmpty)
    }
  }

  @Test func firstRowIncludesItsAssociatedRows() throws {
    try withSchool { db in
      let newest: (Person, [Bicycle])? = try Person.read().orderBy(Person.id, .desc).including(Person.bikes).first(db)
      let anna = try Person.byId(1).including(Person.bikes).run(db)  // (Person, [Bicycle])?
      #expect(newest?.0.name == "Cid")
      #expect(anna?.1.count == 2)
    }
  }

  @Test func associationAggregateIsATerm() throws {
    try withSchool { db in
      let busy = Person.read().filter(Person.bikes.count() > 1).orderBy(Person.bikes.count(), .desc)
      let costs = Bicycle.repairs.filter(Repair.cost > 20).aggregate(Repair.cost.sum())
      let dear = try Bicycle.read().including(costs).run(db)  // [(Bicycle, Int?)]
      let sums = try Bicycle.select(costs, Bicycle.repairs.count()).orderBy(costs).run(db)  // [(Int?, Int)]
      #expect(
        busy.sql == """
          SELECT "id", "name" FROM "person" \
          WHERE (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") > ? \
          ORDER BY (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") DESC
          """)
      #expect(try busy.run(db).map(\.name) == ["Anna"])
      #expect(dear.map(\.1) == [65, 90, nil, nil])
      #expect(sums.map(\.0) == [nil, nil, 65, 90])
      #expect(sums.map(\.1).sorted() == [0, 1, 1, 2])
      let texts = Mutex<[String]>([])
      let trace = db.trace { event in texts.withLock { $0.append(event.sql) } }
      defer { db.removeTrace(trace) }
      _ = try Bicycle.read().including(costs).run(db)
      #expect(
        texts.withLock(\.self).contains(
          """
          SELECT "bicycle_id", sum("cost") FROM "repair" \
          WHERE "cost" > ? AND "bicycle_id" IN (?…) GROUP BY "bicycle_id" \
          UNION ALL SELECT ?, sum("cost") FROM "repair" WHERE "cost" > ? AND "bicycle_id" = ?
          """))
      let untyped = try Person.read().including(Person.bikes.aggregate(Bicycle.id.max().typed(as: Int?.self))).run(db)
      #expect(untyped.map(\.1) == [3, 2, nil])
      let enrolments = Person.toMany(Enrolment.self, by: Enrolment.personId)
      let course = Enrolment.toOne(Course.self, by: Enrolment.courseId)
      let links: [(Person, [(Enrolment, Course?)])] = try Person.read().including(enrolments.including(course)).run(db)
      #expect(links.map { $0.1.map { $0.1?.title } } == [["Welding", "Accounts"], ["Welding"], ["Welding"]])
    }
  }

  @Test func foreignKeyColumnDefinesAnAssociation() throws {
    try withCompany { db in
      let teams = try Worker.read().including(Worker.bossId, of: Worker.id).run(db)  // [(Worker, [Worker])]
      let pairs = Person.read().including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId)
      #expect(teams.count == 4)
      #expect(try pairs.run(db).count == 3)
    }
  }

  @Test func aForeignKeyHasSeveralColumns() throws {
    try withDatabase { db in
      try createOrders(db)
      let texts = Mutex<[String]>([])
      let trace = db.trace { event in texts.withLock { $0.append(event.sql) } }
      defer { db.removeTrace(trace) }
      let orders = try ShopOrder.read().including(ShopOrder.lines).run(db)
      #expect(orders.count == 3)
      #expect(
        texts.withLock(\.self).contains(
          """
          SELECT "id", "shop", "order", "price" FROM "order_line" \
          WHERE ("shop", "order") IN (SELECT value, value2 FROM sqlable_values(?))
          """))
    }
  }
}
