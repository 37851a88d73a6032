import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct ConfigurationTests {
  private func pragma(_ db: SqliteDatabase, _ name: String) throws -> String? {
    try db.query(SQL(verbatim: "PRAGMA \(name)")) { row in
      if let text = try? row.get(at: 0, as: String.self) { return text }
      return String(try row.get(at: 0, as: Int.self))
    }.first
  }

  @Test func defaultPragmasHaveTheDocumentedValues() throws {
    let defaults = [
      "journal_mode": "wal",
      "foreign_keys": "1",
      "synchronous": "1",
      "secure_delete": "2",
      "cache_size": "-8192",
      "trusted_schema": "1",
      "wal_autocheckpoint": "1000",
      "recursive_triggers": "0",
    ]
    try withDatabase { db in
      for (name, value) in defaults {
        let stored = try pragma(db, name)
        #expect(stored == value, "\(name)")
      }
    }
  }

  @Test func childrenHaveTheSameSettings() throws {
    let configuration = Configuration(
      label: "shop", busyTimeout: 1.25, synchronous: .full, foreignKeys: false, recursiveTriggers: true,
      secureDelete: .on, cacheSize: 512, walAutocheckpoint: 77, maximumPageCount: 1234)
    try withDatabase(configuration) { db in
      for handle in [db, try db.createChild(), try db.createChild().createChild()] {
        #expect(handle.configuration == configuration)
        #expect(try pragma(handle, "synchronous") == "2")
        #expect(try pragma(handle, "foreign_keys") == "0")
        #expect(try pragma(handle, "recursive_triggers") == "1")
        #expect(try pragma(handle, "secure_delete") == "1")
        #expect(try pragma(handle, "cache_size") == "-512")
        #expect(try pragma(handle, "wal_autocheckpoint") == "77")
        #expect(try pragma(handle, "max_page_count") == "1234")
      }
    }
  }

  @Test(arguments: [Configuration.JournalMode.wal, .delete, .truncate, .persist, .memory])
  func everyJournalModeCanBeSet(mode: Configuration.JournalMode) throws {
    try withDatabase(.init(journalMode: mode)) { db in
      #expect(try pragma(db, "journal_mode") == mode.rawValue)
      try db.createTable(Person.self)
      try Person(id: nil, name: "Ann").insert().run(db)
      #expect(try Person.count().run(db) == 1)
    }
  }

  @Test(arguments: [
    (Configuration.Synchronous.off, "0"),
    (.normal, "1"),
    (.full, "2"),
    (.extra, "3"),
  ])
  func everySynchronousLevelCanBeSet(synchronous: Configuration.Synchronous, value: String) throws {
    let stored = try withDatabase(.init(synchronous: synchronous)) { try pragma($0, "synchronous") }
    #expect(stored == value)
  }

  @Test(arguments: [(Configuration.SecureDelete.off, "0"), (.on, "1"), (.fast, "2")])
  func everySecureDeleteModeCanBeSet(secureDelete: Configuration.SecureDelete, value: String) throws {
    let stored = try withDatabase(.init(secureDelete: secureDelete)) { try pragma($0, "secure_delete") }
    #expect(stored == value)
  }

  @Test func inMemoryDatabasesHaveTheDefaults() throws {
    let db = try SqliteDatabase.inMemory()
    #expect(try pragma(db, "foreign_keys") == "1")
    #expect(try pragma(db, "trusted_schema") == "1")
    #expect(try pragma(db, "cache_size") == "-8192")
  }

  // MARK: Hardening

  @Test func doubleQuotedTextIsAMissingColumn() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t(x)")
      expectError(.schema(.missingColumn("nosuch"))) { _ = try db.query(#"SELECT "nosuch" FROM t"#, as: String.self) }
      expectError(.schema(.missingColumn("nosuch"))) { try db.execute(#"INSERT INTO t VALUES ("nosuch")"#) }
      expectSqlError { try db.execute(#"CREATE INDEX i ON t("nosuch")"#) }
      expectSqlError { try db.execute(#"CREATE TABLE u(x CHECK (x <> "nosuch"))"#) }
    }
  }

  @Test func theSchemaTableCannotBeWritten() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t(x)")
      try db.execute("PRAGMA writable_schema = ON")
      expectSqlError { try db.execute("UPDATE sqlite_schema SET sql = 'CREATE TABLE t(x, y)'") }
      expectSqlError { try db.execute("DELETE FROM sqlite_schema") }
      #expect(try db.query("SELECT sql FROM sqlite_schema", as: String.self) == ["CREATE TABLE t(x)"])
      try db.execute("PRAGMA journal_mode = off")
      #expect(try pragma(db, "journal_mode") == "wal")
    }
  }

  @Test func extensionsCannotBeLoaded() throws {
    try withDatabase { db in
      try db.execute("SELECT 1")
      expectSqlError { _ = try db.query("SELECT load_extension('/tmp/x.so')", as: String.self) }
    }
  }

  @Test func deleteTriggersFireForREPLACEWhenSwitchedOn() throws {
    for isOn in [true, false] {
      try withDatabase(.init(recursiveTriggers: isOn)) { db in
        try db.execute(
          """
          CREATE TABLE t (id INTEGER PRIMARY KEY, at INTEGER);
          CREATE TABLE gone (id);
          CREATE TRIGGER d AFTER DELETE ON t BEGIN INSERT INTO gone VALUES (old.id); END;
          INSERT INTO t VALUES (1, 0);
          REPLACE INTO t VALUES (1, 0);
          """)
        #expect(try db.query("SELECT count(*) FROM gone", as: Bool.self) == [isOn])
        // A recursive trigger fires itself, so its WHEN clause must end the recursion.
        try db.execute(
          """
          CREATE TRIGGER u AFTER UPDATE ON t WHEN new.at < 3 \
          BEGIN UPDATE t SET at = at + 1 WHERE id = new.id; END
          """)
        try db.execute("UPDATE t SET at = 1")
        #expect(try db.query("SELECT at FROM t", as: Int.self) == [isOn ? 3 : 2])
      }
    }
  }

  @Test func foreignKeysAreEnforcedUnlessSwitchedOff() throws {
    for isOn in [true, false] {
      try withDatabase(.init(foreignKeys: isOn)) { db in
        try db.createTables(Person.self, Bicycle.self)
        let error = sqlError { _ = try Bicycle(name: "Trek", color: "red", ownerId: 9).insert().run(db) }
        #expect(error?.kind == (isOn ? .constraint(.foreignKey) : nil))
      }
    }
  }

  // MARK: Invalid values

  @Test(arguments: [
    Configuration(label: "odd", busyTimeout: -1),
    .init(label: "odd", busyTimeout: .nan),
    .init(label: "odd", busyTimeout: .infinity),
    .init(label: "odd", busyTimeout: 2_147_484),
    .init(label: "odd", statementCacheBytes: -1),
    .init(label: "odd", cacheSize: 0),
    .init(label: "odd", cacheSize: -5),
    .init(label: "odd", cacheSize: .max),
    .init(label: "odd", walAutocheckpoint: -1),
    .init(label: "odd", walAutocheckpoint: .max),
    .init(label: "odd", maximumPageCount: 0),
    .init(label: "odd", maximumPageCount: -1),
    .init(label: "odd", maximumPageCount: .max),
  ])
  func anInvalidConfigurationIsRefusedBeforeOpening(configuration: Configuration) throws {
    try withDirectory { directory in
      let error = expectMisuse { _ = try SqliteDatabase(filepath: directory + "/a/db", configuration: configuration) }
      #expect(error?.label == "odd")
      #expect(files(in: directory) == [])
      let inMemory = expectMisuse { _ = try SqliteDatabase.inMemory(configuration: configuration) }
      #expect(inMemory == error)
    }
  }

  @Test(arguments: [
    Configuration(busyTimeout: 0),
    .init(busyTimeout: 2_147_483),
    .init(statementCacheBytes: 0),
    .init(statementCacheBytes: 1),
    .init(cacheSize: 1),
    .init(walAutocheckpoint: 0),
    .init(usesPreupdateHook: false),
  ])
  func theEndsOfEveryRangeWork(configuration: Configuration) throws {
    try withDatabase(configuration) { db in
      try db.createTable(Person.self)
      #expect(try Person.insert((1...20).map { Person(id: nil, name: "n\($0)") }).run(db).count == 20)
      try db.transaction { db in
        try Person.read().forEach(db) { person in
          try Person(id: person.id, name: person.name + "!").update().run(db)
        }
      }
      #expect(try Person.count().filter(Person.name.like("%!")).run(db) == 20)
    }
  }

  // MARK: The label

  @Test func theLabelIsInEveryErrorOfTheHandleAndItsChildren() throws {
    try withDatabase(.init(label: "shop")) { db in
      try db.createTable(Person.self)
      try db.execute("CREATE TABLE other(id INTEGER PRIMARY KEY, name)")
      try db.execute("INSERT INTO other VALUES (1, 2)")
      let child = try db.createChild()
      let closed = try db.createChild()
      try closed.close()
      let failures: [(String, () throws -> Void)] = [
        ("syntax", { try db.execute("SELEKT 1") }),
        ("missing table", { _ = try Bicycle.count().run(child) }),
        ("constraint", { try Person.insert([Person(id: 1, name: "a"), Person(id: 1, name: "b")]).run(db) }),
        ("commit without a transaction", { try db.commitTransaction() }),
        ("rollback without a transaction", { try child.rollbackTransaction() }),
        ("closed", { _ = try Person.count().run(closed) }),
        ("closed child", { _ = try closed.createChild() }),
        ("closed in a transaction", { try db.transaction { try $0.close() } }),
        ("level left open", { try db.transaction { _ = try $0.beginTransaction() } }),
        ("commit of a closure's", { try db.transaction { try $0.commitTransaction() } }),
        ("rollback of a closure's", { try db.transaction { try $0.rollbackTransaction() } }),
        ("decoding", { _ = try db.query("SELECT name FROM other", as: String.self) }),
        ("no such position", { _ = try db.query("SELECT 1") { try $0.get(at: 5, as: Int.self) } }),
        ("no such name", { _ = try db.query("SELECT 1") { try $0.get("x", as: Int.self) } }),
        ("parameters", { _ = try db.query("SELECT '\(1)'", as: Int.self) }),
        ("parameters of execute", { try db.execute("SELECT '\(1)'") }),
        ("more parameters", { try db.execute("SELECT ?") }),
        ("two statements", { _ = try db.query("SELECT 1; SELECT 2", as: Int.self) }),
        ("no statement", { _ = try db.query("", as: Int.self) }),
        ("begin in a query", { _ = try db.query("BEGIN", as: Int.self) }),
        ("savepoint", { try db.execute("SAVEPOINT x") }),
        ("begin twice", { try db.transaction { try $0.execute("BEGIN") } }),
        ("NaN", { try db.execute("SELECT \(Double.nan)") }),
        ("limit below zero", { _ = try Person.read().limit(-1).run(db) }),
        ("no key", { try Person(id: nil, name: "x").update().run(db) }),
        ("another table's column", { _ = try Person.read().filter(Bicycle.color == "red").run(db) }),
      ]
      for (name, failure) in failures {
        let error = sqlError(failure)
        #expect(error?.label == "shop", "\(name): \(String(describing: error))")
        #expect(error?.description.contains("[shop]") == true, "\(name)")
      }
      #expect(db.transactionLevel == 0)
    }
  }
}
