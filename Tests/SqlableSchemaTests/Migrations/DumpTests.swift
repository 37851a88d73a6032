import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests that a dump recreates the same database.
@Suite struct DumpTests {
  private func copy(of db: SqliteDatabase) throws -> SqliteDatabase {
    let copy = try SqliteDatabase.inMemory()
    try copy.load(db.dump())
    return copy
  }

  @Test func dumpContainsTheSchemaAndTheRows() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "Ann").insert().run(db)
      try Person(id: 7, name: "O'Hara").insert().run(db)
      try Person.delete().filter(Person.id == 7).run(db)
      try db.setUserVersion(3)
      let text = try db.dump()
      #expect(
        text == """
          CREATE TABLE "person" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL);
          INSERT INTO "person" ("id", "name") VALUES (1, 'Ann');
          DELETE FROM sqlite_sequence;
          INSERT INTO sqlite_sequence (name, seq) VALUES ('person', 7);
          PRAGMA user_version = 3;

          """)
      let copy = try copy(of: db)
      #expect(try copy.dump() == text)
      #expect(try copy.userVersion() == 3)
      try Person(id: nil, name: "Bob").insert().run(copy)
      #expect(try Person.read().run(copy).map(\.id) == [1, 8])
    }
  }

  @Test func everyValueComesBackAsItWas() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE v (a)")
      var generator = SeededGenerator(seed: 61)
      var values: [DatabaseValue] = [
        .null, .integer(.min), .integer(.max), .real(.infinity), .real(-.infinity), .real(.leastNonzeroMagnitude),
        .real(1e308),
        .real(-0.1), .text(""), .text("a\0b'\"\n"), .text("é日本🚲"), .blob(Data()), .blob(Data(0...255)),
      ]
      for _ in 0..<500 {
        let bits = Double(bitPattern: UInt64.random(in: 0...(.max), using: &generator))
        values.append(.real(bits.isNaN ? 0 : bits))
      }
      for value in values { try db.execute("INSERT INTO v VALUES (\(Cell(storage: value)))") }
      let copy = try copy(of: db)
      #expect(try copy.query("SELECT a FROM v ORDER BY rowid", as: DynamicRow.self).map { $0.values[0] } == values)
    }
  }

  @Test func everyKindOfTableComesBack() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE "odd ""name" ("a b" TEXT, "select" INTEGER, twice AS ("select" * 2) STORED);
        INSERT INTO "odd ""name" (rowid, "a b", "select") VALUES (5, 'x', 1), (9, 'y', 2);
        CREATE TABLE pair (b TEXT, a INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
        INSERT INTO pair VALUES ('z', 2), ('y', 1);
        CREATE TABLE child (id INTEGER PRIMARY KEY, parent REFERENCES parent (id));
        CREATE TABLE parent (id INTEGER PRIMARY KEY, first REFERENCES child (id));
        INSERT INTO parent VALUES (1, NULL); INSERT INTO child VALUES (1, 1); UPDATE parent SET first = 1;
        CREATE VIRTUAL TABLE note USING fts5(title, body UNINDEXED);
        INSERT INTO note (rowid, title, body) VALUES (3, 'a racing bike', 'x');
        CREATE VIRTUAL TABLE child_text USING fts5(parent, content='child', content_rowid='id');
        CREATE VIRTUAL TABLE place USING rtree(id, low, high); INSERT INTO place VALUES (1, 2.5, 3.5);
        CREATE INDEX pair_b ON pair (b) WHERE b > 'a';
        CREATE VIEW names AS SELECT "a b" FROM "odd ""name";
        CREATE TABLE log (text TEXT); INSERT INTO log VALUES ('before');
        CREATE TRIGGER noted AFTER INSERT ON pair BEGIN INSERT INTO log VALUES ('pair;'); END;
        """)
      try db.execute("INSERT INTO child_text (child_text) VALUES ('rebuild')")
      let copy = try copy(of: db)
      #expect(try copy.schema() == db.schema())
      #expect(try copy.dump() == db.dump())
      #expect(try copy.query(#"SELECT rowid FROM "odd ""name""#, as: Int.self) == [5, 9])
      #expect(try copy.query("SELECT rowid FROM note WHERE note MATCH 'racing'", as: Int.self) == [3])
      #expect(try copy.query("SELECT rowid FROM child_text WHERE child_text MATCH '1'", as: Int.self) == [1])
      #expect(try copy.query("SELECT count(*) FROM log", as: Int.self) == [1])
      #expect(try copy.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
  }

  @Test(.needsSQLiteProgram) func theShellReadsADump() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try Person(id: nil, name: "Ann").insert().run(db)
      try Bicycle(name: "x", color: "red", ownerId: 1).insert().run(db)
      try db.dump().write(toFile: directory + "/dump.sql", atomically: true, encoding: .utf8)
      let shell = try ChildProcess(
        "sqlite3", ["-bail", directory + "/b.sqlite", ".read \(directory)/dump.sql"], errors: .dropped)
      #expect(shell.end())
      let other = try SqliteDatabase(filepath: directory + "/b.sqlite")
      #expect(try other.dump() == db.dump())
    }
  }

  /// The shell does not enforce foreign keys, so its dumps may contain orphaned rows.
  @Test func handleWithoutForeignKeysLoadsOrphanedRows() throws {
    try withDatabase(Configuration(foreignKeys: false)) { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.load("INSERT INTO bicycle (name, owner_id) VALUES ('x', 77)")
      #expect(try Bicycle.count().filter(Bicycle.ownerId == 77).run(db) == 1)
    }
  }

  @Test func aDumpThatDoesNotFitChangesNothing() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let before = try db.dump()
      for text in [
        "INSERT INTO person (name) VALUES ('x'); INSERT INTO nowhere VALUES (1)",
        "INSERT INTO bicycle (name, owner_id) VALUES ('x', 77)",
      ] {
        #expect(throws: SqlError.self) { try db.load(text) }
        #expect(try db.dump() == before)
        #expect(try db.query("PRAGMA foreign_keys", as: Int.self) == [1])
      }
      try db.execute("CREATE VIRTUAL TABLE bare USING fts5(a, content='')")
      #expect(
        sqlError { _ = try db.dump() }?.message
          == "table bare can't be dumped: the full-text table does not store the text of its rows")
    }
  }
}
