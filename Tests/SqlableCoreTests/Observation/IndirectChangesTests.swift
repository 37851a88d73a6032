import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Rows that a statement changes without naming them.
@Suite struct IndirectChangesTests {
  private func withTables(_ body: (SqliteDatabase, EventLog) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Observed.Note.self, Observed.Country.self, Observed.Seat.self)
      try db.execute("INSERT INTO note VALUES (1, 'a'), (2, 'b'), (3, 'c')")
      try db.execute("INSERT INTO country VALUES ('de', 'Germany'), ('fr', 'France')")
      try db.execute("INSERT INTO seat VALUES ('Ada', 1, 'x'), ('Bob', 2, 'x')")
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self)
      log.listen(to: db, on: Observed.Country.self)
      log.listen(to: db, on: Observed.Seat.self)
      try body(db, log)
    }
  }

  @Test(.needsPreupdateHook) func replaceReportsDeletedRows() throws {
    try withTables { db, log in
      // Conflicts of another unique column, of the key and of both.
      try db.execute("INSERT OR REPLACE INTO note VALUES (4, 'a')")
      #expect(log.take() == ["delete note 1", "insert note 4"])
      try db.execute("REPLACE INTO note VALUES (2, 'new')")
      #expect(log.take() == ["delete note 2", "insert note 2"])
      try db.execute("REPLACE INTO note VALUES (2, 'a')")
      #expect(log.take().sorted() == ["delete note 2", "delete note 4", "insert note 2"])
      try db.execute("UPDATE OR REPLACE note SET text = 'a' WHERE id = 3")
      #expect(log.take() == ["delete note 2", "update note 3"])
      try db.execute("REPLACE INTO country VALUES ('de', 'Deutschland')")
      #expect(log.take() == ["delete country de", "insert country de"])
      try db.execute("REPLACE INTO seat VALUES ('Ada', 2, 'x')")
      #expect(log.take().sorted() == ["delete seat x,1", "delete seat x,2", "insert seat x,2"])
    }
  }

  @Test(.needsPreupdateHook) func insertStatementsReportReplacedAndUpdatedRows() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert([Bicycle(name: "a", color: "red"), Bicycle(name: "b", color: "red")]).run(db)
      let log = EventLog()
      log.listen(to: db, on: Bicycle.self)
      try Bicycle(name: "a", color: "red").insert().replaceOnConflict().run(db)
      #expect(log.take() == ["delete bicycle 1", "insert bicycle 3"])
      try Bicycle(name: "b", color: "red").insert().ignoreOnConflict().run(db)
      #expect(log.take() == [])
      try Bicycle(name: "b", color: "red", ownerId: nil).insert()
        .onConflict(Bicycle.name, Bicycle.color, update: Bicycle.color).run(db)
      #expect(log.take() == ["update bicycle 2"])
      try Bicycle(name: "b", color: "red").insert().onConflict(Bicycle.name, Bicycle.color).run(db)
      #expect(log.take() == [])
    }
  }

  @Test(.needsPreupdateHook) func deletingAWholeTableReportsEachRow() throws {
    try withTables { db, log in
      try db.execute("DELETE FROM note; DELETE FROM country; DELETE FROM seat")
      #expect(
        log.take() == [
          "delete note 1",
          "delete note 2",
          "delete note 3",
          "delete country de",
          "delete country fr",
          "delete seat x,1",
          "delete seat x,2",
        ])
    }
  }

  /// Without a hook at compile time, SQLite truncates the whole table and reports no rows.
  @Test(.needsPreupdateHook) func cachedDeleteOfAWholeTableReportsEachRow() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let log = EventLog()
      for _ in 1...2 {
        try Person.insert([Person(id: nil, name: "a"), Person(id: nil, name: "b")]).run(db)
        let token = log.listen(to: db, on: Person.self)
        try Person.deleteAll().run(db)
        #expect(log.take().count == 2)
        db.removeObserver(token)
        try Person(id: nil, name: "c").insert().run(db)
        try Person.deleteAll().run(db)
        #expect(log.take() == [])
      }
      try db.execute("INSERT INTO person VALUES (1, 'a')")
      log.listen(to: db, on: Person.self)
      try db.query("DELETE FROM person") { _ in }
      #expect(log.take() == ["delete person 1"])
    }
  }

  @Test(.needsPreupdateHook) func foreignKeyActionsReportTheirRows() throws {
    try withTables { db, log in
      try db.execute(
        """
        CREATE TABLE slot (id INTEGER PRIMARY KEY, text TEXT \
        REFERENCES country (code) ON DELETE CASCADE ON UPDATE CASCADE);
        CREATE TABLE tag (label TEXT PRIMARY KEY REFERENCES country (code) ON DELETE CASCADE ON UPDATE CASCADE,
          weight INTEGER REFERENCES note (id) ON DELETE SET NULL ON UPDATE SET DEFAULT) WITHOUT ROWID;
        INSERT INTO slot VALUES (1, 'de'), (2, 'de'), (3, 'fr'); INSERT INTO tag VALUES ('de', 1), ('fr', 2);
        """)
      log.listen(to: db, on: Observed.Slot.self)
      log.listen(to: db, on: Observed.Tag.self)
      try db.execute("UPDATE country SET code = 'at' WHERE code = 'de'")
      #expect(
        log.take().sorted() == [
          "update country de→at",
          "update slot 1",
          "update slot 2",
          "update tag de→at",
        ])
      try db.execute("DELETE FROM note WHERE id = 1")
      #expect(log.take().sorted() == ["delete note 1", "update tag at"])
      try db.execute("UPDATE note SET id = 20 WHERE id = 2")
      #expect(log.take().sorted() == ["update note 2→20", "update tag fr"])
      try db.execute("DELETE FROM country")
      #expect(
        log.take().sorted() == [
          "delete country at",
          "delete country fr",
          "delete slot 1",
          "delete slot 2",
          "delete slot 3",
          "delete tag at",
          "delete tag fr",
        ])
    }
  }

  @Test(.needsPreupdateHook) func triggersReportTheirRows() throws {
    try withTables { db, log in
      try db.execute(
        """
        CREATE TRIGGER spread AFTER INSERT ON note BEGIN
          INSERT INTO country (code) VALUES (new.text);
          UPDATE seat SET holder = new.text WHERE number = 1;
          DELETE FROM seat WHERE number = 2;
        END
        """)
      try db.execute("INSERT INTO note VALUES (9, 'it')")
      #expect(log.take() == ["insert note 9", "insert country it", "update seat x,1", "delete seat x,2"])
    }
  }

  @Test func insteadOfTriggersReportTheirRows() throws {
    try withTables { db, log in
      try db.execute(
        """
        CREATE VIEW shout AS SELECT id, upper(text) AS text FROM note;
        CREATE TRIGGER whisper INSTEAD OF INSERT ON shout BEGIN INSERT INTO note VALUES (new.id, lower(new.text)); END
        """)
      try db.execute("INSERT INTO shout VALUES (8, 'H'), (9, 'I')")
      #expect(log.take() == ["insert note 8", "insert note 9"])
    }
  }

  /// SQLite copies whole tables with the same declaration by its transfer optimization.
  @Test(.needsPreupdateHook, .needs(36, "the hook for copied rows of a WITHOUT ROWID table"))
  func copyingASimilarTableReportsEachRow() throws {
    try withTables { db, log in
      try db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)")
      try db.execute(
        """
        CREATE TABLE seats (holder TEXT UNIQUE, number INTEGER NOT NULL, row TEXT NOT NULL, PRIMARY KEY (row, number))
        WITHOUT ROWID
        """)
      try db.execute("INSERT INTO notes SELECT * FROM note; INSERT INTO seats SELECT * FROM seat")
      try db.execute("DELETE FROM note; DELETE FROM seat")
      _ = log.take()
      try db.execute("INSERT INTO note SELECT * FROM notes; INSERT INTO seat SELECT * FROM seats")
      #expect(
        log.take() == [
          "insert note 1",
          "insert note 2",
          "insert note 3",
          "insert seat x,1",
          "insert seat x,2",
        ])
    }
  }

  private struct Composed: Observed.Model {
    static let tableName = "caf\u{e9}"
    static let id = Column("id", .integer, PrimaryKey())
    static let next = Column("next", .nullable(.integer))
    static let tableLayout = [id, next]
  }

  /// Swift's == treats both spellings as equal, but SQLite has two tables.
  @Test func dropDistinguishesUnicodeFormsOfATableName() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE "caf\u{e9}" (id INTEGER PRIMARY KEY, next INTEGER REFERENCES "caf\u{e9}");
        CREATE TABLE "cafe\u{301}" (id INTEGER PRIMARY KEY);
        INSERT INTO "caf\u{e9}" VALUES (1, NULL);
        """)
      let log = EventLog()
      log.listen(to: db, on: Composed.self)
      try db.execute(#"DROP TABLE "caf\#u{e9}""#)
      #expect(log.take() == [])
      try db.createTable(Composed.self)
      try db.execute(#"INSERT INTO "caf\#u{e9}" VALUES (2, NULL)"#)
      #expect(log.take() == ["insert caf\u{e9} 2"])
    }
  }

  /// SQLite deletes the rows of a referenced table before it drops the table. Observers get no events for these rows,
  /// but they get the changes of the referring rows.
  @Test(.needsPreupdateHook, arguments: ["CASCADE", "SET NULL", "NO ACTION"])
  func dropReportsReferringRowsButNotDroppedOnes(_ action: String) throws {
    try withDatabase { db in
      let log = EventLog()
      try db.createTables(Observed.Note.self, Observed.Slot.self)
      log.listen(to: db, on: Observed.Note.self)
      log.listen(to: db, on: Observed.Slot.self)
      log.listen(to: db, on: Observed.Country.self)
      // The table also refers to itself.
      func create() throws {
        try db.execute(
          SQL(
            verbatim: """
              CREATE TABLE country (code TEXT PRIMARY KEY, name TEXT REFERENCES country ON DELETE \(action));
              DROP TABLE slot;
              CREATE TABLE slot (
                text TEXT REFERENCES country ON DELETE \(action), id INTEGER PRIMARY KEY) WITHOUT ROWID;
              INSERT INTO country VALUES ('de', NULL), ('fr', 'de');
              """))
        if action != "NO ACTION" { try db.execute("INSERT INTO slot VALUES ('de', 1), (NULL, 2)") }
      }
      let expected = ["CASCADE": ["delete slot 1"], "SET NULL": ["update slot 1"]][action] ?? []
      try create()
      if action == "NO ACTION" { try db.execute("DELETE FROM country WHERE code = 'fr'") }
      _ = log.take()
      try db.execute("DROP TABLE country")
      #expect(log.take() == expected)
      try create()
      _ = log.take()
      try db.transaction { db in
        try db.execute("INSERT INTO note (id) VALUES (100); INSERT INTO country VALUES ('it', NULL)")
        try db.execute("DELETE FROM country WHERE code = 'fr'; /* all */ drop table country")
        try db.execute("INSERT INTO note (id) VALUES (101)")
      }
      #expect(
        log.take() == ["insert note 100", "insert country it", "delete country fr"] + expected + ["insert note 101"])
    }
  }
}
