import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

/// Counts and other aggregates of associated rows, included with their parents or used as terms.
@Suite struct AssociationValueTests {
  private static let costs = Bicycle.repairs.aggregate(Repair.cost.sum())

  @Test func aCountFiltersOrdersAndIsSelected() throws {
    try withSchool { db in
      let count = Person.bikes.count()
      let some = Person.read().filter(count > 0).orderBy(count, .desc).orderBy(Person.id)
      #expect(
        some.sql == """
          SELECT "id", "name" FROM "person" \
          WHERE (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") > ? \
          ORDER BY (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") DESC, "id"
          """)
      #expect(try some.run(db).map(\.name) == ["Anna", "Bo"])
      let rows = try Person.select(Person.name.typed(as: String.self), count, Person.courses.count()).orderBy(
        count.desc, Person.id.asc
      ).run(db)
      #expect(rows.map(\.0) == ["Anna", "Bo", "Cid"])
      #expect(rows.map(\.1) == [2, 1, 0])
      #expect(rows.map(\.2) == [2, 1, 1])
      #expect(try Person.count(count == 0).run(db) == 1)
      let most: (Person, Int)? = try Person.read().orderBy(count, .desc).including(count).first(db)
      #expect(most?.1 == 2)
      let filtered = Person.bikes.filter(Bicycle.color == "red").count()
      #expect(try Person.read().filter(filtered >= 1).orderBy(Person.id).run(db).map(\.id) == [1])
      try Person.update(Person.name.set(to: Person.name.concatenated("+"))).filter(count > 1).run(db)
      #expect(try Person.read().orderBy(Person.id).run(db).map(\.name) == ["Anna+", "Bo", "Cid"])
      #expect(try Bicycle.delete(Bicycle.repairs.count() == 0).run(db) == 1)
    }
  }

  /// A parent without rows gets the value that SQLite computes for an empty set.
  @Test func anAggregateComesWithTheRowsAndIsATerm() throws {
    try withSchool { db in
      let costs = AssociationValueTests.costs
      let read = Bicycle.read().orderBy(Bicycle.id).including(
        costs, Bicycle.repairs.aggregate(Repair.cost.total()), Bicycle.repairs.aggregate(Repair.cost.count()),
        Bicycle.repairs.filter(Repair.cost > 30).aggregate(Repair.cost.max() - 1),
        Bicycle.repairs.aggregate(Repair.cost.max().ifNull(-1)))
      let rows: [(Bicycle, Int?, Double, Int, Int?, Int)] = try read.run(db)
      #expect(rows.map(\.1) == [65, 90, 10, nil])
      #expect(rows.map(\.2) == [65, 90, 10, 0])
      #expect(rows.map(\.3) == [2, 1, 1, 0])
      #expect(rows.map(\.4) == [39, 89, nil, nil])
      #expect(rows.map(\.5) == [40, 90, 10, -1])
      let select = Bicycle.select(Bicycle.id.typed(as: Int.self), costs).filter(costs > 10 || costs.isNull).orderBy(
        costs.desc)
      #expect(try select.run(db).map(\.0) == [2, 1, 4])
      let texts = Mutex<[String]>([])
      let trace = db.trace { event in texts.withLock { $0.append(event.sql) } }
      _ = try Bicycle.read().including(costs).run(db)
      db.removeTrace(trace)
      let sql = texts.withLock { $0.filter { $0.contains("repair") } }
      #expect(
        sql == [
          """
          SELECT "bicycle_id", sum("cost") FROM "repair" WHERE "bicycle_id" IN (?…) GROUP BY "bicycle_id" \
          UNION ALL SELECT ?, sum("cost") FROM "repair" WHERE "bicycle_id" = ?
          """
        ])
    }
  }

  @Test func parentsWithoutRowsGetTheAggregateOfNoRows() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let owned = Bicycle.toMany(Course.self, by: Course.id, of: Bicycle.ownerId)
      let titles = owned.aggregate(Course.title.groupConcat())
      // The bicycle without an owner has no key to look up.
      let nobody = Bicycle.read().filter(Bicycle.ownerId.isNull)
      #expect(try nobody.including(titles, owned.count()).run(db).map(\.1) == [nil])
      #expect(try nobody.including(owned.aggregate(Course.id.total())).run(db).map(\.1) == [0])
      let all = try Bicycle.read().orderBy(Bicycle.id).including(titles).run(db)
      let selected = try Bicycle.select(titles).orderBy(Bicycle.id).run(db)
      #expect(all.map(\.1) == selected)
      #expect(selected.contains("Welding"))
      #expect(selected.contains(nil))
      #expect(try Bicycle.read().filter(Bicycle.id > 99).including(titles).run(db).isEmpty)
      try Enrolment.deleteAll().run(db)
      try Course.deleteAll().run(db)
      let none: [(Bicycle, String?, Int)] = try Bicycle.read().including(titles, owned.count()).run(db)
      #expect(none.map(\.1) == [nil, nil, nil, nil])
      #expect(none.map(\.2) == [0, 0, 0, 0])
    }
  }

  @Test func aSelfReferenceIsCountedUnderAnAlias() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let size = Worker.team.count()
      let bosses = Worker.read().filter(size > 0).orderBy(Worker.id)
      #expect(
        bosses.sql == """
          SELECT "id", "name", "boss_id", "salary" FROM "worker" \
          WHERE (WITH RECURSIVE "associated" ("c1", "c2", "c3", "c4", "c5") AS (SELECT "worker"."id", \
          "worker"."name", "worker"."boss_id", "worker"."salary", "worker"."boss_id" FROM "worker") SELECT count(*) \
          FROM "associated" WHERE "associated"."c5" = "worker"."id") > ? \
          ORDER BY "id"
          """)
      #expect(try bosses.run(db).map(\.name) == ["Ada", "Ben"])
      #expect(try Worker.read().orderBy(Worker.id).including(size).run(db).map(\.1) == [2, 1, 0, 0])
      // A count within a count finds the bosses of a boss.
      let grand = Worker.team.filter(size > 0).count()
      #expect(try Worker.read().filter(grand > 0).run(db).map(\.name) == ["Ada"])
      let pay = Worker.team.filter(Worker.salary > 0).aggregate(Worker.salary.max())
      let pays = try Worker.select(pay).orderBy(Worker.id).run(db)
      let workers = try Worker.read().orderBy(Worker.id).run(db)
      #expect(pays == workers.map { boss in workers.filter { $0.bossId == boss.id }.map(\.salary).max() })
      // A query that knows the table only by an alias.
      let other = Alias(Worker.self, "associated")
      let boss = Alias(Worker.self, "boss")
      #expect(try boss.read().filter(size == 1).run(db).map(\.name) == ["Ben"])
      let error = sqlError { _ = try other.read().filter(size == 1).run(db) }
      #expect(error?.message.contains("hides table associated") == true, "\(String(describing: error))")
      let pairs = Worker.join(boss, on: Worker.bossId == boss[Worker.id]).filter(size == 0).orderBy(Worker.id)
      #expect(try pairs.run(db).map(\.0.name) == ["Cleo", "Dan"])
    }
  }

  /// A nested aggregate may use the same table and column names as the enclosing query.
  @Test func nestedAggregatesGiveTheExpectedValues() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let size = Worker.team.count()
      let sizes = Worker.team.aggregate(size.sum())
      let bosses = Worker.team.aggregate(Worker.id.sum(where: size > 0))
      let both = Worker.team.aggregate((size + Worker.team.aggregate(Worker.id.count())).max())
      let named = Worker.team.aggregate(Worker.id.count(where: Worker.id.in(Worker.select(Worker.id).filter(size > 0))))
      let rows = try Worker.read().orderBy(Worker.id).including(sizes, bosses, both, named).run(db)
      let selected = try Worker.select(sizes, bosses, both, named).orderBy(Worker.id).run(db)
      #expect(rows.map(\.1) == [1, 0, nil, nil])
      #expect(selected.map(\.0) == rows.map(\.1))
      #expect(rows.map(\.2) == [2, nil, nil, nil])
      #expect(selected.map(\.1) == rows.map(\.2))
      #expect(rows.map(\.3) == [2, 0, nil, nil])
      #expect(selected.map(\.2) == rows.map(\.3))
      #expect(rows.map(\.4) == [1, 0, 0, 0])
      #expect(selected.map(\.3) == rows.map(\.4))
      let decoded = try Statement<Worker, [Worker]>(json: Worker.read().filter(sizes > 0).json())
      #expect(try decoded.run(db).map(\.name) == ["Ada"])
    }
  }

  /// A table may be its own join table.
  @Test func theJoinTableMayBeTheParentTable() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Member.self, Entry<Part>.self)
      try Member.insert([Member(id: 1, name: "a"), Member(id: 2, name: "b")]).run(db)
      try Entry<Part>.insert([Entry<Part>(1), Entry<Part>(2, 1, 1), Entry<Part>(3, 1, 2), Entry<Part>(4, 2, 2)])
        .run(db)
      let count = Part.makers.count()
      let greatest = Part.makers.aggregate(Part.id.max())
      let rows = try Entry<Part>.read().orderBy(Part.id).including(count, greatest).run(db)
      let selected = try Entry<Part>.select(count, greatest).orderBy(Part.id).run(db)
      #expect(rows.map(\.1) == [2, 1, 0, 0])
      #expect(selected.map(\.0) == [2, 1, 0, 0])
      #expect(rows.map(\.2) == [3, 4, nil, nil])
      #expect(selected.map(\.1) == [3, 4, nil, nil])
      let other = Alias(Entry<Part>.self, "other")
      #expect(try other.read().filter(count > 1).run(db).map { $0.values[0] } == [1])
    }
  }

  @Test func aCountThroughAJoinTableCountsLinks() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      try Enrolment(personId: 1, courseId: 1).insert().run(db)
      let count = Person.courses.count()
      #expect(try Person.select(count).orderBy(Person.id).run(db) == [3, 1, 1])
      let titles = Person.courses.filter(Enrolment.courseId < 9).aggregate(Course.title.min())
      #expect(try Person.select(titles).orderBy(Person.id).run(db) == ["Accounts", "Welding", "Welding"])
      let late = Person.courses.aggregate(Enrolment.courseId.max())
      #expect(try Person.select(late).orderBy(Person.id).run(db) == [2, 1, 1])
      #expect(try Person.read().orderBy(Person.id).including(late).run(db).map(\.1) == [2, 1, 1])
      // Finds bicycles whose owner has several.
      let several = Bicycle.owner.filter(Person.bikes.count() > 1)
      let found = try Bicycle.read().whereAny(several).orderBy(Bicycle.name).run(db)
      #expect(found.map(\.name) == ["Giant", "Norco"])
    }
  }

  @Test func anAssociationWithoutASingleValueIsRefused() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let none = Person.bikes.aggregate(Bicycle.name.typed(as: String.self))
      let limited = Person.bikes.limit(1).count()
      for read in [Person.read().filter(limited > 1), Person.read().filter(none == "x")] {
        expectInvalidStatement { _ = try read.run(db) }
      }
      expectInvalidStatement { _ = try Person.read().including(none).run(db) }
      expectInvalidStatement { _ = try Person.read().including(limited).run(db) }
      let wrong = Person.toMany(Repair.self, by: Repair.bicycleId).count()
      expectMisuse { _ = try Person.read().filter(wrong > 1).run(db) }
    }
  }

  private func error(of statement: some Runnable, _ db: SqliteDatabase) -> SqlError? {
    sqlError { _ = try statement.run(db) }
  }

  /// SQLite would compute an aggregate of the enclosing query's columns over the enclosing query.
  @Test func anAggregateUsesOnlyColumnsOfTheAssociatedRows() throws {
    let missing = SqlError.Kind.schema(.missingColumn("color"))
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let other = Bicycle.repairs.aggregate(Bicycle.color.max().typed(as: String?.self))
      #expect(error(of: Bicycle.select(other), db)?.kind == missing)
      #expect(error(of: Bicycle.read().including(other), db)?.kind == missing)
      let condition = Bicycle.repairs.aggregate(countAll(where: Bicycle.color == "red"))
      #expect(error(of: Bicycle.select(condition), db)?.kind == missing)
      let nested = Bicycle.repairs.aggregate(Bicycle.repairs.count().sum())
      #expect(
        error(of: Bicycle.select(nested), db)?.message == "a table of the subquery hides column id of the enclosing SQL"
      )
    }
  }

  /// SQL text does not show which table's columns it uses.
  @Test func sqlTextIsRefusedInASelfReferencingAggregate() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let text = Worker.team.aggregate(TypedExpression<Int>(sql: "id + 1").sum())
      let refusal = "an aggregate over an association from a table to itself can't contain SQL text"
      #expect(error(of: Worker.select(text), db)?.message == refusal)
      #expect(try Worker.read().orderBy(Worker.id).including(text).run(db).map(\.1) == [7, 5, nil, nil])
      let ordered = Person.courses.orderBy(Course.title).aggregate(Course.title.groupConcat())
      let unordered = "an aggregate can't use the order of associated rows; pass `orderBy:` to the aggregate"
      #expect(error(of: Person.select(ordered), db)?.message == unordered)
      let long = Bicycle.repairs.aggregate(countAll().expression.typed(as: Int64.self))
      #expect(try Bicycle.read().orderBy(Bicycle.id).including(long).run(db).map(\.1) == [2, 1, 1, 0])
    }
  }

  /// A function that is not an aggregate has no value for an empty set of rows.
  @Test func anAssociatedValueMustBeAnAggregate() throws {
    try withSchool { (db: SqliteDatabase) throws -> Void in
      let twice = ScalarFunction("twice") { (number: Int) in number * 2 }
      try db.register(twice)
      let doubled = Bicycle.read().including(Bicycle.repairs.aggregate(twice(Repair.cost)))
      #expect(error(of: doubled, db)?.message == "a value of associated rows must be an aggregate")
    }
  }

  /// Dates and decimals keep the storage format of their column.
  @Test func aggregatedDatesAndDecimalsKeepTheirColumnFormat() throws {
    try withDatabase { db in
      let lots = Member.toMany(Lot.self, by: Lot.buyer, of: Member.id)
      let (spent, last) = (lots.aggregate(Lot.price.sum()), lots.aggregate(Lot.soldAt.max()))
      try db.createTables(Member.self, Lot.self)
      try Member.insert([Member(id: 1, name: "a"), Member(id: 2, name: "b")]).run(db)
      let day = Date(timeIntervalSince1970: 86_400)
      try Lot.insert([
        Lot(id: 1, price: 2.5, soldAt: day, buyer: 1),
        Lot(id: 2, price: 0.25, soldAt: day + 60, buyer: 1),
      ]).run(db)
      let rows = try Member.read().orderBy(Member.id).including(spent, last).run(db)
      #expect(rows.map(\.1) == [2.75, nil])
      #expect(rows.map(\.2) == [day + 60, nil])
      let selected = try Member.select(spent, last).orderBy(Member.id).run(db)
      #expect(selected.map(\.0) == [2.75, nil])
      #expect(selected.map(\.1) == [day + 60, nil])
      #expect(try Member.read().filter(last > day).run(db).map(\.id) == [1])
      #expect(try Member.read().filter(spent == 2.75).run(db).map(\.id) == [1])
      #expect(try Member.read().filter(spent > 2.75).run(db).isEmpty)
    }
  }

  @Test(arguments: 1...times(20)) func randomCountsAndSumsMatchPlainSwift(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let workers = (1...Int.random(in: 1...25, using: &random)).map { id in
      Worker(
        id: id, name: "w\(id)", bossId: Bool.random(using: &random) ? Int.random(in: 1...8, using: &random) : nil,
        salary: Double(Int.random(in: 0...9, using: &random)))
    }
    let least = Double(Int.random(in: 0...9, using: &random))
    let wanted = Int.random(in: 0...3, using: &random)
    try withDatabase { db in
      try db.createTable(Worker.self)
      try Worker.insert(workers).run(db)
      let team = Worker.team.filter(Worker.salary >= least)
      func teamSalaries(of boss: Worker) -> [Double] {
        workers.filter { $0.bossId == boss.id && $0.salary >= least }.map(\.salary)
      }
      let sum = team.aggregate(Worker.salary.sum())
      let found = try Worker.read().filter(team.count() >= wanted).orderBy(Worker.id).including(team.count(), sum).run(
        db)
      let expected = workers.filter { teamSalaries(of: $0).count >= wanted }
      #expect(found.map(\.0) == expected)
      #expect(found.map(\.1) == expected.map { teamSalaries(of: $0).count })
      let sums = expected.map { teamSalaries(of: $0).isEmpty ? nil : teamSalaries(of: $0).reduce(0, +) }
      #expect(found.map(\.2) == sums)
      #expect(try Worker.select(sum).filter(team.count() >= wanted).orderBy(Worker.id).run(db) == sums)
      let decoded = try Statement<Worker, [Worker]>(json: Worker.read().filter(team.count() >= wanted).json())
      #expect(try decoded.orderBy(Worker.id).run(db) == expected)
    }
  }

  /// A part of a whole, whose rows also link wholes to their makers.
  private enum Part: TableDeclaration {
    static let name = "part"
    static let id = Entry<Part>.column("id", Int.self, PrimaryKey())
    static let whole = Entry<Part>.column("whole", Int?.self, ForeignKey<Entry<Part>>())
    static let maker = Entry<Part>.column("maker", Int?.self, ForeignKey<Member>())
    static let columns = [id.column, whole.column, maker.column]
    static let makers = Entry<Part>.toMany(Member.self, through: Entry<Part>.self, from: whole, to: maker)
  }
}
