import Foundation
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

  @Test func aThousandCursorsAtOnceReadTheirRows() throws {
    try withCompany { db in
      let cursors = try (0..<1000).map { index in
        try Worker.select(Worker.id).filter(Worker.id > index % 4).orderBy(Worker.id).cursor(db)
      }
      for (index, cursor) in cursors.enumerated() { #expect(try cursor.next() == index % 4 + 1) }
    }
  }
}
