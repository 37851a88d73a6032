import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Associations that lead through the rows of other associations.
@Suite struct ThroughAssociationTests {
  private let people = Person.read().orderBy(Person.id)

  @Test func rowsComeWithTheRowsOfTheirRows() throws {
    try withSchool { db in
      let repairs = people.including(Person.repairs.orderBy(Repair.id))
      let rows: [(Person, [Repair])] = try repairs.run(db)
      #expect(rows.map { $0.1.map(\.id) } == [[1, 2, 4], [3], []])
      let sql = try tracedReads(db) { _ = try repairs.run(db) }.last
      #expect(
        sql == """
          SELECT "repair"."id", "repair"."bicycle_id", "repair"."cost", "bicycle"."owner_id" FROM "repair" \
          JOIN "bicycle" ON "repair"."bicycle_id" = "bicycle"."id" WHERE "bicycle"."owner_id" IN (?…) \
          ORDER BY "repair"."id"
          """)
      #expect(try people.limit(0).including(Person.repairs).run(db).isEmpty)
    }
  }

  @Test func aReferencedRowsReferenceIsFollowed() throws {
    try withSchool { db in
      try Repair(id: 5, bicycleId: 4, cost: 1).insert().run(db)
      let owners = Repair.read().orderBy(Repair.id).including(Repair.owner)
      let rows: [(Repair, Person?)] = try owners.run(db)
      #expect(rows.map { $0.1?.name } == ["Anna", "Anna", "Bo", "Anna", nil])
      let sql = try tracedReads(db) { _ = try owners.run(db) }.last
      #expect(
        sql == """
          SELECT "person"."id", "person"."name", "bicycle"."id" FROM "person" \
          JOIN "bicycle" ON "person"."id" = "bicycle"."owner_id" WHERE "bicycle"."id" IN (?…)
          """)
      let ownerless = try Repair.read().whereNone(Repair.owner).run(db)
      #expect(ownerless.map(\.id) == [5])
      let annas = Repair.read().whereAny(Repair.owner.filter(Person.name == "Anna")).orderBy(Repair.id)
      #expect(try annas.run(db).map(\.id) == [1, 2, 4])
    }
  }

  /// A row is returned once for each path; a condition returns each row once.
  @Test func aRowIsReturnedOnceForEachPath() throws {
    try withSchool { db in
      let bikes = Course.toMany(Bicycle.self, through: Course.people, using: Person.bikes)
      let courses = Course.read().orderBy(Course.id)
      func names() throws -> [[String]] {
        try courses.including(bikes.orderBy(Bicycle.name)).run(db).map { $0.1.map(\.name) }
      }
      #expect(try names() == [["Giant", "Norco", "Trek"], ["Giant", "Norco"], []])
      try Enrolment(personId: 2, courseId: 1).insert().run(db)
      #expect(try names() == [["Giant", "Norco", "Trek", "Trek"], ["Giant", "Norco"], []])
      #expect(try courses.including(bikes.count()).run(db).map(\.1) == [4, 2, 0])
      #expect(try courses.whereAny(bikes).run(db).map(\.id) == [1, 2])
      let owners = Person.toMany(Person.self, through: Person.bikes, using: Bicycle.owner)
      #expect(try people.including(owners).run(db).map { $0.1.map(\.id) } == [[1, 1], [2], []])
    }
  }

  @Test func filtersAndOrdersOfBothPartsApply() throws {
    try withSchool { db in
      let first = Person.bikes.filter(Bicycle.color == "red").orderBy(Bicycle.name)
      let second = Bicycle.repairs.filter(Repair.cost < 40).orderBy(Repair.cost, .desc)
      let cheap = Person.toMany(Repair.self, through: first, using: second)
      let found = try people.including(cheap).run(db)
      #expect(found.map { $0.1.map(\.cost) } == [[10, 25], [], []])
      // Later terms can use all tables of the path.
      let one = Person.repairs.filter(Bicycle.name == "Norco").orderBy(Bicycle.id).orderBy(Repair.id, .desc)
      #expect(try people.including(one).run(db).map { $0.1.map(\.id) } == [[2, 1], [], []])
      let reds = people.whereAny(Person.repairs.filter(Bicycle.color == "red"))
      #expect(
        reds.sql == """
          SELECT "id", "name" FROM "person" WHERE "id" IN (SELECT "bicycle"."owner_id" FROM "repair" \
          JOIN "bicycle" ON "repair"."bicycle_id" = "bicycle"."id" WHERE "bicycle"."color" = ? \
          AND "bicycle"."owner_id" IS NOT NULL) ORDER BY "id"
          """)
      #expect(try reds.run(db).map(\.id) == [1])
    }
  }

  @Test func modifiersApplyToTheWholeAssociation() throws {
    try withSchool { db in
      let dear = Person.repairs.orderBy(Repair.cost, .desc)
      let rows = try people.including(
        dear.limit(2), dear.first(), Person.repairs.count(), Person.repairs.aggregate(Repair.cost.sum()),
        Person.repairs.orderBy(Repair.id).including(Repair.owner)
      ).run(db)
      #expect(rows.map { $0.1.map(\.cost) } == [[40, 25], [90], []])
      #expect(rows.map { $0.2?.cost } == [40, 90, nil])
      #expect(rows.map(\.3) == [3, 1, 0])
      #expect(rows.map(\.4) == [75, 90, nil])
      #expect(rows.map { $0.5.map { $0.1?.id } } == [[1, 1, 1], [2], []])
      let busy = people.filter(Person.repairs.count() > 1)
      #expect(
        busy.sql == """
          SELECT "id", "name" FROM "person" WHERE (SELECT count(*) FROM "repair" \
          JOIN "bicycle" ON "repair"."bicycle_id" = "bicycle"."id" WHERE "bicycle"."owner_id" = "person"."id") > ? \
          ORDER BY "id"
          """)
      #expect(try busy.run(db).map(\.id) == [1])
      #expect(try people.whereNone(Person.repairs).run(db).map(\.id) == [3])
      #expect(try people.filter(!exists(Person.repairs)).run(db).map(\.id) == [3])
      #expect(try Person.update(Person.name.set(to: "-")).whereNone(Person.repairs).run(db) == 1)
      let nested = try Course.read().orderBy(Course.id).including(Course.people.including(Person.repairs.count()))
        .run(db)
      #expect(nested.map { $0.1.map(\.1).sorted() } == [[0, 1, 3], [3], []])
    }
  }

  /// A table that the path passes again has an alias; terms name the table that is nearest to the associated rows.
  @Test func aTableMayOccurSeveralTimes() throws {
    try withCompany { db in
      let boss = Worker.boss.filter(Worker.salary > 4)
      let above = Worker.toOne(Worker.self, through: boss, using: Worker.boss)
      let highest = Worker.toOne(Worker.self, through: above, using: above)
      let below = Worker.toMany(Worker.self, through: Worker.team, using: Worker.team)
      let peers = Worker.toMany(Worker.self, through: Worker.boss, using: Worker.team)
      let workers = Worker.read().orderBy(Worker.id)
      let rows = try workers.including(
        above, highest, below.filter(Worker.name == "Dan"), peers.orderBy(Worker.id), peers.count()
      ).run(db)
      #expect(rows.map { $0.1?.name } == [nil, nil, nil, "Ada"])
      #expect(rows.map { $0.2?.name } == [nil, nil, nil, nil])
      #expect(rows.map { $0.3.map(\.name) } == [["Dan"], [], [], []])
      #expect(rows.map { $0.4.map(\.name) } == [[], ["Ben", "Cleo"], ["Ben", "Cleo"], ["Dan"]])
      #expect(rows.map(\.5) == [0, 2, 2, 1])
      #expect(try Worker.select(peers.count()).orderBy(Worker.id).run(db) == [0, 2, 2, 1])
      #expect(try workers.whereAny(below).run(db).map(\.name) == ["Ada"])
      let sql = try tracedReads(db) { _ = try workers.including(above).run(db) }.last
      #expect(
        sql == """
          SELECT "worker"."id", "worker"."name", "worker"."boss_id", "worker"."salary", "worker_2"."id" FROM "worker" \
          JOIN "worker" AS "worker_2" ON "worker"."id" = "worker_2"."boss_id" WHERE "worker_2"."salary" > ? \
          AND "worker_2"."id" IN (?…)
          """)
      // The aliases of both parts differ.
      try Worker(id: 5, name: "Eve", bossId: 4, salary: 5).insert().run(db)
      try Worker(id: 6, name: "Fay", bossId: 5, salary: 5).insert().run(db)
      let tops = try workers.including(highest).run(db)
      #expect(tops.map { $0.1?.name } == [nil, nil, nil, nil, nil, "Ada"])
    }
  }

  @Test func classmatesAreReachedThroughTheJoinTableTwice() throws {
    try withSchool { db in
      let mates = Person.toMany(Person.self, through: Person.courses, using: Course.people)
      let others = mates.orderBy(Person.name)
      let found = try people.including(others).run(db)
      let welders = ["Anna", "Bo", "Cid"]
      #expect(found.map { $0.1.map(\.name) } == [["Anna"] + welders, welders, welders])
      #expect(try Person.select(mates.count()).orderBy(Person.id).run(db) == [4, 3, 3])
      #expect(try people.whereAny(mates.filter(Person.name == "Bo")).run(db).map(\.id) == [1, 2, 3])
    }
  }

  @Test func keysOfSeveralColumnsAreFollowed() throws {
    try withDatabase { db in
      try createOrders(db)
      let lines = OrderLine.toMany(OrderLine.self, through: OrderLine.placed, using: ShopOrder.lines)
      let rows = try OrderLine.read().orderBy(OrderLine.id).including(lines.orderBy(OrderLine.id), lines.count()).run(
        db)
      #expect(rows.map { $0.1.map(\.id) } == [[1, 2], [1, 2], [3], [], []])
      #expect(rows.map(\.2) == [2, 2, 1, 0, 0])
      let tags = OrderLine.toMany(OrderTag.self, through: OrderLine.placed, using: ShopOrder.tags)
      let tagged = try OrderLine.read().orderBy(OrderLine.id).including(tags.orderBy(OrderTag.name)).run(db)
      #expect(tagged.map { $0.1.map(\.name) } == [["gift", "large"], ["gift", "large"], ["gift"], [], []])
    }
  }

  @Test func aLimitInsideThrows() throws {
    try withSchool { db in
      let message =
        "the associations passed as `through` and `using` can't have a limit; limit the resulting association"
      let limited = [
        Person.toMany(Repair.self, through: Person.bikes.limit(1), using: Bicycle.repairs),
        Person.toMany(Repair.self, through: Person.bikes, using: Bicycle.repairs.limit(1)),
        Person.toMany(Repair.self, through: Person.bikes.first(), using: Bicycle.repairs).limit(1),
      ]
      for association in limited {
        #expect(sqlError { _ = try people.including(association).run(db) }?.message == message)
        expectInvalidStatement { _ = try people.including(association.count()).run(db) }
        expectInvalidStatement { _ = try people.whereAny(association).run(db) }
        expectInvalidStatement { _ = try Person.select(association.count()).run(db) }
      }
    }
  }

  /// SQL text can't be rewritten for the alias, and would read the other table of the same name.
  @Test func sqlTextInATableThatIsPassedTwiceIsRefused() throws {
    try withCompany { db in
      let boss = Worker.boss.filter(SqlExpression(sql: "worker.salary > \(4)"))
      let above = Worker.toOne(Worker.self, through: boss, using: Worker.boss)
      let error = expectInvalidStatement { _ = try Worker.read().including(above).run(db) }
      #expect(error?.message == "an association that joins a table twice can't contain SQL text")
      let team = Worker.toMany(Worker.self, through: Worker.team, using: Worker.team)
      let named = team.filter(SqlExpression(sql: "worker.name = \("Dan")"))
      let found = try Worker.read().orderBy(Worker.id).including(named).run(db)
      #expect(found.map { $0.1.map(\.name) } == [["Dan"], [], [], []])
    }
  }

  @Test func aTableThatIsNoLinkTableIsRefusedWithARemedy() throws {
    try withSchool { db in
      let repairs = Person.toMany(Repair.self, through: Bicycle.self, from: Bicycle.ownerId, to: Bicycle.id)
      let message = expectMisuse { _ = try people.including(repairs).run(db) }?.message
      #expect(
        message == """
          column id is not declared as a ForeignKey; declare the foreign key of the link table, \
          or use toMany(_:through:using:)
          """)
    }
  }

  @Test func allTablesOfThePathAreInOneDatabase() throws {
    try withSchool { db in
      try db.execute("ATTACH ':memory:' AS old")
      try db.execute("CREATE TABLE old.person AS SELECT * FROM main.person")
      try db.execute("CREATE TABLE old.bicycle AS SELECT * FROM main.bicycle")
      try db.execute("CREATE TABLE old.repair AS SELECT * FROM main.repair")
      try db.execute("DELETE FROM old.repair WHERE id > 1")
      try db.execute("UPDATE old.bicycle SET color = 'black'")
      let old = try Person.read().in(database: "old").orderBy(Person.id).including(
        Person.repairs.filter(Bicycle.color == "black")
      ).run(db)
      #expect(old.map { $0.1.map(\.id) } == [[1], [], []])
      let blacks = Person.toMany(
        Repair.self, through: Person.bikes.in(database: "old").filter(Bicycle.color == "black"),
        using: Bicycle.repairs)
      #expect(try people.including(blacks).run(db).map { $0.1.map(\.id) } == [[1], [], []])
      #expect(try people.whereAny(Person.repairs.in(database: "old")).run(db).map(\.id) == [1])
    }
  }

  @Test func aLiveResultFollowsTheTablesOfThePath() async throws {
    try await withMembers(PoolConfiguration(pollInterval: nil)) { pool in
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self, Repair.self)
        try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo")]).run(db)
        try Bicycle(name: "Norco", color: "red", ownerId: 1).insert().run(db)
        try Repair(id: 1, bicycleId: 1, cost: 7).insert().run(db)
      }
      var seen: [[Int]] = []
      for try await rows in people.including(Person.repairs.count()).updates(in: pool) {
        seen.append(rows.map(\.1))
        switch seen.count {
        case 1: _ = try await Bicycle.updateAll(Bicycle.ownerId.set(to: 2)).run(pool)
        case 2: _ = try await Repair(id: 2, bicycleId: 1, cost: 7).insert().run(pool)
        default: break
        }
        if seen.count == 3 { break }
      }
      #expect(seen == [[1, 0], [0, 1], [0, 2]])
    }
  }

  @Test func aRemoteDatabaseReadsThePath() async throws {
    let db = try SqliteDatabase.inMemory()
    try fillCompany(db)
    try db.createTable(Repair.self)
    try Repair.insert([(1, 1, 40), (2, 1, 25), (3, 2, 90)].map(Repair.init)).run(db)
    let rows = try await people.including(Person.repairs.orderBy(Repair.id), Person.repairs.count())
      .run(SameProcess(db: db))
    #expect(rows.map { $0.1.map(\.id) } == [[1, 2], [3], []])
    #expect(rows.map(\.2) == [2, 1, 0])
  }

  @Test func aDocumentNamesTheTablesOfThePath() throws {
    let known = people.including(Person.repairs)
    let sent = people.including(Person.repairs.filter(Bicycle.color == "red").orderBy(Repair.id))
    let json = try sent.json()
    #expect(
      String(decoding: json, as: UTF8.self) == """
        {"read":{"from":"person","including":[{"from":"repair","orderBy":[{"asc":{"column":"id","of":"repair"}}],\
        "referringBy":"bicycle_id","through":[{"referringBy":"owner_id","table":"bicycle"}],\
        "where":{"=":[{"column":"color","of":"bicycle"},"red"]}}],"orderBy":[{"asc":{"column":"id"}}]},"sqlable":1}
        """)
    #expect(try AssociatedQuery(json: json, like: known) == sent)
    try withSchool { db in
      let decoded = try AssociatedQuery(json: json, like: known)
      #expect(try decoded.run(db).map { $0.1.map(\.id) } == [[1, 2, 4], [], []])
    }
    let text = String(decoding: json, as: UTF8.self)
    for (part, other) in [
      (#""through":[{"referringBy":"owner_id","table":"bicycle"}],"#, ""),
      (#"{"referringBy":"owner_id","table":"bicycle"}"#, #"{"referredBy":"owner_id","table":"bicycle"}"#),
      (#"{"referringBy":"owner_id","table":"bicycle"}"#, #"{"referringBy":"owner_id","table":"person"}"#),
    ] {
      #expect(text.contains(part))
      let changed = Data(text.replacing(part, with: other).utf8)
      expectInvalidStatement { _ = try AssociatedQuery(json: changed, like: known) }
    }
  }

  @Test func aPolicyRestrictsTheTablesOfThePath() throws {
    let known = people.including(Person.repairs, Person.repairs.count())
    let visible = TablePolicy.table(Person.self).readingAll().sorting(Person.id)
    func policy(_ bikes: TablePolicy?) -> StatementPolicy {
      let repairs = TablePolicy.table(Repair.self).readingAll().filtering(Repair.bicycleId, by: .equality)
      guard let bikes else { return StatementPolicy(visible, repairs, features: [.aggregates]) }
      return StatementPolicy(visible, repairs, bikes, features: [.aggregates])
    }
    let shown = TablePolicy.table(Bicycle.self).filtering(Bicycle.ownerId, by: .equality)
      .filtering(Bicycle.id, by: .equality)
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let reds = try policy(shown.rows(where: Bicycle.name == "Norco")).statement(like: known, json: known.json())
      #expect(try reds.run(db).map { $0.1.map(\.id) } == [[1, 2], [], []])
      #expect(try reds.run(db).map(\.2) == [2, 0, 0])
      // Without the table, or without the columns that the path compares, the read is refused.
      let owners = TablePolicy.table(Bicycle.self).filtering(Bicycle.ownerId, by: .equality)
      for bikes in [nil, .table(Bicycle.self), owners] as [TablePolicy?] {
        let error = sqlError { _ = try policy(bikes).statement(like: known, json: known.json()) }
        #expect(error?.message == "the policy does not allow this")
      }
    }
  }
}
