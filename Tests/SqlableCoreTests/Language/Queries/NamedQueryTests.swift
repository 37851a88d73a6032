import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Named queries without a model.
@Suite struct NamedQueryTests {
  @Test func theColumnsOfANamedQueryAreTypedTerms() throws {
    try withCompany { db in
      let perBoss = Worker.select(Worker.bossId, countAll(), Worker.salary.max()).groupBy(Worker.bossId).named(
        "per_boss")
      let (boss, count, highest) = perBoss.columns
      let large = perBoss.read().filter(count > 1 && highest > 6).orderBy(boss)
      #expect(
        large.sql == #"""
          WITH RECURSIVE "per_boss" ("c1", "c2", "c3") AS (SELECT "boss_id", count(*), max("salary") FROM "worker" \#
          GROUP BY "boss_id") SELECT "per_boss"."c1", "per_boss"."c2", "per_boss"."c3" FROM "per_boss" \#
          WHERE "per_boss"."c2" > ? AND "per_boss"."c3" > ? ORDER BY "per_boss"."c1"
          """#)
      let rows: [(Int?, Int, Double?)] = try large.run(db)
      #expect(rows.map(\.0) == [1])
      #expect(rows.map(\.1) == [2])
      #expect(rows.map(\.2) == [7])
      let named = Worker.select(Worker.name, count).joining(perBoss, on: Worker.id == boss).orderBy(Worker.id)
      let pairs = try named.run(db)
      #expect(pairs.map(\.0) == ["Ada", "Ben"])
      #expect(pairs.map(\.1) == [2, 1])
      let all = Worker.select(Worker.name, count.typed(as: Int?.self).ifNull(0)).leftJoining(
        perBoss, on: Worker.id == boss)
      #expect(try all.orderBy(Worker.id).run(db).map(\.1) == [2, 1, 0, 0])
      #expect(try Worker.count().filter(Worker.id.in(perBoss.read().select(boss))).run(db) == 2)
    }
  }

  @Test func aNamedQuerysColumnsAreFoundByPosition() throws {
    try withCompany { db in
      let team = Worker.select(Worker.bossId, Worker.salary).named("team")
      let sums = team.read().select(team.columns.0, team.columns.1.sum())
        .groupBy(team.columns.0).orderBy(team.columns.0)
      #expect(
        sums.sql == #"""
          WITH RECURSIVE "team" ("c1", "c2") AS (SELECT "boss_id", "salary" FROM "worker") \#
          SELECT "team"."c1", sum("team"."c2") FROM "team" GROUP BY "team"."c1" ORDER BY "team"."c1"
          """#)
      let bosses = try sums.run(db).map(\.0)
      let ranked = team.read().select(
        team.columns.0.coalesce(team.columns.0), rank().over(partitionBy: team.columns.0, orderBy: team.columns.1.desc))
      let ranks = try ranked.run(db).map(\.1)
      #expect(bosses == [nil, 1, 2])
      #expect(ranks.sorted() == [1, 1, 1, 2])
      let none = team.read().groupBy()
      #expect(none.sql.hasSuffix(#"FROM "team""#))
    }
  }

  @Test func aNamedQueryMayBeRecursive() throws {
    try withCompany { db in
      let team = Worker.select(Worker.id, TypedExpression(0)).filter(Worker.bossId == nil).named("team") { team in
        let (id, level) = team.columns
        return Worker.select(Worker.id, level + 1).joining(team, on: Worker.bossId == id)
      }
      let (id, _) = team.columns
      let rows = try team.read().orderBy(id).run(db)
      #expect(rows.map(\.0) == [1, 2, 3, 4])
      #expect(rows.map(\.1) == [0, 1, 1, 2])
      // In a cycle, every worker is below itself. Only distinct rows end the recursion.
      try Worker.update(Worker.bossId.set(to: 4)).filter(Worker.id == 1).run(db)
      let under = Worker.select(Worker.id).filter(Worker.id == 1).named("under", distinct: true) { under in
        Worker.select(Worker.id).joining(under, on: Worker.bossId == under.column)
      }
      #expect(try under.read().run(db).count == 4)
    }
  }

  @Test func datesKeepTheFormOfTheirColumn() throws {
    try withDatabase { db in
      try db.createTable(Stay.self)
      let days = (0..<3).map { Date(timeIntervalSince1970: 1_700_000_000 + Double($0) * 86_400) }
      for (index, day) in days.enumerated() { try Stay(id: index, at: day).insert().run(db) }
      let last = Stay.select(Stay.id, Stay.iso, Stay.iso.max().over()).named("last")
      let (id, at, latest) = last.columns
      let rows = try last.read().filter(at >= days[1] && latest > days[0]).orderBy(id).run(db)
      #expect(rows.map(\.1) == [days[1], days[2]])
      #expect(rows.map(\.2) == [days[2], days[2]])
      #expect(try db.query("SELECT typeof(iso) FROM stay LIMIT 1", as: String.self) == ["text"])
    }
  }

  @Test func termsWithValuesGroupAndOrderByTheirPosition() throws {
    try withCompany { db in
      let half = Worker.salary / 2
      let groups = Worker.select(half, countAll()).groupBy(half).orderBy(half.desc)
      #expect(
        groups.sql == #"SELECT "salary" / ?, count(*) FROM "worker" GROUP BY 1 ORDER BY 1 DESC"#)
      for _ in 1...2 {
        let halves = try groups.run(db).map(\.0)
        #expect(halves == [5, 3.5, 2.5])
      }
      let other = Worker.select(half, countAll()).groupBy(half).orderBy(countAll())
      #expect(try other.run(db).map(\.1).last == 2)
      let both = Worker.select(Worker.name, half).union(Worker.select(Worker.name, TypedExpression(9.0)))
      #expect(try both.orderBy(half.desc, Worker.name.asc).limit(2).run(db).map(\.1) == [9, 9])
      let error = expectInvalidStatement { _ = try both.orderBy(Worker.salary / 3).run(db) }
      #expect(error?.message == "combined queries can only be ordered by columns of their result")
    }
  }

  @Test func existsSelectsNoColumns() throws {
    try withCompany { db in
      let owners = Person.read().filter(exists(Bicycle.read().filter(Bicycle.ownerId == Person.id)))
      #expect(
        owners.sql == #"""
          SELECT "id", "name" FROM "person" \#
          WHERE EXISTS (SELECT 1 FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id")
          """#)
      let names = try owners.run(db).map(\.name)
      #expect(names == ["Anna", "Bo"])
      // An aggregate returns a row even for an empty set.
      let always = Person.count().filter(exists(Bicycle.select(Bicycle.id.max()).filter(Bicycle.id < 0)))
      #expect(try always.run(db) == 3)
    }
  }
}
