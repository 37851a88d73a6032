import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Counts and existence checks as queries of one value.
@Suite struct QuestionTests {
  private let dear = Worker.read().filter(Worker.salary > 6)
  private let pairs = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)

  /// Expects the count's SQL and value, and compares the value with the query's rows.
  private func expect<Row>(
    _ query: some SelectStatement<Row>, _ number: Int, _ sql: String, _ db: SqliteDatabase,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let count = query.count()
    #expect(count.sql == sql, sourceLocation: sourceLocation)
    #expect(try count.run(db) == number, sourceLocation: sourceLocation)
    #expect(try query.asSelect().run(db).count == number, sourceLocation: sourceLocation)
    #expect(try query.exists().run(db) == (number > 0), sourceLocation: sourceLocation)
    #expect(try query.count(db) == number, sourceLocation: sourceLocation)
  }

  @Test func everyQueryCountsItsRows() throws {
    try withCompany { db in
      try expect(dear, 2, #"SELECT count(*) FROM "worker" WHERE "worker"."salary" > ?"#, db)
      try expect(
        pairs, 3, #"SELECT count(*) FROM "bicycle" JOIN "person" ON "bicycle"."owner_id" = "person"."id""#, db)
      try expect(
        dear.limit(1), 1, #"SELECT count(*) FROM (SELECT 1 FROM "worker" WHERE "worker"."salary" > ? LIMIT ?)"#, db)
      try expect(
        Worker.select(Worker.bossId).groupBy(Worker.bossId), 3,
        #"SELECT count(*) FROM (SELECT "worker"."boss_id" FROM "worker" GROUP BY "worker"."boss_id")"#, db)
      try expect(
        Worker.select(Worker.salary).distinct(), 3,
        #"SELECT count(*) FROM (SELECT DISTINCT "worker"."salary" FROM "worker")"#, db)
      try expect(
        Worker.select(Worker.salary.max()).filter(Worker.id > 9), 1,
        #"SELECT count(*) FROM (SELECT max("worker"."salary") FROM "worker" WHERE "worker"."id" > ?)"#, db)
      try expect(
        Worker.select(Worker.id).unionAll(Person.select(Person.id.typed(as: Int.self))), 7,
        #"SELECT count(*) FROM (SELECT "worker"."id" FROM "worker" UNION ALL SELECT "person"."id" FROM "person")"#, db)
      try expect(values([1, 2, 3]), 3, "SELECT count(*) FROM (VALUES (?), (?), (?))", db)
      try expect(dear.filter(Worker.id > 9), 0, dear.filter(Worker.id > 9).count().sql, db)
    }
  }

  @Test func aNamedQueryCountsItsRows() throws {
    try withCompany { db in
      let team = Worker.select(Worker.id).filter(Worker.id == 1).named("team") { team in
        Worker.select(Worker.id).joining(team, on: Worker.bossId == team.column)
      }
      try expect(
        team.read(), 4,
        #"""
        SELECT count(*) FROM (WITH RECURSIVE "team" ("c1") AS (SELECT "worker"."id" FROM "worker" \#
        WHERE "worker"."id" = ? UNION ALL SELECT "worker"."id" FROM "worker" JOIN "team" \#
        ON "worker"."boss_id" = "team"."c1") SELECT "team"."c1" FROM "team")
        """#, db)
      let whole = Alias(Worker.self, "whole") { _ in Worker.read().orderBy(Worker.id).limit(3) }
      #expect(try whole.read().count().run(db) == 3)
      let last = whole.read().orderBy(whole[Worker.id]).count()
      #expect(try last.run(db) == 3)
      #expect(last.sql.hasPrefix("WITH RECURSIVE"))
    }
  }

  @Test func aCountIsAValueInAnotherQuery() throws {
    try withCompany { db in
      let other = Alias(Worker.self, "other")
      let below = other.read().filter(other[Worker.bossId] == Worker.id)
      let query = Worker.select(Worker.name, scalar(below.count())).filter(scalar(below.count()) >= 1).orderBy(
        Worker.id)
      #expect(
        query.sql == #"""
          SELECT "name", (SELECT count(*) FROM "worker" AS "other" WHERE "other"."boss_id" = "worker"."id") \#
          FROM "worker" \#
          WHERE (SELECT count(*) FROM "worker" AS "other" WHERE "other"."boss_id" = "worker"."id") >= ? ORDER BY "id"
          """#)
      let rows = try query.run(db)
      #expect(rows.map(\.0) == ["Ada", "Ben"])
      #expect(rows.map(\.1) == [2, 1])
      let both = dear.count().unionAll(pairs.count())
      #expect(try both.run(db).sorted() == [2, 3])
      let named = dear.count().asSelect().named("number")
      #expect(try named.read().filter(named.column > 1).run(db) == [2])
      let found6 = try query.evaluate(over: MemoryTables(Worker.all)).map(\.1)
      #expect(found6 == [2, 1])
      #expect(try dear.exists().evaluate(over: MemoryTables(Worker.all)) == [true])
    }
  }

  @Test func countsRunOnPoolsAndAsPreparedStatements() async throws {
    try withCompany { db in
      let count = Worker.read().filter(Worker.salary > Parameter("least")).count()
      let prepared = try db.prepare(count.asSelect())
      let found = [try prepared.first(6.0), try prepared.first(["least": 100.0])]
      #expect(found == [2, 0])
    }
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in
      try db.createTable(Worker.self)
      try Worker.insert(Worker.all).run(db)
    }
    let (count, isThere) = (try await dear.count().run(pool), try await dear.exists().run(pool))
    #expect(count == 2)
    #expect(isThere)
    #expect(dear.count().isReadOnly)
    let plan = try await dear.count().explain(pool)
    #expect(plan.scans == ["worker"])
  }

  @Test func aCountIsALiveResult() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in
      try db.createTable(Worker.self)
      try Worker.insert(Worker.all).run(db)
    }
    var counts = dear.count().updates(in: pool).makeAsyncIterator()
    let before = try await counts.next()
    try await Worker.deleteAll().run(pool)
    let after = try await counts.next()
    #expect(before == 2)
    #expect(after == 0)
    try await pool.close()
  }

  /// `{"read":{"select":[…]}}`: the document of a count is that of the query of one row.
  @Test func aCountIsEncodedAsTheQueryOfOneRow() throws {
    let count = dear.count()
    #expect(try count.json() == count.asSelect().json())
    #expect(try AnyStatement(count).json() == count.json())
    let sent = try JSONEncoder().encode(count)
    let decoded = try Select<Int>(json: sent, rules: StatementRules(models: [Worker.self]))
    #expect(decoded.sql == count.sql)
    try withCompany { db in
      let numbers = try decoded.run(db)
      #expect(numbers == [2])
    }
  }

  /// A count or existence check throws the errors that the query throws.
  @Test func countAndExistsThrowTheErrorsOfTheQuery() throws {
    try withCompany { db in
      expectInvalidStatement { _ = try dear.limit(-1).count().run(db) }
      expectSqlError { _ = try Worker.select(Bicycle.name).count().run(db) }
      expectSqlError { _ = try Worker.read().filter(Bicycle.name == "x").exists().run(db) }
      expectSqlError { _ = try Worker.read().orderBy(Bicycle.name).count().run(db) }
    }
  }

  @Test func aPolicyChecksAndRestrictsCounts() throws {
    let policy = tenantPolicy(features: [.subqueries, .aggregates, .literalRows])
    let count = Account.read().filter(Account.id > 0 - 1).count()
    expectInvalidStatement { _ = try policy.statement(Select<Int>.self, json: count.json()) }
    let all = Account.select(Account.id).count()
    let restricted = try policy.statement(Select<Int>.self, json: all.json())
    #expect(
      restricted.sql == #"""
        SELECT count(*) FROM (SELECT "account"."id" FROM "account" WHERE "account"."tenant" = ?) LIMIT ?
        """#)
    let without = tenantPolicy(features: [.subqueries, .literalRows])
    expectInvalidStatement { _ = try without.statement(Select<Int>.self, json: all.json()) }
  }
}
