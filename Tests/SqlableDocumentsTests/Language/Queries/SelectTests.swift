import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

@Suite struct SelectTests {
  // MARK: Columns and terms

  @Test func typedColumnsAreTuplesAndOneColumnIsItsValue() throws {
    try withCompany { db in
      let pairs = Worker.select(Worker.name, Worker.salary).filter(Worker.salary < 10).orderBy(Worker.id)
      #expect(pairs.sql == #"SELECT "name", "salary" FROM "worker" WHERE "salary" < ? ORDER BY "id""#)
      let rows: [(String, Double)] = try pairs.run(db)
      #expect(rows.map(\.0) == ["Ben", "Cleo", "Dan"])
      #expect(rows.map(\.1) == [5, 7, 5])
      let names: [String] = try Worker.select(Worker.name).orderBy(Worker.name.desc).limit(2, offset: 1).run(db)
      #expect(names == ["Cleo", "Ben"])
      let raised = try Worker.select(Worker.salary * 2 + 1).filter(Worker.id == 1).run(db)
      #expect(raised == [21])
      let bosses: [Int?] = try Worker.select(Worker.bossId).distinct().orderBy(Worker.bossId).run(db)
      #expect(bosses == [nil, 1, 2])
      #expect(Worker.select(Worker.bossId).distinct().sql == #"SELECT DISTINCT "boss_id" FROM "worker""#)
      #expect(try pairs.first(db)?.0 == "Ben")
      #expect(try pairs.filter(Worker.id > 9).first(db) == nil)
    }
  }

  @Test func untypedColumnsComeAsDynamicRows() throws {
    try withCompany { db in
      let rows = try Bicycle.select(Bicycle.name, Bicycle.ownerId).orderBy(Bicycle.id.desc).run(db)
      #expect(
        rows.map(\.values) == [
          [.text("Kona"), .null],
          [.text("Giant"), .integer(1)],
          [.text("Trek"), .integer(2)],
          [.text("Norco"), .integer(1)],
        ])
      #expect(try rows[1].get(at: 0, as: String.self) == "Giant")
      #expect(try rows[0].get(at: 1, as: Int?.self) == nil)
      let null = expectDecoding("INTEGER", "NULL") { _ = try rows[0].get(at: 1, as: Int.self) }
      #expect(null?.message == "owner_id should hold INTEGER, but holds NULL")
      #expect(null?.column == "owner_id")
      let named = expectDecoding("INTEGER", "TEXT") { _ = try rows[1].get("name", as: Int.self) }
      #expect(named?.message == "name should hold INTEGER, but holds TEXT")
      #expect(named?.column == "name")
      expectMisuse { _ = try rows[0].get(at: 2, as: Int.self) }
      let typed = try Bicycle.select(Bicycle.name.typed(as: String.self), Bicycle.id.typed(as: Int.self))
        .orderBy(Bicycle.id).run(db)
      #expect(typed.map(\.1) == [1, 2, 3, 4])
    }
  }

  @Test func forEachStopsOnRequest() throws {
    try withCompany { db in
      var seen: [String] = []
      try Worker.select(Worker.name, Worker.id).orderBy(Worker.id).forEach(db) { name, id in
        seen.append(name)
        return id == 2 ? .stop : .continue
      }
      #expect(seen == ["Ada", "Ben"])
    }
  }

  // MARK: Groups

  @Test func aggregatesGiveOneRowForAll() throws {
    try withCompany { db in
      let query = Worker.select(
        countAll(),
        Worker.bossId.count(),
        Worker.salary.count(distinct: true),
        Worker.salary.sum(),
        Worker.salary.average(),
        Worker.name.max())
      #expect(
        query.sql == #"""
          SELECT count(*), count("boss_id"), count(DISTINCT "salary"), sum("salary"), avg("salary"), max("name") \#
          FROM "worker"
          """#)
      let row = try #require(try query.first(db))
      #expect(row == (4, 3, 3, 27, 6.75, "Dan"))
      let none = try #require(try query.filter(Worker.id > 100).first(db))
      #expect(none.0 == 0)
      #expect(none.3 == nil)
      #expect(none.4 == nil)
      #expect(none.5 == nil)
      #expect(try Worker.select(Worker.salary.total()).filter(Worker.id > 100).run(db) == [0])
      #expect(try Worker.select(Worker.bossId.min()).run(db) == [1])
      #expect(try Worker.select(Worker.name.groupConcat("+")).filter(Worker.id < 3).run(db) == ["Ada+Ben"])
    }
  }

  @Test func aggregatesFilterTheirRows() throws {
    try withCompany { db in
      let filtered = try Worker.select(
        Worker.bossId,
        countAll(where: Worker.salary > 5),
        Worker.salary.max(where: Worker.name != "Cleo")
      ).groupBy(Worker.bossId).orderBy(Worker.bossId).run(db)
      #expect(filtered.map(\.0) == [nil, 1, 2])
      #expect(filtered.map(\.1) == [1, 1, 0])
      #expect(filtered.map(\.2) == [10, 5, 5])
    }
  }

  @Test(.needs(39, "HAVING without GROUP BY")) func havingWithoutGroupsKeepsOrDropsTheOneRow() throws {
    try withCompany { db in
      let query = Worker.select(countAll(), Worker.salary.max())
      let many = query.having(countAll() > 1)
      #expect(many.sql == #"SELECT count(*), max("salary") FROM "worker" HAVING count(*) > ?"#)
      let rows = try many.run(db)
      #expect(rows.map(\.0) == [4])
      #expect(try query.having(countAll() > 4).run(db).isEmpty)
      #expect(try query.filter(Worker.id > 100).having(countAll() == 0).run(db).count == 1)
      #expect(try query.having(Worker.salary.max() < 0).exists().run(db) == false)
      #expect(try Select<DynamicRow>(json: many.json(), rules: StatementRules(models: [Worker.self])).sql == many.sql)
      for condition in [countAll() > 1, Worker.id > 1] {
        let error = expectInvalidStatement { _ = try Worker.select(Worker.salary).having(condition).run(db) }
        #expect(error?.message == "having needs groupBy, or an aggregate among the results")
      }
      let raw = sqlError { _ = try db.query("SELECT id FROM worker HAVING id > 1", as: Int.self) }
      #expect(raw?.message == "having needs groupBy, or an aggregate among the results")
    }
  }

  // MARK: Joins

  @Test func joinsGiveTheModelsOfAllTables() throws {
    try withCompany { db in
      let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).filter(Person.name == "Anna")
        .orderBy(Bicycle.id)
      #expect(
        owned.sql == #"""
          SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", \#
          "person"."name" \#
          FROM "bicycle" JOIN "person" ON "bicycle"."owner_id" = "person"."id" \#
          WHERE "person"."name" = ? ORDER BY "bicycle"."id"
          """#)
      let rows: [(Bicycle, Person)] = try owned.run(db)
      #expect(rows.map(\.0.name) == ["Norco", "Giant"])
      #expect(rows.map(\.1.name) == ["Anna", "Anna"])
      let all: [(Bicycle, Person?)] = try Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id)
        .orderBy(Bicycle.id).run(db)
      #expect(all.map(\.0.name) == ["Norco", "Trek", "Giant", "Kona"])
      #expect(all.map(\.1?.name) == ["Anna", "Bo", "Anna", nil])
      #expect(try Bicycle.crossJoin(Person.self).run(db).count == 12)
      let names = try Person.leftJoin(Bicycle.self, on: Bicycle.ownerId == Person.id)
        .select(Person.name.typed(as: String.self), Bicycle.id.count().typed(as: Int.self))
        .groupBy(Person.id).orderBy(Person.id).run(db)
      #expect(names.map(\.0) == ["Anna", "Bo", "Cid"])
      #expect(names.map(\.1) == [2, 1, 0])
    }
  }

  @Test func aTableIsJoinedWithItselfUnderAnotherName() throws {
    try withCompany { db in
      let (boss, top) = (Alias(Worker.self, "boss"), Alias(Worker.self, "t\"op"))
      let pairs = Worker.leftJoin(boss, on: Worker.bossId == boss[Worker.id]).orderBy(Worker.id)
      #expect(
        pairs.sql.hasSuffix(
          #"FROM "worker" LEFT JOIN "worker" AS "boss" ON "worker"."boss_id" = "boss"."id" ORDER BY "worker"."id""#
        ))
      let rows = try pairs.run(db)
      #expect(rows.map(\.0) == Worker.all)
      #expect(rows.map(\.1) == [nil, Worker.all[0], Worker.all[0], Worker.all[1]])
      let three = try Worker.join(boss, on: Worker.bossId == boss[Worker.id])
        .join(top, on: boss[Worker.bossId] == top[Worker.id]).select(Worker.name, boss[Worker.name], top[Worker.name])
        .run(db)
      try #require(three.count == 1)
      #expect(three[0] == ("Dan", "Ben", "Ada"))
      let error = sqlError { _ = try Worker.join(Worker.self, on: Worker.bossId == Worker.id).run(db) }
      #expect(error?.message == "two tables of the query are named worker; use an alias")
      let ambiguous = sqlError {
        _ = try boss.read().join(top, on: boss[Worker.id] == top[Worker.id]).filter(Worker.id == 1).run(db)
      }
      #expect(ambiguous?.message == "column id is ambiguous: several tables of the query have it; use an alias")
      let unknown = sqlError { _ = try Worker.select(boss[Worker.name]).run(db) }
      #expect(unknown?.message == "the query has no table with the alias boss")
    }
  }

  @Test func aTypedColumnOfALeftJoinedTableIsReadAsAnOptional() throws {
    try withCompany { db in
      let boss = Alias(Worker.self, "boss")
      let all = Worker.leftJoin(boss, on: Worker.bossId == boss[Worker.id]).orderBy(Worker.id)
      let names = try all.select(Worker.name, boss[Worker.name].typed(as: String?.self)).run(db)
      #expect(names.map(\.1) == [nil, "Ada", "Ada", "Ben"])
      let salaries = try all.select(boss[Worker.salary].typed(as: Double?.self)).run(db)
      #expect(salaries == [nil, 10, 10, 5])
    }
  }

  @Test func aColumnOfATableNotInTheQueryIsRefused() throws {
    try withCompany { db in
      let error = sqlError { _ = try Bicycle.select(Person.name).run(db) }
      #expect(error?.kind == .schema(.missingColumn("name")))
      let other = sqlError { _ = try Bicycle.join(Person.self, on: Worker.id == Person.id.typed(as: Int.self)).run(db) }
      #expect(other?.kind == .schema(.missingColumn("id")))
      #expect(Bicycle.select(Person.name).sql.hasPrefix("-- column name is not in the layout of table bicycle"))
    }
  }

  // MARK: Subqueries

  @Test func subqueriesAreListsValuesAndConditions() throws {
    try withCompany { db in
      let best = Worker.read().filter(Worker.salary == scalar(Worker.select(Worker.salary.max())))
      #expect(try best.run(db).map(\.name) == ["Ada"])
      // A correlated subquery finds the best-paid worker of each boss.
      let other = Alias(Worker.self, "other")
      let top = Worker.read().filter(
        Worker.salary
          == scalar(
            other.read().select(other[Worker.salary].max()).filter(other[Worker.bossId] == Worker.bossId)))
      #expect(try top.orderBy(Worker.id).run(db).map(\.name) == ["Cleo", "Dan"])
      #expect(
        try Worker.count().filter(Worker.bossId.notIn(Worker.select(Worker.id).filter(Worker.id > 1))).run(db) == 2)
      let deleted = try Bicycle.delete(Bicycle.ownerId.in(Person.select(Person.id).filter(Person.id == 2))).run(db)
      #expect(deleted == 1)
    }
  }

  @Test func invalidSubqueriesThrowPreciseErrors() throws {
    try withCompany { db in
      let two = sqlError { _ = try Bicycle.read().filter(Bicycle.id.in(Worker.select(Worker.id, Worker.name))).run(db) }
      #expect(two?.message == "a subquery used as a value has 2 columns instead of one")
      let hidden = sqlError {
        let boss = Alias(Worker.self, "e")
        let inner = Person.join(Alias(Person.self, "e"), on: Person.id > 0).filter(
          boss[Worker.id] == Person.id.typed(as: Int.self))
        _ = try boss.read().filter(exists(inner)).run(db)
      }
      #expect(
        hidden?.message == "a subquery hides table e of the enclosing query; use an alias",
        "\(String(describing: hidden))")
    }
  }

  /// SQLite moves an inner join's condition into WHERE, which would multiply the rows.
  @Test func aJoinConditionCannotUseATableJoinedLater() throws {
    try withCompany { db in
      let early = Worker.join(Person.self, on: Bicycle.ownerId == Worker.id).join(
        Bicycle.self, on: Bicycle.ownerId == Person.id)
      let error = expectError(.schema(.missingColumn("owner_id"))) { _ = try early.count(db) }
      #expect(error?.message.contains("is not in the layout of table worker, person") == true)
      let joined = Worker.join(Person.self, on: Person.id == Worker.id).join(
        Bicycle.self, on: Bicycle.ownerId == Person.id && Worker.id == Person.id)
      let expected = try db.query(
        """
        SELECT count(*) FROM worker JOIN person ON person.id = worker.id
        JOIN bicycle ON bicycle.owner_id = person.id
        """, as: Int.self)
      #expect(try joined.count(db) == expected[0])
    }
  }

  // MARK: Combined

  @Test func queriesAreCombined() throws {
    try withCompany { db in
      let rich = Worker.select(Worker.name).filter(Worker.salary >= 7)
      let early = Worker.select(Worker.name).filter(Worker.id <= 2)
      #expect(
        rich.union(early).sql
          == #"SELECT "name" FROM "worker" WHERE "salary" >= ? UNION SELECT "name" FROM "worker" WHERE "id" <= ?"#)
      let both = try rich.union(early).orderBy(Worker.name).run(db)
      #expect(both == ["Ada", "Ben", "Cleo"])
      #expect(try rich.unionAll(early).run(db).sorted() == ["Ada", "Ada", "Ben", "Cleo"])
      #expect(try rich.intersect(early).run(db) == ["Ada"])
      #expect(try rich.except(early).run(db) == ["Cleo"])
      #expect(try rich.unionAll(early).orderBy(Worker.name.desc).limit(1).run(db) == ["Cleo"])
      #expect(try rich.except(early.limit(1)).run(db) == ["Cleo"])
    }
  }

  // MARK: Windows

  @Test func windowFunctionsComputeAValueForEveryRow() throws {
    try withCompany { db in
      let query = Worker.select(
        Worker.name,
        rank().over(partitionBy: Worker.bossId, orderBy: Worker.salary.desc),
        Worker.salary.sum().over(orderBy: Worker.id.asc, frame: .rows(.preceding(1), .currentRow)),
        Worker.name.lag().over(orderBy: Worker.id.asc)
      ).orderBy(Worker.id)
      #expect(
        query.sql == #"""
          SELECT "name", rank() OVER (PARTITION BY "boss_id" ORDER BY "salary" DESC), \#
          sum("salary") OVER (ORDER BY "id" ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), \#
          lag("name", ?) OVER (ORDER BY "id") \#
          FROM "worker" ORDER BY "id"
          """#)
      let rows = try query.run(db)
      #expect(rows.map(\.1) == [1, 2, 1, 1])
      #expect(rows.map(\.2) == [10, 15, 12, 12])
      #expect(rows.map(\.3) == [nil, "Ada", "Ben", "Cleo"])
      let error = sqlError { _ = try Worker.select((Worker.salary * 2).over()).run(db) }
      #expect(error?.message == "only an aggregate or window function can have a window")
      let frame = sqlError {
        _ = try Worker.select(countAll().over(frame: .rows(.preceding(-1), .currentRow))).run(db)
      }
      #expect(frame?.message == "the bound of a window frame can't be negative")
    }
  }

  @Test func aDocumentReplacesEachColumnOnce() throws {
    try withCompany { db in
      let query = Worker.read(replacing: [Worker.name: Worker.name.uppercase(), Worker.salary: Worker.salary * 2])
      let text = String(decoding: try query.json(), as: UTF8.self)
      let decoded = try Select<Worker>(json: Data(text.utf8))
      #expect(decoded.sql == #"SELECT "id", upper("name"), "boss_id", "salary" * ? FROM "worker""#)
      #expect(try decoded.run(db).map(\.salary) == Worker.all.map { 2 * $0.salary })
      let edited = text.replacing(#"{"column":"salary","to""#, with: #"{"column":"name","to""#)
      #expect(edited != text)
      expectInvalidStatement { _ = try Select<Worker>(json: Data(edited.utf8)).run(db) }
    }
  }
}
