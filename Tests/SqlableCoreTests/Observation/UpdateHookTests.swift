import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Observation without SQLite's pre-update hook, and its limits.
@Suite struct UpdateHookTests {
  private func withTables(_ body: (SqliteDatabase, EventLog) throws -> Void) throws {
    try withDatabase(Configuration(usesPreupdateHook: false)) { db in
      try db.createTables(Observed.Note.self, Observed.Country.self, Observed.Seat.self)
      try db.execute("INSERT INTO note VALUES (1, 'a'), (2, 'b'), (3, 'c')")
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self)
      log.listen(to: db, on: Observed.Country.self)
      log.listen(to: db, on: Observed.Seat.self)
      try body(db, log)
    }
  }

  @Test func plainChangesTriggersAndCascadesAreReported() throws {
    try withTables { db, log in
      try db.execute("INSERT INTO note VALUES (4, 'd'); UPDATE note SET text = 'e' WHERE id = 4")
      try db.execute("DELETE FROM note WHERE id = 4")
      #expect(log.take() == ["insert note 4", "update note 4", "delete note 4"])
      try db.execute("CREATE TRIGGER copy AFTER INSERT ON note BEGIN INSERT INTO country (code) VALUES (new.text); END")
      try db.execute("INSERT INTO note VALUES (5, 'de')")
      #expect(log.take() == ["insert note 5", "insert country 1"])
      try db.execute("CREATE TABLE slot (id INTEGER PRIMARY KEY, note INTEGER REFERENCES note (id) ON DELETE CASCADE)")
      try db.execute("INSERT INTO slot VALUES (8, 5)")
      log.listen(to: db, on: Observed.Slot.self)
      try db.execute("DELETE FROM note WHERE id = 5")
      #expect(log.take().sorted() == ["delete note 5", "delete slot 8"])
    }
  }

  @Test func undoneChangesAreNotReported() throws {
    try withTables { db, log in
      try db.transaction { db in
        try db.execute("INSERT INTO note VALUES (4, 'd')")
        try db.transaction { db in
          try db.execute("INSERT INTO note VALUES (5, 'e')")
          return .rollback
        }
        #expect(sqlError { try db.execute("INSERT INTO note VALUES (6, 'f'), (7, 'a')") } != nil)
      }
      #expect(log.take() == ["insert note 4"])
    }
  }

  @Test func childUsesTheUpdateHook() throws {
    try withTables { db, log in
      let child = try db.createChild()
      try child.execute("INSERT INTO note VALUES (4, 'd'); REPLACE INTO note VALUES (5, 'd')")
      db.queue.sync {}
      #expect(log.take() == ["insert note 4", "insert note 5"])
    }
  }

  @Test func replacedRowsTruncationKeysAndTablesWithoutRowidAreLost() throws {
    try withTables { db, log in
      try db.execute("REPLACE INTO note VALUES (4, 'a')")
      #expect(log.take() == ["insert note 4"])
      try db.execute("UPDATE note SET id = 9 WHERE id = 4")
      #expect(log.take() == ["update note 9"])
      try db.execute("DELETE FROM note")
      #expect(log.take() == [])
      try db.execute("INSERT INTO seat VALUES ('Ada', 1, 'x')")
      #expect(log.take() == [])
      log.listen(to: db, on: Observed.Country.self, id: "de", as: "of de: ")
      try db.execute("INSERT INTO country (code) VALUES ('de')")
      #expect(log.take() == ["insert country 1"])
    }
  }
}
