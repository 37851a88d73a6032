import Sqlable
import Testing

@testable import SqlableTestSupport

/// VALUES with terms as cells.
@Suite struct TermRowsTests {
  private let rates = values([
    rowValue(TypedExpression("EUR"), TypedExpression(1.0) + 0.5),
    rowValue(TypedExpression("USD"), Parameter<Double>("usd")),
  ])

  @Test func cellsOfValuesMayBeTerms() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      #expect(rates.sql == "VALUES (?, ? + ?), (?, ?)")
      let prepared = try db.prepare(rates)
      let rows: [(String, Double)] = try prepared.run(["usd": 1.08])
      #expect(rows.map(\.0) == ["EUR", "USD"])
      #expect(rows.map(\.1) == [1.5, 1.08])
      let numbers = values([TypedExpression(2) + 3, TypedExpression(7) * 2])
      #expect(numbers.sql == "VALUES (? + ?), (? * ?)")
      #expect(try numbers.run(db) == [5, 14])
      #expect(try numbers.evaluate(over: MemoryTables()) == [5, 14])
      let counts = values([scalar(Person.read().count()), scalar(Worker.read().count())])
      #expect(counts.sql == #"VALUES ((SELECT count(*) FROM "person")), ((SELECT count(*) FROM "worker"))"#)
      #expect(try counts.run(db) == [3, 4])
    }
  }

  @Test func rowsOfTermsWorkWhereverAQueryDoes() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let some = values([TypedExpression(1) + 1, TypedExpression(4)])
      #expect(try Worker.read().filter(Worker.id.in(some)).run(db).map(\.id) == [2, 4])
      #expect(try some.union(Worker.select(Worker.id)).count(db) == 4)
      #expect(try some.exists().run(db))
      let (name, factor) = values([rowValue(TypedExpression("a"), TypedExpression(2) * 3)]).named("f").columns
      let named = values([rowValue(TypedExpression("a"), TypedExpression(2) * 3)]).named("f")
      let joined = Worker.select(Worker.id * factor, name).crossJoining(named).orderBy(Worker.id)
      #expect(try joined.run(db).map(\.0) == [6, 12, 18, 24])
      let added = Worker.insert(
        Worker.id, Worker.name, from: values([rowValue(TypedExpression(10) + 1, TypedExpression("Eve"))]))
      #expect(added.sql == #"INSERT INTO "worker" ("id", "name") VALUES (? + ?, ?)"#)
      // The cells may use columns of the enclosing query.
      let either = Worker.read().filter(TypedExpression(2).in(values([Worker.id + 0, Worker.bossId.ifNull(0)])))
      #expect(
        either.sql == #"""
          SELECT "id", "name", "boss_id", "salary" FROM "worker" \#
          WHERE ? IN (VALUES ("worker"."id" + ?), (coalesce("worker"."boss_id", ?)))
          """#)
      #expect(try either.run(db).map(\.id) == [2, 4])
      // A standalone VALUES has no columns to use.
      expectError(.schema(.missingColumn("id"))) { _ = try values([Worker.id]).run(db) }
      expectInvalidStatement { _ = try values([TypedExpression<Int>]()).run(db) }
      let document = try Select<(String, Double)>(json: rates.json())
      #expect(document == rates)
    }
  }
}
