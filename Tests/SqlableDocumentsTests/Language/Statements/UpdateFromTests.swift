import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// Updates that take values from other tables.
@Suite struct UpdateFromTests {
  private let boss = Alias(Worker.self, "boss")

  /// An update that pays each worker a tenth more than the boss.
  private var raise: Statement<Worker, Int> {
    Worker.update(Worker.salary.set(to: boss[Worker.salary] * 1.1)).from(boss, on: Worker.bossId == boss[Worker.id])
  }

  private func salaries(_ db: SqliteDatabase) throws -> [Double] {
    try Worker.select(Worker.salary).orderBy(Worker.id).run(db)
  }

  @Test func valuesComeFromTheRowThatMatches() throws {
    try withCompany { db in
      #expect(
        raise.sql == #"""
          UPDATE "worker" SET "salary" = "boss"."salary" * ? FROM "worker" AS "boss" \#
          WHERE "worker"."boss_id" = "boss"."id"
          """#)
      let before = try Worker.read().orderBy(Worker.id).run(db)
      let changed = try raise.run(db)
      let expected: [Double] = before.map { own in
        guard let boss = before.first(where: { $0.id == own.bossId }) else { return own.salary }
        return boss.salary * 1.1
      }
      #expect(try salaries(db) == expected)
      #expect(changed == before.filter { $0.bossId != nil }.count)
      // The cached statement runs with other values.
      #expect(try raise.filter(Worker.id == 2).run(db) == 1)
      #expect(try raise.filter(Worker.id == 1).run(db) == 0)
    }
  }

  @Test func severalTablesAreJoined() throws {
    try withCompany { db in
      let update = Bicycle.update(Bicycle.color.set(to: Worker.name))
        .from(Person.self, on: Bicycle.ownerId == Person.id)
        .from(Worker.self, on: Worker.id == Person.id)
        .filter(Person.name == "Anna" && Bicycle.id > 1)
      #expect(
        update.sql == #"""
          UPDATE "bicycle" SET "color" = "worker"."name" FROM "person" JOIN "worker" \#
          WHERE "bicycle"."owner_id" = "person"."id" AND "worker"."id" = "person"."id" AND "person"."name" = ? \#
          AND "bicycle"."id" > ?
          """#)
      let bikes = try update.returning().run(db)
      #expect(bikes == [Bicycle(id: 3, name: "Giant", color: "Ada", ownerId: 1)])
      let ids = try update.returning(Bicycle.id.typed(as: Int.self), Bicycle.color.typed(as: String.self)).run(db)
      #expect(ids.map(\.0) == [3])
      #expect(ids.map(\.1) == ["Ada"])
      // RETURNING can use only the updated table.
      expectError(.schema(.missingColumn("salary"))) { _ = try update.returning(Worker.salary).run(db) }
    }
  }

  @Test func aNamedQueryGivesValues() throws {
    try withCompany { db in
      let teams = Worker.select(Worker.bossId, countAll()).groupBy(Worker.bossId).named("team")
      let update = Worker.update(Worker.salary.set(to: Worker.salary + teams.columns.1.cast(to: Double.self)))
        .from(teams, on: Worker.id == teams.columns.0)
      let before = try Worker.read().orderBy(Worker.id).run(db)
      let changed = try update.run(db)
      let sizes = before.map { boss in before.filter { $0.bossId == boss.id }.count }
      let expected: [Double] = zip(before, sizes).map { $0.salary + Double($1) }
      #expect(try salaries(db) == expected)
      #expect(changed == sizes.filter { $0 > 0 }.count)
      let ids = Person.select(Person.id.typed(as: Int.self)).filter(Person.id < 2).named("ids")
      #expect(try Worker.update(Worker.name.set(to: "x")).from(ids, on: Worker.id == ids.column).run(db) == 1)
    }
  }

  @Test func observersAreNotifiedOfTheRowsThatChanged() throws {
    try withCompany { db in
      let seen = Mutex<[Int]>([])
      let token = db.observe(.update, on: Worker.self) { id in seen.withLock { $0.append(id) } }
      try raise.filter(Worker.id > 2).run(db)
      db.removeObserver(token)
      #expect(seen.withLock { $0.sorted() } == [3, 4])
    }
  }

  @Test func updateFromTakesParametersAndOtherTables() throws {
    try withCompany { db in
      let prepared = try db.prepare(raise.filter(Worker.name == Parameter("name")))
      let changed = try [prepared.run(["name": "Ben"]), prepared.run(["name": "nobody"])]
      #expect(changed == [1, 0])
      try db.createTable(Worker.self, named: "wor\"ker")
      try Worker.insert(from: Worker.read()).in("wor\"ker").run(db)
      let other = Worker.update(Worker.name.set(to: boss[Worker.name])).from(boss, on: Worker.id == boss[Worker.id])
        .in("wor\"ker")
      #expect(
        other.sql == #"""
          UPDATE "wor""ker" SET "name" = "boss"."name" FROM "worker" AS "boss" WHERE "wor""ker"."id" = "boss"."id"
          """#)
      #expect(try other.run(db) == 4)
    }
  }

  @Test func invalidUpdatesFromOtherTablesThrow() throws {
    try withCompany { db in
      func message(_ statement: Statement<Worker, Int>) -> String? { expectSqlError { try statement.run(db) }?.message }
      #expect(message(raise.limit(1)) == "an update that joins other tables can't have an order or limit")
      #expect(message(raise.orderBy(Worker.id)) == "an update that joins other tables can't have an order or limit")
      #expect(
        message(Worker.updateAll(Worker.salary.set(to: 1)).from(boss, on: Worker.id == boss[Worker.id]))
          == "updateAll(_:) changes every row of table worker, and can't join other tables")
      #expect(
        message(Worker.all[0].update().from(boss, on: Worker.id == boss[Worker.id]))
          == "an update of a struct can't have other tables")
      #expect(message(Worker.delete().from(boss, on: Worker.id == 1)) == "a delete can't have other tables")
      #expect(
        message(Worker.update(Worker.salary.set(to: 1)).from(Worker.self, on: Worker.id == 1))
          == "two tables of the query are named worker; use an alias")
      expectError(.schema(.missingColumn("color"))) {
        try Worker.update(Worker.name.set(to: Bicycle.color.typed(as: String.self))).filter(Worker.id == 1).run(db)
      }
      let workers = try Worker.read().orderBy(Worker.id).run(db)
      #expect(workers == Worker.all)
    }
  }

  @Test func anUpdateFromOtherTablesHasADocumentForm() throws {
    let teams = Worker.select(Worker.bossId, countAll()).groupBy(Worker.bossId).named("team")
    for update in [
      raise, raise.filter(Worker.id > 2),
      Worker.update(Worker.salary.set(to: teams.columns.1.cast(to: Double.self)))
        .from(teams, on: Worker.id == teams.columns.0).from(Person.self, on: Person.id == Worker.id),
    ] {
      let decoded = try Statement<Worker, Int>(json: update.json(), rules: StatementRules(models: documentModels))
      #expect(decoded == update)
      #expect(decoded.sql == update.sql)
      #expect(decoded.bindings == update.bindings)
      expectInvalidStatement { try AnyStatement(update).checkIsRepeatable() }
    }
  }

  @Test func anInvalidDocumentIsRefused() throws {
    try withCompany { db in
      let text = String(decoding: try raise.json(), as: UTF8.self)
      for (part, other) in [
        (#""join":"inner""#, #""join":"left""#), (#""as":"boss","#, ""),
        (#""table":"worker"}]"#, #""table":"nothing"}]"#), (#""set":["#, #""all":true,"set":["#),
        (#""set":["#, #""limit":1,"set":["#), (#""from":["#, #""from":["person","#),
      ] {
        let edited = text.replacing(part, with: other)
        #expect(edited != text)
        #expect(sqlError { try Statement<Worker, Int>(json: Data(edited.utf8)).run(db) } != nil, "\(edited)")
      }
      #expect(try Worker.read().orderBy(Worker.id).run(db) == Worker.all)
    }
  }
}
