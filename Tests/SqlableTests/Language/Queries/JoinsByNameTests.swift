import Sqlable
import Testing

@testable import SqlableTestSupport

/// Joins on columns of the same name.
@Suite struct JoinsByNameTests {
  private let other = Alias(Worker.self, "other")

  @Test func usingComparesColumnsOfTheSameName() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let named = Bicycle.join(Person.self, on: Person.using(Bicycle.id))
      #expect(named.sql.hasSuffix(#"FROM "bicycle" JOIN "person" ON "bicycle"."id" = "person"."id""#))
      let rows: [(Bicycle, Person)] = try named.orderBy(Bicycle.id).run(db)
      let byHand = try db.query(
        "SELECT person.name FROM bicycle JOIN person USING (id) ORDER BY id", as: String.self)
      #expect(rows.map(\.1.name) == byHand)
      #expect(byHand == ["Anna", "Bo", "Cid"])
      let both = Bicycle.leftJoin(Person.self, on: Person.using(Bicycle.id, Bicycle.name) && Person.id > 0)
      #expect(
        both.sql.hasSuffix(
          #"ON "bicycle"."id" = "person"."id" AND "bicycle"."name" = "person"."name" AND "person"."id" > ?"#))
      #expect(try both.run(db).allSatisfy { $0.1 == nil })
      let colleagues = Worker.select(Worker.name, other[Worker.name])
        .joining(other, on: other.using(Worker.bossId) && Worker.id < other[Worker.id])
      #expect(
        colleagues.sql.hasSuffix(
          #"ON "worker"."boss_id" = "other"."boss_id" AND "worker"."id" < "other"."id""#))
      let pairs = try colleagues.run(db)
      // Ada has no boss, and NULL equals nothing.
      #expect(pairs.map(\.0) == ["Ben"])
      #expect(pairs.map(\.1) == ["Cleo"])
      #expect(try colleagues.evaluate(over: MemoryTables(Worker.all)).map(\.0) == ["Ben"])
    }
  }

  @Test func usingAColumnThatTheTableLacksThrows() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      expectError(.schema(.missingColumn("color"))) {
        _ = try Bicycle.join(Person.self, on: Person.using(Bicycle.color)).run(db)
      }
      let own = expectInvalidStatement { _ = try Bicycle.join(Person.self, on: Person.using(Person.id)).run(db) }
      #expect(
        own?.message == "using(_:) needs columns of the other joined table, not columns of the model itself")
      expectError(.schema(.missingColumn("color"))) {
        _ = try Bicycle.read().joining(other, on: other.using(Bicycle.color)).run(db)
      }
    }
  }
}
