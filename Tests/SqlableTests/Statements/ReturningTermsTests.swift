import Sqlable
import Testing

@Suite struct ReturningTermsTests {
  @Test func aChangeGivesColumnsAndTermsOfItsRows() throws {
    try withCompany { db in
      let raise = Worker.update(Worker.salary.set(to: Worker.salary * 2)).filter(Worker.bossId == 1)
        .returning(Worker.name, Worker.salary, Worker.salary - 1)
      #expect(
        raise.sql == #"""
          UPDATE "worker" SET "salary" = "salary" * ? WHERE "boss_id" = ? RETURNING "name", "salary", "salary" - ?
          """#)
      let raised = try raise.run(db).sorted { $0.0 < $1.0 }
      #expect(raised.map(\.0) == ["Ben", "Cleo"] && raised.map(\.1) == [10, 14] && raised.map(\.2) == [9, 13])
      let gone: [Int] = try Worker.delete(Worker.id > 2).returning(Worker.id).run(db)
      #expect(gone.sorted() == [3, 4])
      let rows = try Bicycle(name: "Brompton", color: "red").insert().returning(Bicycle.id, Bicycle.ownerId).run(db)
      #expect(rows.map(\.values) == [[.integer(5), .null]])
    }
  }

  @Test func insertsOfManyAndUpsertsGiveThemToo() throws {
    try withCompany { db in
      let more = [Worker(id: 7, name: "Eve", bossId: 1, salary: 1), Worker(id: 8, name: "Fay", bossId: 1, salary: 2)]
      let ids = try Worker.insert(more).returning(Worker.id).run(db)
      #expect(ids == [7, 8])
      let saved = try Worker(id: 8, name: "Fay", bossId: 2, salary: 3).save().returning(Worker.id, Worker.salary).run(
        db)
      #expect(saved.map(\.1) == [3])
      let copied = try Person.insert(Person.name, from: Worker.select(Worker.name).filter(Worker.id == 7))
        .returning(Person.id.typed(as: Int.self)).run(db)
      #expect(copied == [4])
    }
  }

  @Test func whatDoesNotFitChangesNothing() throws {
    try withCompany { db in
      expectSqlError { try Worker.delete().returning(Worker.name.expression.typed(as: Int.self)).run(db) }
      let count = try Worker.count().run(db)
      #expect(count == 4)
      expectInvalidStatement { try Worker.count().returning(Worker.id).run(db) }
      expectError(.schema(.missingColumn("color"))) { try Worker.delete().returning(Bicycle.color).run(db) }
    }
  }
}
