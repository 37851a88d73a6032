import Sqlable
import Testing

@testable import SqlableTestSupport

/// Joins that do not change the result's columns, and named queries with a second alias.
@Suite struct JoiningTests {
  private let boss = Alias(Worker.self, "boss")
  private let perBoss = Worker.select(Worker.bossId, countAll()).groupBy(Worker.bossId).named("per_boss")
  private let ids = Worker.select(Worker.id).filter(Worker.id < 3).named("ids")

  @Test func modelsAndAliasesAreLeftJoined() throws {
    try withCompany { db in
      let counts = Person.select(Person.name.typed(as: String.self), Bicycle.id.count().typed(as: Int.self))
        .leftJoining(Bicycle.self, on: Bicycle.ownerId == Person.id).groupBy(Person.id).orderBy(Person.id)
      #expect(
        counts.sql == #"""
          SELECT "person"."name", count("bicycle"."id") FROM "person" LEFT JOIN "bicycle" \#
          ON "bicycle"."owner_id" = "person"."id" GROUP BY "person"."id" ORDER BY "person"."id"
          """#)
      let found1 = try counts.run(db).map(\.1)
      #expect(found1 == [2, 1, 0])
      let bosses = Worker.read().leftJoining(boss, on: Worker.bossId == boss[Worker.id])
        .select(Worker.name, boss[Worker.name].typed(as: String?.self)).orderBy(Worker.id)
      let found2 = try bosses.run(db).map(\.1)
      #expect(found2 == [nil, "Ada", "Ada", "Ben"])
      let refused = Worker.read().leftJoining(boss, on: Worker.bossId == boss[Worker.id]).select(boss[Worker.name])
      let message = "a left join may find no row of boss; select the column as an optional with typed(as:)"
      #expect(sqlError { _ = try refused.run(db) }?.message == message)
    }
  }

  @Test func aNamedColumnIsLeftJoined() throws {
    try withCompany { db in
      let found = Worker.read().leftJoining(ids, on: ids.column == Worker.id)
        .select(Worker.id, ids.column.typed(as: Int?.self)).orderBy(Worker.id)
      #expect(found.sql.contains(#"FROM "worker" LEFT JOIN "ids" ON "ids"."c1" = "worker"."id""#))
      let found3 = try found.run(db).map(\.1)
      #expect(found3 == [1, 2, nil, nil])
    }
  }

  @Test func modelsAliasesAndNamedQueriesAreCrossJoined() throws {
    try withCompany { db in
      let all = Worker.select(Worker.id).crossJoining(Person.self).crossJoining(boss).crossJoining(perBoss)
        .crossJoining(ids)
      #expect(
        all.sql.hasSuffix(
          #"FROM "worker" CROSS JOIN "person" CROSS JOIN "worker" AS "boss" CROSS JOIN "per_boss" CROSS JOIN "ids""#))
      let count = try all.count(db)
      #expect(count == 4 * 3 * 4 * 3 * 2)
      let rates = values([("EUR", 1.0), ("USD", 2.0)]).named("rate")
      let salaries = Worker.select(Worker.salary * rates.columns.1).crossJoining(rates).filter(Worker.id == 1)
      #expect(try salaries.run(db).sorted() == [10, 20])
    }
  }

  @Test func elementsOfJSONAreLeftJoined() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE worker (id INTEGER PRIMARY KEY, name TEXT, boss_id INTEGER, salary REAL)")
      try Worker.insert([
        Worker(id: 1, name: #"["a","b"]"#, bossId: nil, salary: 1),
        Worker(id: 2, name: "[]", bossId: nil, salary: 1),
      ]).run(db)
      let element = JSONEach(Worker.name, as: "element")
      let value = element.value(as: String?.self)
      let all = Worker.select(Worker.id, value).leftJoining(element).orderBy(Worker.id).orderBy(value)
      #expect(
        all.sql.contains(#"FROM "worker" LEFT JOIN json_each("worker"."name") AS "element" ORDER BY"#))
      let rows = try all.run(db)
      #expect(rows.map(\.0) == [1, 1, 2])
      #expect(rows.map(\.1) == ["a", "b", nil])
      let some = Worker.select(Worker.id, value).leftJoining(element, on: value == "b").orderBy(Worker.id)
      let found4 = try some.run(db).map(\.1)
      #expect(found4 == ["b", nil])
    }
  }

  @Test func aNamedQueryMayHaveASecondAlias() throws {
    try withCompany { db in
      let larger = perBoss.alias("larger")
      let pairs = perBoss.read().select(perBoss.columns.0, larger.columns.0)
        .joining(larger, on: larger.columns.1 > perBoss.columns.1).orderBy(perBoss.columns.0)
      #expect(
        pairs.sql == #"""
          WITH RECURSIVE "per_boss" ("c1", "c2") AS (SELECT "boss_id", count(*) FROM "worker" GROUP BY "boss_id") \#
          SELECT "per_boss"."c1", "larger"."c1" FROM "per_boss" JOIN "per_boss" AS "larger" \#
          ON "larger"."c2" > "per_boss"."c2" ORDER BY "per_boss"."c1"
          """#)
      let rows = try pairs.run(db)
      #expect(rows.map(\.0) == [nil, 2])
      #expect(rows.map(\.1) == [1, 1])
      let found5 = try pairs.evaluate(over: MemoryTables(Worker.all)).map(\.1)
      #expect(found5 == [1, 1])
      // A query that uses only the second alias.
      let single = ids.alias("other")
      #expect(single.read().sql.hasSuffix(#"SELECT "other"."c1" FROM "ids" AS "other""#))
      #expect(try single.read().run(db).sorted() == [1, 2])
      #expect(ids.alias("ids") == ids)
      // The statement cache keeps queries with and without a second alias apart.
      #expect(try ids.read().run(db).sorted() == [1, 2])
      #expect(try single.read().run(db).sorted() == [1, 2])
    }
  }

  @Test func aModelsQueryMayHaveASecondAlias() throws {
    try withCompany { db in
      let team = Alias(Worker.self, "team") { team in
        Worker.read().filter(Worker.id == 1)
          .unionAll(Worker.read().joining(team.alias("known"), on: Worker.bossId == team.alias("known")[Worker.id]))
      }
      let above = team.alias("above")
      let pairs = team.read().join(above, on: team[Worker.bossId] == above[Worker.id]).orderBy(team[Worker.id])
      #expect(pairs.sql.contains(#"JOIN "team" AS "known" ON "worker"."boss_id" = "known"."id") SELECT"#))
      #expect(pairs.sql.contains(#"FROM "team" JOIN "team" AS "above" ON "team"."boss_id" = "above"."id""#))
      let rows = try pairs.run(db)
      #expect(rows.map(\.0.name) == ["Ben", "Cleo", "Dan"])
      #expect(rows.map(\.1.name) == ["Ada", "Ada", "Ben"])
      let other = boss.alias("other")
      #expect(other.read().sql.hasSuffix(#"FROM "worker" AS "other""#))
    }
  }

  @Test(.needs(35, "a MATERIALIZED hint")) func aMaterializedHintControlsTheQueryPlan() throws {
    try withCompany { db in
      let salaries = Worker.select(Worker.salary.max())
      let once = salaries.named("top", materialized: true)
      let each = salaries.named("top", materialized: false)
      #expect(
        once.read().sql == #"""
          WITH RECURSIVE "top" ("c1") AS MATERIALIZED (SELECT max("salary") FROM "worker") \#
          SELECT "top"."c1" FROM "top"
          """#)
      #expect(each.read().sql.contains(#"AS NOT MATERIALIZED (SELECT max("salary") FROM "worker")"#))
      #expect(try once.read().run(db) == [10])
      #expect(try each.read().run(db) == [10])
      #expect(try salaries.named("top").read().run(db) == [10])
      let plans = try [once.read(), each.read()].map { try $0.explain(db).description }
      #expect(plans[0].contains("MATERIALIZE top"))
      #expect(!plans[1].contains("MATERIALIZE"))
      let team = Alias(Worker.self, "team", materialized: true) { team in
        Worker.read().filter(Worker.id == 1)
          .unionAll(Worker.read().joining(team, on: Worker.bossId == team[Worker.id]))
      }
      #expect(team.read().sql.contains(#""salary") AS MATERIALIZED (SELECT"#))
      #expect(try team.read().count(db) == 4)
      let both = once.read().joining(each.alias("other"), on: .all([]))
      expectInvalidStatement { _ = try both.run(db) }
      let levels = Worker.select(Worker.id).filter(Worker.id == 1).named("levels", materialized: false) { levels in
        Worker.select(Worker.id).joining(levels, on: Worker.bossId == levels.column)
      }
      #expect(try levels.read().run(db).sorted() == [1, 2, 3, 4])
      #expect(levels.read().sql.contains("NOT MATERIALIZED"))
    }
  }

  @Test func twoQueriesWithOneNameAreRefusedDespiteAnAlias() throws {
    try withCompany { db in
      let others = Worker.select(Worker.id).filter(Worker.id > 2).named("ids")
      let joined = ids.read().joining(others.alias("other"), on: .all([]))
      let error = expectInvalidStatement { _ = try joined.run(db) }
      #expect(error?.message == "two different queries are named ids; rename one of the queries")
      let twice = ids.read().joining(ids, on: .all([]))
      expectInvalidStatement { _ = try twice.run(db) }
    }
  }
}
