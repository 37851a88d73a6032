import Sqlable
import SqlablePolicies
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Limits and offsets that are parameters or other terms.
@Suite struct LimitTermTests {
  private let ids = Worker.select(Worker.id).orderBy(Worker.id)

  @Test func aLimitCanBeAParameter() throws {
    try withCompany { db in
      let query = ids.limit(Parameter("count"), offset: Parameter("skipped"))
      #expect(query.sql == #"SELECT "id" FROM "worker" ORDER BY "id" LIMIT max(?, 0) OFFSET max(?, 0)"#)
      let prepared = try db.prepare(query)
      #expect(prepared.parameterNames == ["count", "skipped"])
      let found = try [(2, 1), (0, 0), (9, 3), (-1, 0), (2, -5)].map { try prepared.run($0.0, $0.1) }
      #expect(found == [[2, 3], [], [4], [], [1, 2]])
      let read = try db.prepare(Worker.read().filter(Worker.salary > 1).orderBy(Worker.id).limit(Parameter("count")))
      #expect(try read.run(["count": 3]).map(\.id) == [1, 2, 3])
      expectMisuse { _ = try query.run(db) }
    }
  }

  @Test func aLimitCanBeATerm() throws {
    try withCompany { db in
      let number = scalar(Person.read().count()).ifNull(0)
      let some = ids.limit(number)
      #expect(
        some.sql == """
          SELECT "id" FROM "worker" ORDER BY "id" \
          LIMIT max(coalesce((SELECT count(*) FROM "person"), ?), 0)
          """)
      let found = try some.run(db)
      #expect(found == [1, 2, 3])
      let rest = ids.offset(number - 1)
      #expect(rest.sql.hasSuffix("LIMIT ? OFFSET max(coalesce((SELECT count(*) FROM \"person\"), ?) - ?, 0)"))
      #expect(try rest.run(db) == [3, 4])
      // A constant term is the same limit as its number.
      #expect(ids.limit(TypedExpression(3)) == ids.limit(3))
      #expect(ids.offset(1).limit(2) == ids.limit(2, offset: 1))
      #expect(try ids.offset(3).run(db) == [4])
      #expect(try ids.offset(1).limit(1).run(db) == [2])
      #expect(Worker.read().offset(TypedExpression(2)) == Worker.read().offset(2))
      // A later limit replaces an earlier one.
      #expect(Worker.read().limit(Parameter("count")).limit(3).sql.hasSuffix("LIMIT ?"))
    }
  }

  @Test func countsFirstRowsAndSubqueriesObeyALimitTerm() throws {
    try withCompany { db in
      let two = ids.limit(TypedExpression(1) + 1)
      let count = try two.count(db)
      #expect(count == 2)
      #expect(try two.count().run(db) == 2)
      #expect(try two.first(db) == 1)
      let none = ids.limit(TypedExpression(1) - 1)
      #expect(try none.first(db) == nil)
      #expect(try !none.exists().run(db))
      #expect(try Worker.read().limit(TypedExpression(1) - 1).first().run(db) == nil)
      let names = Worker.select(Worker.name).filter(Worker.id.in(two))
      #expect(try names.run(db).sorted() == ["Ada", "Ben"])
      #expect(try two.evaluate(over: MemoryTables(Worker.all)) == [1, 2])
    }
  }

  @Test func invalidLimitsAreRefused() throws {
    try withCompany { db in
      let column = expectInvalidStatement { _ = try ids.limit(Worker.id).run(db) }
      #expect(column?.message == "a limit or offset can't depend on a column")
      expectSqlError {
        _ = try ids.limit(scalar(Person.read().filter(Person.id == Worker.id).count()).ifNull(1)).run(db)
      }
      expectInvalidStatement { _ = try ids.offset(-1).run(db) }
      let own = expectInvalidStatement { _ = try Worker.delete().limit(Worker.id).run(db) }
      #expect(own?.message == "a limit or offset can't depend on a column")
      let insert = Worker.all[0].insert().limit(Parameter("count"))
      let refused = expectInvalidStatement { _ = try insert.run(db) }
      #expect(refused?.message == "an insert can't have a limit")
      let null = try db.prepare(ids.limit(Parameter("count")))
      expectSqlError { _ = try null.run(["count": nil as Int?]) }
    }
  }

  @Test func theLimitOfAChangeCanBeAParameterOrATerm() throws {
    try withCompany { db in
      let delete = Worker.delete(Worker.id > 1).orderBy(Worker.id)
      let some = delete.limit(Parameter("count"), offset: Parameter("kept"))
      #expect(
        some.sql == #"""
          DELETE FROM "worker" WHERE "id" IN \#
          (SELECT "id" FROM "worker" WHERE "id" > ? ORDER BY "id" LIMIT max(?, 0) OFFSET max(?, 0))
          """#)
      let prepared = try db.prepare(some)
      #expect(prepared.parameterNames == ["count", "kept"])
      #expect(try prepared.run(0, 0) == 0)
      #expect(try prepared.run(-1, 0) == 0)
      #expect(try prepared.run(["count": 1, "kept": 1]) == 1)
      #expect(try Worker.select(Worker.id).orderBy(Worker.id).run(db) == [1, 2, 4])
      let update = Worker.update(Worker.salary.set(to: 1)).orderBy(Worker.id.desc)
        .limit(scalar(Person.read().count()).ifNull(0) - 1)
      #expect(
        update.sql == #"""
          UPDATE "worker" SET "salary" = ? WHERE "id" IN (SELECT "id" FROM "worker" ORDER BY "id" DESC \#
          LIMIT max(coalesce((SELECT count(*) FROM "person"), ?) - ?, 0))
          """#)
      #expect(try update.run(db) == 2)
      #expect(try Worker.select(Worker.salary).orderBy(Worker.id).run(db) == [10, 1, 1])
      #expect(try delete.offset(TypedExpression(2) - 1).run(db) == 1)
      #expect(delete.limit(TypedExpression(3)) == delete.limit(3))
      #expect(delete.limit(Parameter("n")).limit(2) == delete.limit(2))
      let null = try db.prepare(delete.limit(Parameter("count")))
      expectSqlError { _ = try null.run(["count": nil as Int?]) }
      let same = try Statement<Worker, Int>(json: some.json())
      #expect(same == some)
    }
  }

  @Test func aPolicyAddsItsLimitToChanges() throws {
    var limits = StatementPolicy.Limits()
    limits.rows = 2
    let policy = StatementPolicy(
      .table(Worker.self).readingAll().filtering(Worker.id, by: .equality, .comparison).sorting(Worker.id),
      kinds: [.delete], features: [.parameters], limits: limits)
    func restricted(_ change: Statement<Worker, Int>) throws -> Statement<Worker, Int> {
      try policy.statement(Statement<Worker, Int>.self, json: change.json())
    }
    let delete = Worker.delete(Worker.id > 1).orderBy(Worker.id)
    try withCompany { db in
      let limited = try restricted(delete.limit(Parameter("count")))
      #expect(limited.sql.hasSuffix(#"ORDER BY "id" LIMIT max(min(?, ?), 0))"#))
      #expect(try db.prepare(limited).run(3) == 2)
    }
    expectInvalidStatement { _ = try restricted(delete.limit(3)) }
    expectSqlError { _ = try restricted(delete.offset(Parameter("from"))) }
  }

  @Test func aPolicyAddsItsLimitToReads() throws {
    let policy = tenantPolicy(features: [.parameters])
    func restricted(_ query: Select<Int>) throws -> Select<Int> {
      try policy.statement(Select<Int>.self, json: query.json())
    }
    let ids = Account.select(Account.id).orderBy(Account.id)
    let limited = try restricted(ids.limit(Parameter("count")))
    #expect(limited.sql.hasSuffix("LIMIT max(min(?, ?), 0)"))
    let error = expectInvalidStatement { _ = try restricted(ids.offset(Parameter("from"))) }
    #expect(error?.documentPath == "read.offset")
    let without = tenantPolicy()
    expectInvalidStatement {
      _ = try without.statement(Select<Int>.self, json: ids.limit(Parameter("count")).json())
    }
  }
}
