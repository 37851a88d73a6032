import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// Combined queries whose parts are combined, ordered or limited.
@Suite struct NestedCompoundTests {
  private let all = Worker.select(Worker.id)
  private func some(_ condition: SqlExpression) -> Select<Int> { Worker.select(Worker.id).filter(condition) }

  @Test func nestedCompoundsKeepTheirNesting() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let (early, late) = (some(Worker.id < 3), some(Worker.id > 3))
      let query = all.union(values([9])).except(early.union(late)).orderBy(Worker.id)
      #expect(
        query.sql == #"""
          SELECT "id" FROM "worker" UNION SELECT * FROM (VALUES (?)) EXCEPT SELECT * FROM \#
          (SELECT "id" FROM "worker" WHERE "id" < ? UNION SELECT "id" FROM "worker" WHERE "id" > ?) ORDER BY "id"
          """#)
      let byHand = try db.query(
        """
        WITH other AS (SELECT id FROM worker WHERE id < 3 UNION SELECT id FROM worker WHERE id > 3)
        SELECT id FROM worker WHERE id NOT IN (SELECT id FROM other) UNION SELECT 9 ORDER BY id
        """, as: Int.self)
      #expect(try query.run(db) == byHand)
      #expect(byHand == [3, 9])
      // Without the nesting, the query has another result.
      #expect(try all.except(early).union(late).orderBy(Worker.id).run(db) == [3, 4])
      #expect(try query.count(db) == 2)
      #expect(try query.first(db) == 3)
      #expect(try Worker.read().filter(Worker.id.in(query)).run(db).map(\.id) == [3])
      let named = query.named("rest")
      #expect(try named.read().filter(named.column > 3).run(db) == [9])
      #expect(try query.evaluate(over: MemoryTables(Worker.all)) == [3, 9])
    }
  }

  @Test func eachCompoundPartKeepsItsOrderAndLimit() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let dearest = Worker.select(Worker.name).orderBy(Worker.salary.desc, Worker.id.asc).limit(1)
      let last = Worker.select(Worker.name).orderBy(Worker.id.desc).limit(1, offset: 1)
      let query = Worker.select(Worker.name).filter(Worker.id == 2).unionAll(dearest).unionAll(last)
        .orderBy(Worker.name).limit(2)
      #expect(
        query.sql == #"""
          SELECT "name" FROM "worker" WHERE "id" = ? UNION ALL \#
          SELECT * FROM (SELECT "name" FROM "worker" ORDER BY "salary" DESC, "id" LIMIT ?) UNION ALL \#
          SELECT * FROM (SELECT "name" FROM "worker" ORDER BY "id" DESC LIMIT ? OFFSET ?) ORDER BY "name" LIMIT ?
          """#)
      #expect(query.bindings == [2, 1, 1, 1, 2].map { .integer($0) })
      let rows = try query.run(db)
      #expect(rows == ["Ada", "Ben"])
      #expect(try query.limit(9).run(db) == ["Ada", "Ben", "Cleo"])
      #expect(try query.limit(9).evaluate(over: MemoryTables(Worker.all)) == ["Ada", "Ben", "Cleo"])
      // The cached statement runs with other values.
      let other = Worker.select(Worker.name).filter(Worker.id == 3).unionAll(dearest.limit(2)).unionAll(last)
        .orderBy(Worker.name).limit(9)
      #expect(try other.run(db) == ["Ada", "Cleo", "Cleo", "Cleo"])
      let models = Worker.read().filter(Worker.id == 4).union(Worker.read().orderBy(Worker.id).limit(1))
      #expect(try models.orderBy(Worker.id).run(db).map(\.id) == [1, 4])
    }
  }

  /// `a UNION (b UNION c)` equals `a UNION b UNION c`. EXCEPT is not associative.
  @Test func partsOfNestedUnionsAreFlattened() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let union = all.union(some(Worker.id < 2).union(some(Worker.id > 2)))
      #expect(!union.sql.contains("("))
      let except = all.except(all.except(some(Worker.id == 2)))
      #expect(except.sql.contains("EXCEPT SELECT * FROM (SELECT"))
      #expect(try except.run(db) == [2])
      let mixed = all.union(all.unionAll(all))
      #expect(mixed.sql.contains("UNION SELECT * FROM (SELECT"))
      #expect(try mixed.orderBy(Worker.id).run(db) == [1, 2, 3, 4])
      // A recursion with two steps: the boss of each worker, and the workers of each boss.
      let start = Worker.select(Worker.id).filter(Worker.id == 4)
      let (up, down) = (Alias(Worker.self, "up"), Alias(Worker.self, "down"))
      let family = start.named("family", distinct: true) { family in
        up.read().select(up[Worker.bossId].ifNull(0)).joining(family, on: up[Worker.id] == family.column)
          .union(down.read().select(down[Worker.id]).joining(family, on: down[Worker.bossId] == family.column))
      }
      if SQLiteLibrary.isAtLeast(34) {
        #expect(try family.read().orderBy(family.column).run(db) == [0, 1, 2, 3, 4])
      }
    }
  }

  @Test func namedQueriesAreDefinedInThePartThatUsesThem() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let low = Worker.select(Worker.id).filter(Worker.id < 3).named("low")
      let query = all.except(low.read().union(values([4])))
      #expect(
        query.sql == #"""
          SELECT "id" FROM "worker" EXCEPT SELECT * FROM (WITH RECURSIVE "low" ("c1") AS \#
          (SELECT "id" FROM "worker" WHERE "id" < ?) SELECT "low"."c1" FROM "low" UNION SELECT * FROM (VALUES (?)))
          """#)
      #expect(try query.run(db) == [3])
      // Two parts may define different queries under the same name.
      let high = Worker.select(Worker.id).filter(Worker.id > 3).named("low")
      let both = low.read().union(high.read().limit(5)).orderBy(low.column)
      #expect(try both.run(db) == [1, 2, 4])
      for limit in [1, 2] {
        let same = Worker.select(Worker.id).filter(Worker.id < 1 + limit).named("low")
        #expect(try low.read().except(same.read().limit(5)).run(db) == (limit == 1 ? [2] : []), "\(limit)")
      }
    }
  }

  @Test func aDocumentKeepsTheNesting() throws {
    let rules = StatementRules(models: [Worker.self])
    let query = all.except(some(Worker.id < 3).union(some(Worker.id > 3)).orderBy(Worker.id).limit(7))
    let json = try query.json()
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.hasPrefix(#"{"read":{"compounds":[{"except":{"compounds":[{"union":{"from":"worker""#))
    #expect(try Select<Int>(json: json, rules: rules) == query)
    #expect(try Select<Int>(json: json, rules: rules).sql == query.sql)
  }

  /// A limit without an order could reveal the order of an index.
  @Test func aPolicyOrdersLimitedParts() throws {
    let policy = StatementPolicy(
      .table(Worker.self).reading(Worker.id, Worker.name).filtering(Worker.id, by: .comparison)
        .rows(where: Worker.id != 1), features: [.compounds])
    let query = all.union(Worker.select(Worker.id).limit(1))
    let restricted = try policy.statement(Select<Int>.self, json: query.json())
    #expect(
      restricted.sql.contains(
        #"UNION SELECT * FROM (SELECT "id" FROM "worker" WHERE "id" <> ? ORDER BY "id" LIMIT ?)"#),
      "\(restricted.sql)")
    let many = all.union(Worker.select(Worker.id).limit(100_000))
    expectInvalidStatement { _ = try policy.statement(Select<Int>.self, json: many.json()) }
    let none = StatementPolicy(.table(Worker.self).reading(Worker.id))
    expectInvalidStatement { _ = try none.statement(Select<Int>.self, json: query.json()) }
  }
}
