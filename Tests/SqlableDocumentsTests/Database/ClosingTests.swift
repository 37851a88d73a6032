import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct ClosingTests {
  @Test func everyCallAfterCloseThrowsClosed() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      #expect(db.isOpen)
      try db.close()
      #expect(!db.isOpen)
      let calls: [() throws -> Void] = [
        { _ = try Person.read().run(db) },
        { try Person.read().forEach(db) { _ in } },
        { _ = try Person.byId(1).run(db) },
        { try Person(id: nil, name: "a").insert().run(db) },
        { try Person.insert([Person(id: nil, name: "a")]).run(db) },
        { try Person.insert([]).run(db) },
        { try Person.deleteAll().run(db) },
        { try db.execute("SELECT 1") },
        { _ = try db.query("SELECT 1", as: Int.self) },
        { try db.transaction { _ in } },
        { try db.beginTransaction() },
        { try db.commitTransaction() },
        { try db.rollbackTransaction() },
        { try db.createTable(Bicycle.self) },
        { _ = try db.createChild() },
        { _ = try Person.read().explain(db) },
        { try db.releaseMemory() },
      ]
      for call in calls { #expect(sqlError(call)?.kind == .closed) }
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func closingTwiceDoesNothing() throws {
    try withDatabase { db in
      try db.close()
      try db.close()
      #expect(!db.isOpen)
    }
  }

  @Test func theLastCloseRemovesTheWAL() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/db.sqlite")
      try db.createTable(Person.self)
      let child = try db.createChild()
      try db.close()
      #expect(try Set(FileManager.default.contentsOfDirectory(atPath: directory)).contains("db.sqlite-wal"))
      try child.close()
      #expect(files(in: directory) == ["db.sqlite"])
    }
  }

  @Test func aHandleInATransactionCannotBeClosed() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.transaction { db in
        try Person(id: nil, name: "Ann").insert().run(db)
        expectMisuse { try db.close() }
        #expect(db.isOpen)
      }
      try db.beginTransaction()
      expectMisuse { try db.close() }
      try Person(id: nil, name: "Bob").insert().run(db)
      try db.commitTransaction()
      #expect(try Person.count().run(db) == 2)
      try db.close()
    }
  }

  @Test func aHandleWhoseRowsAreReadCannotBeClosed() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert((1...3).map { (id: Int) in Person(id: id, name: "n\(id)") }).run(db)
      var seen: [Int] = []
      try Person.read().forEach(db) { person in
        expectMisuse { try db.close() }
        seen.append(person.id ?? 0)
      }
      #expect(seen == [1, 2, 3])
      _ = try db.query("SELECT 1") { _ in
        expectMisuse { try db.close() }
      }
      #expect(db.isOpen)
      try db.close()
    }
  }

  /// Observers run after the statement. A statement that still used the connection would keep it open after the close,
  /// or touch it without the lock.
  @Test(.needsPreupdateHook, arguments: [0, 1 << 20]) func anObserverMayCloseItsHandle(capacity: Int) throws {
    func insert(_ db: SqliteDatabase) throws { try Person(id: nil, name: "new").insert().run(db) }
    let runs: [(SqliteDatabase) throws -> Void] = [
      insert,
      { try Person.updateAll(Person.name.set(to: "x")).run($0) },
      { try Person.insert([Person(id: nil, name: "y")]).run($0) },
      { db in
        try Person.read().forEach(db) { _ in
          try insert(db)
          return .stop
        }
      },
      { try $0.prepare(Person.updateAll(Person.name.set(to: Parameter("name")))).run("x") },
      { db in
        try db.prepare(Person.read()).forEach([:]) { _ in
          try insert(db)
          return .stop
        }
      },
      { try $0.execute("DELETE FROM person") },
      { _ = try $0.query("DELETE FROM person RETURNING id", as: Int.self) },
    ]
    // The last statement needs RETURNING.
    for run in runs.dropLast(SQLiteLibrary.isAtLeast(35) ? 0 : 1) {
      try withDirectory { directory in
        let db = try SqliteDatabase(
          filepath: directory + "/db.sqlite", configuration: .init(statementCacheBytes: capacity))
        try db.createTable(Person.self)
        try insert(db)
        let left = Mutex<[String]?>(nil)
        db.observe(on: Person.self) { [unowned db] _ in
          try? db.close()
          left.withLock { $0 = $0 ?? files(in: directory) }
        }
        try run(db)
        #expect(left.withLock { $0 } == ["db.sqlite"])
      }
    }
  }

  @Test func childrenOutliveTheirParent() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let child = try db.createChild()
      let grandchild = try child.createChild()
      try db.close()
      try Person(id: nil, name: "Ann").insert().run(child)
      try child.close()
      #expect(try Person.count().run(grandchild) == 1)
      try Person(id: nil, name: "Bob").insert().run(try grandchild.createChild())
      #expect(try Person.count().run(grandchild) == 2)
    }
  }

  @Test func droppingAHandleRollsBackItsTransaction() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      var other: SqliteDatabase? = try SqliteDatabase(filepath: db.filepath)
      try other?.beginTransaction()
      try other.map { _ = try Person(id: nil, name: "lost").insert().run($0) }
      other = nil
      #expect(try Person.count().run(db) == 0)
      try Person(id: nil, name: "kept").insert().run(db)
    }
  }

  // MARK: Deleting the files

  @Test(arguments: [Configuration.JournalMode.wal, .persist])
  func deletingRemovesEveryFileOfTheDatabaseAndNoOther(mode: Configuration.JournalMode) throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: mode))
      try db.createTable(Person.self)
      try Data().write(to: URL(fileURLWithPath: path + "-other"))
      #expect(files(in: directory).count == (mode == .wal ? 4 : 3))
      try SqliteDatabase.deleteDatabase(at: path)
      #expect(files(in: directory) == ["db.sqlite-other"])
      try SqliteDatabase.deleteDatabase(at: path)
    }
  }

  @Test func aNewDatabaseTakesThePlaceOfTheDeletedOne() throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      var db = try SqliteDatabase(filepath: path)
      try db.createTable(Person.self)
      try db.close()
      try SqliteDatabase.deleteDatabase(at: path)
      db = try SqliteDatabase(filepath: path)
      expectError(.schema(.missingTable("person"))) { _ = try Person.count().run(db) }
    }
  }

  @Test func deleteDatabaseRefusesADirectory() throws {
    try withDirectory { directory in
      try Data().write(to: URL(fileURLWithPath: directory + "/precious"))
      expectSqlError { try SqliteDatabase.deleteDatabase(at: directory) }
      #expect(files(in: directory) == ["precious"])
    }
    for path in ["", "a\0b"] {
      expectMisuse { try SqliteDatabase.deleteDatabase(at: path) }
    }
  }

  @Test func filesThatCannotBeDeletedAreAnError() throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      try SqliteDatabase(filepath: path).close()
      let done = withUnwritable(directory) {
        expectError(.io) { try SqliteDatabase.deleteDatabase(at: path) }
        #expect(FileManager.default.fileExists(atPath: path))
      }
      if !done { print("skipped: nothing can be made unwritable here") }
    }
  }
}
