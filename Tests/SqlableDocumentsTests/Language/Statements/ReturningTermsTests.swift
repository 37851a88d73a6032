import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

@Suite(.needs(35, "RETURNING")) struct ReturningTermsTests {
  @Test func aChangeReturnsColumnsAndTermsOfItsRows() throws {
    try withCompany { db in
      let raise = Worker.update(Worker.salary.set(to: Worker.salary * 2)).filter(Worker.bossId == 1)
        .returning(Worker.name, Worker.salary, Worker.salary - 1)
      #expect(
        raise.sql == #"""
          UPDATE "worker" SET "salary" = "salary" * ? WHERE "boss_id" = ? RETURNING "name", "salary", "salary" - ?
          """#)
      let raised = try raise.run(db).sorted { $0.0 < $1.0 }
      #expect(raised.map(\.0) == ["Ben", "Cleo"])
      #expect(raised.map(\.1) == [10, 14])
      #expect(raised.map(\.2) == [9, 13])
      let gone: [Int] = try Worker.delete(Worker.id > 2).returning(Worker.id).run(db)
      #expect(gone.sorted() == [3, 4])
      let rows = try Bicycle(name: "Brompton", color: "red").insert().returning(Bicycle.id, Bicycle.ownerId).run(db)
      #expect(rows.map(\.values) == [[.integer(5), .null]])
    }
  }

  @Test func batchInsertsAndUpsertsReturnTerms() throws {
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

  @Test func returnedTermsAreTupleElementsByPosition() throws {
    try withCompany { db in
      let (id, name, salary) = (Worker.id, Worker.name, Worker.salary)
      let same = Worker.update(name.set(to: name)).filter(id == 2)
      #expect(try same.returning(id, name).run(db).first?.1 == "Ben")
      let three = try same.returning(id, id, name).run(db)
      #expect(three.map(\.2) == ["Ben"])
      let five = try same.returning(id, id, id, name, salary).run(db)
      #expect(five.map(\.4) == [5])
      let seven = try same.returning(id, id, id, id, id, name, salary).run(db)
      #expect(seven.map(\.6) == [5])
    }
  }

  @Test func firstReturnsOneRowOrNone() throws {
    try withCompany { db in
      let raise = Worker.update(Worker.salary.set(to: Worker.salary + 1)).filter(Worker.id == 2)
        .returning(Worker.name, Worker.salary).first()
      #expect(
        raise.sql == #"UPDATE "worker" SET "salary" = "salary" + ? WHERE "id" = ? RETURNING "name", "salary""#)
      let raised = try raise.run(db)
      #expect(raised?.0 == "Ben")
      #expect(raised?.1 == 6)
      let salary = try Worker.byId(2).run(db)?.salary
      #expect(salary == 6)
      let none = try Worker.delete(Worker.id > 9).returning(Worker.id).first().run(db)
      #expect(none == nil)
      // The statement changes all matching rows and returns one of them.
      let gone: Int? = try Worker.delete(Worker.id > 2).returning(Worker.id).first().run(db)
      let left = try Worker.count().run(db)
      #expect(gone.map { $0 > 2 } == true)
      #expect(left == 2)
    }
  }

  @Test func firstIsOneWriteAndHasADocumentForm() throws {
    let change = Worker.update(Worker.salary.set(to: 1)).filter(Worker.id == 2).returning(Worker.id).first()
    let data = try AnyStatement(change).json()
    let same = try Returning<Worker, Int>(json: data).first()
    #expect(same.sql == change.sql)
    let error = expectInvalidStatement { _ = try AnyStatement(Worker.deleteAll().returning(rowNumber()).first()) }
    #expect(error?.message.hasPrefix("RETURNING can't contain") == true)
    try withCompany { db in
      try db.transaction { db in
        let id = try db.run(change)
        #expect(id == 2)
        return TransactionResult.rollback
      }
      let salary = try Worker.byId(2).run(db)?.salary
      #expect(salary == 5)
    }
  }

  @Test func aggregatesAndWindowsInReturningAreRefused() throws {
    try withCompany { db in
      func message<Row>(_ change: Returning<Worker, Row>) -> String? {
        let error = expectInvalidStatement { _ = try change.run(db) }
        return error?.message
      }
      let all = Worker.updateAll(Worker.salary.set(to: 1))
      let end = ", which needs several rows; use a separate query or a subquery"
      #expect(message(all.returning(Worker.salary.sum())) == "RETURNING can't contain the aggregate sum()" + end)
      let count = message(all.returning(Worker.id, countAll() + 1))
      #expect(count == "RETURNING can't contain the aggregate count()" + end)
      #expect(message(all.returning(rowNumber())) == "RETURNING can't contain a window function" + end)
      let window = Worker.salary.sum().over(orderBy: Worker.id.asc)
      #expect(message(all.returning(window)) == "RETURNING can't contain a window function" + end)
      let kept = try Worker.read().run(db)
      #expect(kept == Worker.all)
      // A subquery may aggregate other rows.
      let counted = try Worker.delete(Worker.id == 4).returning(Worker.name, scalar(Person.read().count()))
        .run(db)
      #expect(counted.map(\.0) == ["Dan"])
      #expect(counted.map(\.1) == [3])
    }
  }

  @Test func returnedRowsShowTheStateBeforeTriggers() throws {
    try withCompany { db in
      try db.execute(
        "CREATE TRIGGER rename AFTER INSERT ON person BEGIN UPDATE person SET name = 'X' WHERE id = new.id; END")
      let returned = try Person(id: 4, name: "Eve").insert().returning().run(db)
      let stored = try Person.byId(4).run(db)
      #expect(returned.map(\.name) == ["Eve"])
      #expect(stored?.name == "X")
    }
  }

  @Test func anUnreadableReturnedTermChangesNothing() throws {
    try withCompany { db in
      let text = expectDecoding("INTEGER", "TEXT") {
        try Worker.deleteAll().returning(Worker.name.expression.typed(as: Int.self)).run(db)
      }
      #expect(text?.message == "worker.name should hold INTEGER, but holds TEXT", "\(String(describing: text))")
      let count = try Worker.count().run(db)
      #expect(count == 4)
      expectInvalidStatement { try Worker.count().returning(Worker.id).run(db) }
      expectError(.schema(.missingColumn("color"))) { try Worker.deleteAll().returning(Bicycle.color).run(db) }
    }
  }
}
