import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Delivery of commits to observers: time, thread and number of calls.
@Suite struct DeliveryTests {
  @Test(.needsPreupdateHook) func observersFilterByChangeTableAndRow() throws {
    try withDatabase { db in
      try db.createTables(Observed.Note.self, Observed.Country.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self, as: "any: ")
      log.listen(to: db, .insert, on: Observed.Note.self, as: "inserts: ")
      log.listen(to: db, .update, on: Observed.Note.self, id: 2, as: "updates of 2: ")
      log.listen(to: db, .delete, on: Observed.Note.self, id: 1, as: "deletes of 1: ")
      log.listen(to: db, on: Observed.Country.self, as: "countries: ")
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      #expect(
        log.take() == [
          "any: insert note 1",
          "inserts: insert note 1",
          "any: insert note 2",
          "inserts: insert note 2",
        ])
      try db.execute("UPDATE note SET text = id")
      #expect(log.take() == ["any: update note 1", "any: update note 2", "updates of 2: update note 2"])
      try db.execute("DELETE FROM note")
      #expect(log.take() == ["any: delete note 1", "deletes of 1: delete note 1", "any: delete note 2"])
      try db.execute("INSERT INTO country (code) VALUES ('fr')")
      #expect(log.take() == ["countries: insert country fr"])
    }
  }

  @Test(.needsPreupdateHook) func observersOfTwoTablesGetTheirOwnRowsInOneCommit() throws {
    try withDatabase { db in
      try db.createTables(Observed.Note.self, Observed.Country.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self)
      log.listen(to: db, on: Observed.Country.self)
      log.listen(to: db, .insert, on: Observed.Note.self, as: "again: ")
      try db.transaction { db in
        for id in 1...2 {
          try db.execute("INSERT INTO note (id) VALUES (\(id))")
          try db.execute("INSERT INTO country (code) VALUES (\("c\(id)"))")
        }
        try db.execute("INSERT INTO NOTE (id) VALUES (3)")
      }
      #expect(
        log.take() == [
          "insert note 1", "again: insert note 1", "insert country c1", "insert note 2", "again: insert note 2",
          "insert country c2", "insert note 3", "again: insert note 3",
        ])
    }
  }

  @Test func didUpdateReportsEveryTableButNoSchemaChange() throws {
    try withDatabase { db in
      let log = EventLog()
      log.listenToAll(of: db)
      try db.createTables(Person.self, Bicycle.self)
      try db.execute("CREATE TABLE plain (a, b)")
      try db.execute("ALTER TABLE plain ADD COLUMN c")
      #expect(log.take() == [])
      try Person(id: nil, name: "Ada").insert().run(db)
      try db.execute("INSERT INTO plain (rowid, a) VALUES (-7, 1)")
      try db.execute("ANALYZE")
      try db.execute("CREATE INDEX plain_a ON plain (a)")
      #expect(log.take() == ["insert person 1", "insert plain -7"])
      try db.execute("DROP TABLE plain")
      #expect(log.take() == [])
      db.didUpdate = nil
      try Person(id: nil, name: "Bob").insert().run(db)
      #expect(log.take() == [])
    }
  }

  @Test(.needsPreupdateHook, .needs(35, "RETURNING")) func structsAndRawSqlAndReturningQueriesAreReportedAlike() throws
  {
    try withDatabase { db in
      try db.createTable(Person.self)
      let log = EventLog()
      log.listen(to: db, on: Person.self)
      let id = try Person(id: nil, name: "a").insert().run(db)
      try Person(id: id, name: "b").save().run(db)
      try Person(id: 7, name: "c").save().run(db)
      try Person(id: 7, name: "d").update().run(db)
      try db.execute("INSERT INTO person (name) VALUES ('e'); UPDATE person SET name = 'f' WHERE id = 8")
      #expect(try db.query("INSERT INTO person (name) VALUES ('g') RETURNING id", as: Int.self) == [9])
      #expect(try db.query("DELETE FROM person WHERE id < 9 RETURNING id", as: Int.self).count == 3)
      try Person.deleteAll().run(db)
      #expect(
        log.take() == [
          "insert person 1",
          "update person 1",
          "insert person 7",
          "update person 7",
          "insert person 8",
          "update person 8",
          "insert person 9",
          "delete person 1",
          "delete person 7",
          "delete person 8",
          "delete person 9",
        ])
    }
  }

  @Test func changesComeAfterTheCommitOnTheCommittingThread() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let reader = try db.createChild()
      let log = EventLog()
      let threads = Mutex<[ObjectIdentifier]>([])
      db.observe(on: Observed.Note.self) { id in
        threads.withLock { $0.append(ObjectIdentifier(Thread.current)) }
        let stored = try reader.query("SELECT count(*) FROM note", as: Int.self)[0]
        log.add("\(id) of \(stored), level \(db.transactionLevel)")
      }
      try db.transaction { db in
        try db.execute("INSERT INTO note (id) VALUES (3), (1)")
        try db.transaction { try $0.execute("INSERT INTO note (id) VALUES (2)") }
        #expect(log.take() == [])
      }
      #expect(log.take() == ["3 of 3, level 0", "1 of 3, level 0", "2 of 3, level 0"])
      #expect(threads.withLock { $0 } == Array(repeating: ObjectIdentifier(Thread.current), count: 3))
    }
  }

  @Test func transactionsByHandAndInSqlAreDeliveredAtTheirCommit() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self)
      try db.beginTransaction()
      try db.execute("INSERT INTO note (id) VALUES (1)")
      try db.beginTransaction()
      try db.execute("INSERT INTO note (id) VALUES (2)")
      try db.commitTransaction()
      #expect(log.take() == [])
      try db.commitTransaction()
      #expect(log.take() == ["insert note 1", "insert note 2"])
      try db.execute("BEGIN; INSERT INTO note (id) VALUES (3); COMMIT")
      #expect(log.take() == ["insert note 3"])
      try db.execute("BEGIN; INSERT INTO note (id) VALUES (4); ROLLBACK")
      #expect(log.take() == [])
    }
  }

  @Test func deliveryWaitsForTheEndOfALoopOverRows() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert([Person(id: nil, name: "a"), Person(id: nil, name: "b")]).run(db)
      let log = EventLog()
      log.listen(to: db, on: Person.self)
      try Person.read().forEach(db) { person in
        try Person.update(Person.name.set(to: "x")).filter(Person.id == person.id).run(db)
        log.add("row \(person.id ?? 0)")
      }
      #expect(log.take() == ["row 1", "row 2", "update person 1", "update person 2"])
    }
  }

  @Test(.needsPreupdateHook) func observerAddedInATransactionGetsLaterRows() throws {
    try withDatabase { db in
      try db.createTable(Observed.Country.self)
      let log = EventLog()
      try db.transaction { db in
        try db.execute("INSERT INTO country (code) VALUES ('de')")
        log.listen(to: db, on: Observed.Country.self)
        try db.execute("INSERT INTO country (code) VALUES ('fr')")
      }
      #expect(log.take() == ["insert country fr"])
    }
  }

  @Test func attachedAndTemporaryTablesAreNotObserved() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/main.sqlite")
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self)
      log.listenToAll(of: db)
      try db.execute("ATTACH \(directory + "/other.sqlite") AS other")
      try db.execute("CREATE TABLE other.note (id INTEGER PRIMARY KEY, text TEXT)")
      try db.execute("CREATE TEMP TABLE scratch (a)")
      try db.execute("INSERT INTO other.note (id) VALUES (1)")
      try db.execute("INSERT INTO scratch VALUES (1)")
      #expect(log.take() == [])
      try db.execute("INSERT INTO main.note (id) VALUES (2)")
      #expect(log.take() == ["insert note 2", "insert note 2"])
    }
  }

  /// SQLite treats `Thing` and `thing` as one table.
  private struct Thing: Observed.Model {
    static let tableName = "Thing"
    static let id = Column("id", .integer, PrimaryKey())
    static let tableLayout = [id]
  }

  private struct OtherThing: Observed.Model {
    static let tableName = "thing"
    static let id = Column("id", .integer, PrimaryKey())
    static let tableLayout = [id]
  }

  @Test(.needsPreupdateHook) func modelsWhoseNamesDifferInCaseObserveOneTable() throws {
    for name in ["Thing", "thing", "THING"] {
      try withDatabase { db in
        try db.execute("CREATE TABLE \(table: name) (id INTEGER PRIMARY KEY)")
        let log = EventLog()
        let child = try db.createChild()
        log.listen(to: db, on: Thing.self, as: "1: ")
        let token = log.listen(to: db, on: OtherThing.self, as: "2: ")
        log.listen(to: child, on: OtherThing.self, as: "child: ")
        try child.execute("INSERT INTO thing VALUES (1)")
        db.queue.sync {}
        #expect(log.take().sorted() == ["1: insert Thing 1", "2: insert thing 1", "child: insert thing 1"])
        try db.execute("DELETE FROM thing")
        #expect(log.take() == ["1: delete Thing 1", "2: delete thing 1"])
        db.removeObserver(token)
        try db.execute("INSERT INTO thing VALUES (2)")
        #expect(log.take() == ["1: insert Thing 2"])
      }
    }
  }

  @Test(.needsPreupdateHook) func observedTableNamesIgnoreCase() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE Country (code TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID")
      let log = EventLog()
      log.listen(to: db, on: Observed.Country.self)
      try db.execute("INSERT INTO COUNTRY (code) VALUES ('de')")
      #expect(log.take() == ["insert country de"])
    }
  }

  @Test func deliveringThreadTakesOverLaterCommits() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      let (delivering, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let first = Mutex<Thread?>(nil)
      db.observe(on: Observed.Note.self) { id in
        log.add("\(id) on the first thread: \(first.withLock { $0 === Thread.current })")
        if id == 1 {
          delivering.signal()
          goOn.wait()
        }
      }
      let errors = Observed.threads(2) { index in
        if index == 0 {
          first.withLock { $0 = Thread.current }
          try db.execute("INSERT INTO note (id) VALUES (1)")
        } else {
          delivering.wait()
          try db.execute("INSERT INTO note (id) VALUES (2)")
          log.add("second returned")
          goOn.signal()
        }
      }
      #expect(errors.isEmpty)
      #expect(log.take() == ["1 on the first thread: true", "second returned", "2 on the first thread: true"])
    }
  }

  @Test func twoThreadsOnOneHandleNotifyExactlyOnce() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let heard = Mutex<[Int]>([])
      db.observe(.insert, on: Observed.Note.self) { id in heard.withLock { $0.append(id) } }
      let delivered = DispatchSemaphore(value: 0)
      db.observe(.insert, on: Observed.Note.self) { _ in delivered.signal() }
      let errors = Observed.threads(2) { thread in
        for index in 1...100 { try db.execute("INSERT INTO note (text) VALUES (\("\(thread) \(index)"))") }
      }
      #expect(errors.isEmpty)
      // One thread may end while the other still delivers the commits of both.
      for _ in 1...200 { delivered.wait() }
      #expect(heard.withLock { $0 } == Array(1...200))
    }
  }
}
