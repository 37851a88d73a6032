import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Upserts that set terms, and upserts with a condition.
@Suite struct UpsertTests {
  @Test func anUpsertSetsTermsOfTheOldRowAndTheNew() throws {
    try withCompany { db in
      let more = Worker(id: 2, name: "Benjamin", bossId: 1, salary: 3).insert()
        .onConflict(
          Worker.id, set: Worker.salary.set(to: Worker.salary + Worker.salary.excluded),
          Worker.name.set(to: Worker.name.excluded))
      #expect(
        more.sql == #"""
          INSERT INTO "worker" ("id", "name", "boss_id", "salary") VALUES (?, ?, ?, ?) \#
          ON CONFLICT ("id") DO UPDATE \#
          SET "salary" = "worker"."salary" + "excluded"."salary", \#
          "name" = "excluded"."name"\#(SQLiteLibrary.returningId)
          """#)
      let id = try more.run(db)
      #expect(id == 2)
      #expect(try Worker.byId(2).run(db) == Worker(id: 2, name: "Benjamin", bossId: 1, salary: 8))
    }
  }

  @Test func anUpsertWithAConditionLeavesOtherRowsAsTheyAre() throws {
    try withCompany { db in
      func raise(_ id: Int, to salary: Double) throws -> Int {
        try Worker(id: id, name: "x", bossId: nil, salary: salary).insert()
          .onConflict(Worker.id, update: Worker.salary, where: Worker.salary < Worker.salary.excluded).run(db)
      }
      let ids = try [raise(2, to: 6), raise(1, to: 6), raise(9, to: 6)]
      #expect(ids == [2, 0, 9])
      #expect(try Worker.select(Worker.salary).orderBy(Worker.id).run(db) == [10, 6, 7, 5, 6])
      #expect(try Worker.byId(2).run(db)?.name == "Ben")
    }
  }

  @Test func untypedColumnsReadTheExcludedRow() throws {
    try withCompany { db in
      let statement = Bicycle(name: "Trek", color: "blue", ownerId: 3).insert()
        .onConflict(Bicycle.name, Bicycle.color, set: Bicycle.ownerId.set(to: Bicycle.ownerId.excluded))
      let id = try statement.run(db)
      #expect(id == 2)
      #expect(try Bicycle.byId(2).run(db)?.ownerId == 3)
    }
  }

  @Test func invalidUpsertsThrow() throws {
    try withCompany { db in
      let worker = Worker.all[1]
      expectInvalidStatement { try worker.insert().onConflict(Worker.id, where: Worker.id > 1).run(db) }
      expectInvalidStatement {
        try worker.insert().onConflict(Worker.id, set: Worker.name.set(to: "a"), Worker.name.set(to: "b")).run(db)
      }
      // A read has no excluded row.
      expectInvalidStatement { _ = try Worker.read().filter(Worker.id == Worker.id.excluded).run(db) }
      expectInvalidStatement {
        try worker.insert().ignoreOnConflict().onConflict(Worker.id, update: Worker.name).run(db)
      }
      expectError(.schema(.missingColumn("name"))) {
        try worker.insert().onConflict(Worker.id, set: Bicycle.name.set(to: "a")).run(db)
      }
    }
  }
}
