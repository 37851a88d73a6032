import Sqlable
import Testing

@testable import SqlableTestSupport

/// Several named queries in one statement, some of which use others.
@Suite struct NamedQueriesBesideTests {
  private func low(_ limit: Int = 4) -> NamedColumn<Int> {
    Worker.select(Worker.id).filter(Worker.id < limit).named("low")
  }

  @Test func aNamedQueryIsDefinedOnceForAllItsUses() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let low = low()
      let next = low.read().select(low.column + 1).named("next")
      let both = low.read().joining(next, on: next.column == low.column).orderBy(low.column)
      #expect(
        both.sql == #"""
          WITH RECURSIVE "low" ("c1") AS (SELECT "id" FROM "worker" WHERE "id" < ?), \#
          "next" ("c1") AS (SELECT "low"."c1" + ? FROM "low") \#
          SELECT "low"."c1" FROM "low" JOIN "next" ON "next"."c1" = "low"."c1" ORDER BY "low"."c1"
          """#)
      #expect(try both.run(db) == [2, 3])
      // The order of the joined queries does not matter.
      let other = next.read().joining(low, on: next.column == low.column).orderBy(low.column)
      #expect(
        other.sql.hasPrefix(#"WITH RECURSIVE "next" ("c1") AS (SELECT "low"."c1" + ? FROM "low"), "low" ("c1") AS (S"#))
      #expect(try other.run(db) == [2, 3])
      let third = next.read().joining(low, on: next.column == low.column).select(next.column * 10).named("third")
      let all = third.read().crossJoining(low).crossJoining(next).distinct().orderBy(third.column)
      #expect(all.sql.components(separatedBy: #"AS (SELECT "id" FROM"#).count == 2)
      #expect(try all.run(db) == [20, 30])
      #expect(try all.evaluate(over: MemoryTables(Worker.all)) == [20, 30])
      let document = try Select<Int>(json: all.json(), rules: StatementRules(models: [Worker.self]))
      #expect(document == all)
      #expect(document.sql == all.sql)
    }
  }

  /// A query with other values is another query, and its name is visible only inside its user.
  @Test func aDifferentQueryOfTheSameNameIsDefinedLocally() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      func query(_ limit: Int) -> Select<Int> {
        let (outer, inner) = (low(), low(limit))
        let next = inner.read().select(inner.column + 1).named("next")
        return outer.read().joining(next, on: next.column == outer.column).orderBy(outer.column)
      }
      for _ in 0..<2 {
        #expect(try query(4).run(db) == [2, 3])
        #expect(try query(2).run(db) == [2])
        #expect(try query(3).run(db) == [2, 3])
      }
      #expect(query(2).sql.contains(#""next" ("c1") AS (WITH RECURSIVE "low""#))
      // The innermost definition of a name hides the outer ones.
      let (one, two) = (low(2), low(3))
      let usesOne = one.read().select(one.column * 100).named("uses_one")
      let middle = two.read().select(two.column + usesOne.column).crossJoining(usesOne).named("middle")
      let top = one.read().select(middle.column).crossJoining(middle).orderBy(middle.column)
      #expect(try top.run(db) == [101, 102])
      // In one FROM clause, the two queries clash.
      let clash = low().read().crossJoining(low(2))
      expectInvalidStatement { _ = try clash.run(db) }
    }
  }

  @Test func updatesUseSeveralNamedQueries() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let sums = Worker.select(Worker.bossId, Worker.salary.sum()).groupBy(Worker.bossId).named("sums")
      let most = sums.read().select(sums.columns.1.max()).named("most")
      let update = Worker.update(Worker.name.set(to: "top")).from(sums, on: sums.columns.0 == Worker.id)
        .from(most, on: most.column == sums.columns.1)
      #expect(
        update.sql == #"""
          WITH RECURSIVE "sums" ("c1", "c2") AS (SELECT "boss_id", sum("salary") FROM "worker" GROUP BY "boss_id"), \#
          "most" ("c1") AS (SELECT max("sums"."c2") FROM "sums") \#
          UPDATE "worker" SET "name" = ? FROM "sums" JOIN "most" \#
          WHERE "sums"."c1" = "worker"."id" AND "most"."c1" = "sums"."c2"
          """#)
      #expect(try update.run(db) == 1)
      #expect(try Worker.byId(1).run(db)?.name == "top")
    }
  }
}
