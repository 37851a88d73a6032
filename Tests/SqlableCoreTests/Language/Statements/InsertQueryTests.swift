import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Inserts of a query's rows.
@Suite struct InsertQueryTests {
  @Test func theRowsOfAQueryAreInsertedAndCounted() throws {
    try withCompany { db in
      let copy = Person.insert(
        Person.name, from: Worker.select(Worker.name).filter(Worker.salary == 5).orderBy(Worker.id))
      #expect(
        copy.sql == #"""
          INSERT INTO "person" ("name") SELECT "name" FROM "worker" WHERE "salary" = ? ORDER BY "id"
          """#)
      #expect(copy.bindings == [.real(5)])
      #expect(try copy.run(db) == 2)
      #expect(try Person.read().orderBy(Person.id).run(db).map(\.name) == ["Anna", "Bo", "Cid", "Ben", "Dan"])
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        let misses = try db.statementCacheUse.misses
        #expect(try copy.run(db) == 2)
        #expect(try db.statementCacheUse.misses == misses)
      }
    }
  }

  @Test func typedColumnsTakeTypedTerms() throws {
    try withCompany { db in
      let raised = Worker.insert(
        Worker.id, Worker.name, Worker.salary,
        from: Worker.select(Worker.id + 100, Worker.name, Worker.salary * 2).filter(Worker.bossId.isNull))
      #expect(
        raised.sql == #"""
          INSERT INTO "worker" ("id", "name", "salary") SELECT "id" + ?, "name", "salary" * ? FROM "worker" \#
          WHERE "boss_id" IS NULL
          """#)
      let count = try raised.run(db)
      #expect(count == 1)
      #expect(try Worker.byId(101).run(db) == Worker(id: 101, name: "Ada", bossId: nil, salary: 20))
      let one = Worker.insert(Worker.id, from: Worker.select(Worker.id + 200))
      #expect(sqlError { try one.run(db) }?.kind == .constraint(.notNull))
    }
  }

  @Test(.needs(35, "RETURNING")) func wholeRowsGoIntoAnotherTableOfTheSameLayout() throws {
    try withCompany { db in
      try db.createTable(Worker.self, named: "former")
      let leaving = Worker.read().filter(Worker.salary < 6)
      let move = Worker.insert(from: leaving).in("former")
      #expect(
        move.sql == #"""
          INSERT INTO "former" ("id", "name", "boss_id", "salary") \#
          SELECT "id", "name", "boss_id", "salary" FROM "worker" WHERE "salary" < ?
          """#)
      #expect(try move.run(db) == 2)
      #expect(try Worker.count().in("former").run(db) == 2)
      #expect(sqlError { try move.run(db) }?.kind == .constraint(.primaryKey))
      #expect(try move.ignoreOnConflict().run(db) == 0)
      #expect(try Worker.updateAll(Worker.salary.set(to: 1)).in("former").run(db) == 2)
      #expect(try move.replaceOnConflict().run(db) == 2)
      #expect(try Worker.read().in("former").run(db).map(\.salary) == [5, 5])
      let updated = move.onConflict(Worker.id, update: Worker.name, where: Worker.id > 2)
      #expect(
        updated.sql == #"""
          INSERT INTO "former" ("id", "name", "boss_id", "salary") SELECT * \#
          FROM (SELECT "id", "name", "boss_id", "salary" FROM "worker" WHERE "salary" < ?) \#
          WHERE 1 ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name" \#
          WHERE "former"."id" > ?
          """#)
      #expect(try updated.run(db) == 1)
      let back = try Worker.insert(from: Worker.read().in("former")).replaceOnConflict().returning().run(db)
      #expect(back.map(\.name).sorted() == ["Ben", "Dan"])
    }
  }

  @Test func wholeRowsAreInsertedWithoutGeneratedColumns() throws {
    try withCompany { db in
      try db.createTable(Seat.self)
      try db.createTable(Seat.self, named: "former")
      try Seat.insert([Seat(row: 1, letter: "A"), Seat(row: 2, letter: "B", price: 3)]).run(db)
      let move = Seat.insert(from: Seat.read().filter(Seat.label != "1A")).in("former")
      #expect(
        move.sql == #"""
          INSERT INTO "former" ("row", "letter", "price") SELECT "row", "letter", "price" FROM \#
          (SELECT "row", "letter", "price", "label" FROM "seat" WHERE "label" <> ?)
          """#)
      #expect(try move.run(db) == 1)
      #expect(try Seat.read().in("former").run(db).map(\.label) == ["2B"])
      let all = Seat.insert(from: Seat.read().union(Seat.read().in("former"))).in("former")
      #expect(try all.onConflict(Seat.row, Seat.letter, update: Seat.price).run(db) == 2)
      #expect(try Seat.count().in("former").run(db) == 2)
    }
  }

  @Test func joinsGroupsAndUnionsAreInserted() throws {
    try withCompany { db in
      try db.createTable(Note.self)
      let perOwner = Bicycle.read().joining(Person.self, on: Bicycle.ownerId == Person.id)
        .select(Bicycle.id.count(), Person.name).groupBy(Person.id)
      #expect(try Note.insert(Note.id, Note.name, from: perOwner).run(db) == 2)
      #expect(try Note.read().orderBy(Note.name).run(db) == [Note(id: 2, name: "Anna"), Note(id: 1, name: "Bo")])
      let both = Worker.select(Worker.id, Worker.name).union(values([(9, "z")]))
      #expect(try Note.insert(Note.id, Note.name, from: both).run(db) == 5)
    }
  }

  @Test func mismatchedQueriesAreRefusedBeforeSQLiteSeesThem() throws {
    try withCompany { db in
      try db.createTable(Seat.self)
      let wide = expectInvalidStatement {
        try Person.insert(Person.name, from: Worker.select(Worker.id, Worker.name)).run(db)
      }
      #expect(wide?.message == "the insert and the query have different numbers of columns: 1 and 2")
      let wrong = sqlError { try Person.insert(Person.name, from: Worker.select(Worker.id)).run(db) }
      #expect(wrong?.kind == .encoding(.init(expected: "TEXT", found: "INTEGER")))
      #expect(wrong?.column == "name")
      expectInvalidStatement { try Seat.insert(Seat.label.column, from: Worker.select(Worker.name)).run(db) }
      expectInvalidStatement { try Person.insert(from: Person.read()).limit(1).run(db) }
      expectInvalidStatement { try Person.insert(from: Person.read()).filter(Person.id > 1).run(db) }
      #expect(try Person.count().run(db) == 3)
      #expect(try Seat.count().run(db) == 0)
    }
  }

  @Test func anInsertFromAQueryNotifiesObserversOfEveryRow() throws {
    try withCompany { db in
      let heard = Mutex<[Int]>([])
      db.observe(.insert, on: Person.self) { id in heard.withLock { $0.append(id) } }
      try Person.insert(Person.name, from: Worker.select(Worker.name).orderBy(Worker.id)).run(db)
      #expect(heard.withLock { $0 } == [4, 5, 6, 7])
    }
  }
}
