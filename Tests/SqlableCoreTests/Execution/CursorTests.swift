import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

@Suite struct CursorTests {
  @Test func aCursorReadsRowsOnDemand() throws {
    try withCompany { db in
      let workers = try Worker.read().filter(Worker.salary > 1).orderBy(Worker.id).cursor(db)
      #expect(try workers.next() == Worker.all[0])
      // The handle can run other statements meanwhile, even the same one.
      #expect(try Worker.read().filter(Worker.salary > 1).orderBy(Worker.id).run(db) == Worker.all)
      let other = try Worker.read().filter(Worker.salary > 1).orderBy(Worker.id).cursor(db)
      #expect(try other.next() == Worker.all[0])
      #expect(try workers.next() == Worker.all[1])
      #expect(try other.next() == Worker.all[1])
      #expect(try workers.next() == Worker.all[2])
      #expect(try workers.next() == Worker.all[3])
      #expect(try workers.next() == nil)
      #expect(try workers.next() == nil)
    }
  }

  @Test func queriesHaveCursorsOfTuplesAndValues() throws {
    try withCompany { db in
      let pairs = try Worker.select(Worker.name, Worker.salary).orderBy(Worker.id).cursor(db)
      let first = try pairs.next()
      #expect(first?.0 == "Ada")
      #expect(first?.1 == 10)
      let names = try Worker.select(Worker.name).filter(Worker.id > 2).orderBy(Worker.id).cursor(db)
      #expect(try names.next() == "Cleo")
      #expect(try pairs.next()?.0 == "Ben")
      #expect(try names.next() == "Dan")
      #expect(try names.next() == nil)
      let owned = try Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id).orderBy(Bicycle.id.desc).cursor(
        db)
      #expect(try owned.next()?.1 == nil)
      #expect(try owned.next()?.1?.name == "Anna")
    }
  }

  @Test func textsAndListsStayBoundUntilTheEnd() throws {
    try withCompany { db in
      let names = (0..<100).map { "name \($0)" } + ["Ada", "Ben", "Cleo"]
      let cursor = try Worker.read().filter(Worker.name ∈ names && Worker.name.like("%e%")).orderBy(Worker.id).cursor(
        db)
      // These statements overwrite the handle's memory for values.
      for text in hostileTexts { _ = try Worker.count().filter(Worker.name == text).run(db) }
      #expect(try cursor.next()?.name == "Ben")
      #expect(try cursor.next()?.name == "Cleo")
      #expect(try cursor.next() == nil)
    }
  }

  @Test func anOpenCursorKeepsItsHandleFromClosing() throws {
    try withCompany { db in
      var cursor: Cursor<Worker>? = try Worker.read().cursor(db)
      _ = try cursor?.next()
      expectMisuse { try db.close() }
      // releaseMemory must not finalize the statement of an open cursor.
      try db.releaseMemory()
      db.observe(on: Worker.self) { _ in }
      #expect(try cursor?.next()?.name == "Ben")
      try Worker.deleteAll().run(db)
      cursor = nil
      try db.close()
      expectError(.closed) { _ = try Worker.read().cursor(db) }
    }
  }

  @Test(.needs(38, "->>")) func aDecodingErrorSkipsARowAndASQLiteErrorEndsTheCursor() throws {
    try withCompany { db in
      try db.execute("UPDATE worker SET salary = 'much' WHERE id = 2")
      let cursor = try Worker.read().orderBy(Worker.id).cursor(db)
      #expect(try cursor.next()?.id == 1)
      #expect(sqlError { _ = try cursor.next() }?.rowId == 2)
      #expect(try cursor.next()?.id == 3)
      expectError(.schema(.missingTable("nosuch"))) { _ = try Worker.read().in("nosuch").cursor(db) }
      expectInvalidStatement { _ = try Worker.deleteAll().returning().cursor(db) }
      expectInvalidStatement { _ = try Worker.read().limit(-1).cursor(db) }
      expectMisuse { _ = try Worker.read().filter(Worker.id == Parameter("id")).cursor(db) }
      let failing = try Worker.read().filter(Worker.name.jsonValue("a", as: Int.self) == 1).cursor(db)
      #expect(sqlError { _ = try failing.next() }?.message == "malformed JSON")
      #expect(try failing.next() == nil)
      try db.execute("UPDATE worker SET salary = 1 WHERE id = 2")
      withExtendedLifetime(cursor) {}
    }
  }

  private struct Pay: Decodable, Equatable {
    let name: String
    let bossId: Int?
  }

  @Test func sqlTextHasCursorsOfEveryTypeOfRows() throws {
    try withCompany { db in
      let least = 1.0
      let names = try SQL("SELECT name FROM worker WHERE salary > \(least) ORDER BY id").rows(as: String.self)
        .cursor(db)
      let bosses = try SQL("SELECT boss_id FROM worker ORDER BY id").rows(as: Int?.self).cursor(db)
      let workers = try SQL("SELECT 1 AS one, salary, name, boss_id, id FROM worker ORDER BY worker.id")
        .rows(as: Worker.self).cursor(db)
      let pairs = try SQL("SELECT p.*, b.name FROM person p JOIN bicycle b ON b.owner_id = p.id ORDER BY b.id")
        .rows(as: Person.self, String.self).cursor(db)
      let rows = try SQL("SELECT name, owner_id FROM bicycle ORDER BY id DESC").rows(as: DynamicRow.self).cursor(db)
      let pays = try SQL("SELECT name, boss_id FROM worker WHERE id IN (\([1, 4])) ORDER BY id").rows(as: Pay.self)
        .cursor(db)
      #expect(try names.next() == "Ada")
      #expect(try bosses.next() == .some(nil))
      #expect(try workers.next() == Worker.all[0])
      let pair = try pairs.next()
      #expect(pair?.0 == Person(id: 1, name: "Anna"))
      #expect(pair?.1 == "Norco")
      #expect(try rows.next()?.description == "name: Kona, owner_id: NULL")
      #expect(try rows.next()?.description == "name: Giant, owner_id: 1")
      #expect(try pays.next() == Pay(name: "Ada", bossId: nil))
      #expect(try pays.next() == Pay(name: "Dan", bossId: 2))
      // Other statements run meanwhile, and overwrite the handle's memory for values.
      for text in hostileTexts { _ = try Worker.count().filter(Worker.name == text).run(db) }
      #expect(try db.query("SELECT boss_id FROM worker ORDER BY id", as: Int?.self) == [nil, 1, 1, 2])
      #expect(try names.next() == "Ben")
      #expect(try bosses.next() == 1)
      for worker in Worker.all.dropFirst() { #expect(try workers.next() == worker) }
      #expect(try workers.next() == nil)
      #expect(try pays.next() == nil)
      try Worker.deleteAll().run(db)
      #expect(try SQL("SELECT name FROM worker").rows(as: String.self).cursor(db).next() == nil)
    }
  }

  @Test(.needs(35, "RETURNING")) func aCursorOverSQLThatChangesRowsIsRefused() throws {
    try withCompany { db in
      let texts: [SQL] = [
        "DELETE FROM worker RETURNING id", "UPDATE worker SET salary = 1", "CREATE TABLE other (id INTEGER)",
        "BEGIN", "PRAGMA user_version = 7", "SELECT 1; DELETE FROM worker", "SELECT id FROM worker WHERE id = ?", "",
        "SELECT '\(1)'",
      ]
      for text in texts {
        expectInvalidStatement("\(text.text)") { _ = try text.rows(as: Int.self).cursor(db) }
      }
      #expect(try Worker.read().orderBy(Worker.id).run(db) == Worker.all)
      #expect(try db.userVersion() == 0)
      expectMisuse { _ = try SQL("SELECT \(Parameter<Int>("x"))").rows(as: Int.self).cursor(db) }
      let missing: SQL = "SELECT * FROM nosuch"
      expectError(.schema(.missingTable("nosuch"))) { _ = try missing.rows(as: Int.self).cursor(db) }
      // No refused cursor keeps its statement open.
      try db.close()
      expectError(.closed) { _ = try SQL("SELECT 1").rows(as: Int.self).cursor(db) }
    }
  }

  @Test func theFirstStepOfACursorChecksTheColumnsOfSQL() throws {
    try withCompany { db in
      let rows = try SQL("SELECT * FROM person WHERE id = 1").rows(as: DynamicRow.self).cursor(db)
      let values = try SQL("SELECT * FROM person").rows(as: Int.self, String.self).cursor(db)
      let other = try SqliteDatabase(filepath: db.filepath)
      try other.execute("ALTER TABLE person ADD COLUMN age INTEGER")
      #expect(try rows.next()?.description == "id: 1, name: Anna, age: NULL")
      let error = expectMisuse { _ = try values.next() }
      #expect(error?.message == "the result has 3 columns, but 2 are read")
      #expect(try values.next() == nil)
      // Also without rows.
      let none = try SQL("SELECT id, name FROM person WHERE id > 9").rows(as: Int.self).cursor(db)
      expectMisuse { _ = try none.next() }
      let missing = try SQL("SELECT id FROM worker").rows(as: Worker.self).cursor(db)
      expectError(.schema(.missingColumn("salary"))) { _ = try missing.next() }
    }
  }

  @Test func aThousandCursorsAtOnceReadTheirRows() throws {
    try withCompany { db in
      let cursors = try (0..<1000).map { index in
        try Worker.select(Worker.id).filter(Worker.id > index % 4).orderBy(Worker.id).cursor(db)
      }
      for (index, cursor) in cursors.enumerated() { #expect(try cursor.next() == index % 4 + 1) }
    }
  }
}
