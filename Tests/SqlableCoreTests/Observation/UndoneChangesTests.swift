import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Changes that are rolled back, which observers must not receive.
@Suite struct UndoneChangesTests {
  private struct Stop: Error {}

  private func withNotes(_ body: (SqliteDatabase, EventLog) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      try db.execute("INSERT INTO note (id, text) VALUES (1, 'taken')")
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self)
      try body(db, log)
    }
  }

  @Test func rolledBackTransactionIsNotReported() throws {
    try withNotes { db, log in
      try db.transaction { db in
        try db.execute("DELETE FROM note")
        return .rollback
      }
      #expect(throws: Stop.self) {
        try db.transaction { db in
          try db.execute("DELETE FROM note")
          throw Stop()
        }
      }
      try db.beginTransaction()
      try db.execute("DELETE FROM note")
      try db.rollbackTransaction()
      #expect(log.take() == [])
      try db.execute("INSERT INTO note (id) VALUES (2)")
      #expect(log.take() == ["insert note 2"])
    }
  }

  @Test func savepointRollbackKeepsSurroundingChanges() throws {
    try withNotes { db, log in
      try db.transaction { db in
        try db.execute("INSERT INTO note (id) VALUES (2)")
        try db.transaction { db in
          try db.execute("INSERT INTO note (id) VALUES (3)")
          try db.transaction { try $0.execute("INSERT INTO note (id) VALUES (4)") }
          return .rollback
        }
        try db.execute("INSERT INTO note (id) VALUES (5)")
        try? db.transaction { db in
          try db.execute("INSERT INTO note (id) VALUES (6)")
          throw Stop()
        }
        try db.execute("INSERT INTO note (id) VALUES (7)")
      }
      #expect(log.take() == ["insert note 2", "insert note 5", "insert note 7"])
    }
  }

  @Test func rollbackToAnOuterLevelDropsInnerChanges() throws {
    try withNotes { db, log in
      try db.beginTransaction()
      try db.execute("INSERT INTO note (id) VALUES (2)")
      let second = try db.beginTransaction()
      try db.execute("INSERT INTO note (id) VALUES (3)")
      try db.beginTransaction()
      try db.execute("INSERT INTO note (id) VALUES (4)")
      try db.rollbackTransaction(second)
      try db.execute("INSERT INTO note (id) VALUES (5)")
      try db.commitTransaction()
      #expect(log.take() == ["insert note 2", "insert note 5"])
    }
  }

  @Test func statementThatFailsMidwayReportsNoRows() throws {
    try withNotes { db, log in
      let several: SQL = "INSERT INTO note (id, text) VALUES (2, 'a'), (3, 'taken'), (4, 'b')"
      #expect(sqlError { try db.execute(several) }?.kind == .constraint(.unique))
      #expect(log.take() == [])
      try db.transaction { db in
        try db.execute("INSERT INTO note (id, text) VALUES (5, 'c')")
        #expect(sqlError { try db.execute(several) }?.kind == .constraint(.unique))
        try db.execute("INSERT INTO note (id, text) VALUES (6, 'd')")
      }
      #expect(log.take() == ["insert note 5", "insert note 6"])
    }
  }

  /// SQLite counts the rows of a trigger's statement at once, even if the outer statement is undone later.
  @Test func failedStatementReportsNoTriggerRows() throws {
    try withNotes { db, log in
      try db.createTable(Observed.Slot.self)
      try db.execute("CREATE TRIGGER copy AFTER INSERT ON note BEGIN INSERT INTO slot (id) VALUES (new.id); END")
      log.listen(to: db, on: Observed.Slot.self)
      try db.transaction { db in
        let several: SQL = "INSERT INTO note (id, text) VALUES (2, 'a'), (3, 'taken')"
        #expect(sqlError { try db.execute(several) }?.kind == .constraint(.unique))
        let count = try db.query("SELECT count(*) FROM slot", as: Int.self)
        #expect(count == [0])
      }
      #expect(log.take() == [])
    }
  }

  @Test func failedDeleteReportsNoCascadedRows() throws {
    try withNotes { db, log in
      try db.execute("CREATE TABLE cascading (note_id INTEGER REFERENCES note (id) ON DELETE CASCADE)")
      try db.execute("CREATE TABLE holding (note_id INTEGER REFERENCES note (id))")
      try db.execute("INSERT INTO cascading VALUES (1), (1); INSERT INTO holding VALUES (1)")
      log.listenToAll(of: db)
      try db.transaction { db in
        #expect(sqlError { try db.execute("DELETE FROM note") }?.kind == .constraint(.foreignKey))
        let count = try db.query("SELECT count(*) FROM cascading", as: Int.self)
        #expect(count == [2])
      }
      #expect(log.take() == [])
    }
  }

  @Test func failedBatchReportsNoRows() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let log = EventLog()
      log.listen(to: db, on: Bicycle.self)
      var bikes = (1...1_000).map { Bicycle(name: "bike \($0)", color: "red") }
      bikes[500].name = "bike 1"
      #expect(sqlError { try Bicycle.insert(bikes).run(db) }?.kind == .constraint(.unique))
      #expect(log.take() == [])
      try db.transaction { db in
        try Bicycle(name: "before", color: "red").insert().run(db)
        #expect(sqlError { try Bicycle.insert(bikes).run(db) }?.kind == .constraint(.unique))
        try Bicycle(name: "after", color: "red").insert().run(db)
      }
      let stored = try Bicycle.read().run(db)
      #expect(stored.map(\.name) == ["before", "after"])
      #expect(log.take() == stored.map { "insert bicycle \($0.id ?? 0)" })
      try Bicycle.deleteAll().run(db)
      _ = log.take()
      bikes[500].name = "bike 501"
      let ids = try Bicycle.insert(bikes).run(db)
      #expect(log.take() == ids.map { "insert bicycle \($0)" })
    }
  }

  @Test func failedDeferredCommitReportsNothingUntilRepaired() throws {
    try withNotes { db, log in
      try db.execute(
        "CREATE TABLE slot (id INTEGER PRIMARY KEY, note_id INTEGER REFERENCES note (id) DEFERRABLE INITIALLY DEFERRED)"
      )
      log.listen(to: db, on: Observed.Slot.self)
      let closure = sqlError { try db.transaction { try $0.execute("INSERT INTO slot VALUES (1, 99)") } }
      #expect(closure?.kind == .constraint(.foreignKey))
      #expect(closure?.transaction == .rolledBack)
      #expect(sqlError { try db.execute("INSERT INTO slot VALUES (1, 99)") }?.kind == .constraint(.foreignKey))
      #expect(log.take() == [])
      // A manual transaction stays open, so the program can repair it.
      try db.beginTransaction()
      try db.execute("INSERT INTO slot VALUES (1, 99)")
      #expect(sqlError { try db.commitTransaction() }?.kind == .constraint(.foreignKey))
      #expect(log.take() == [])
      try db.execute("INSERT INTO note (id) VALUES (99)")
      try db.commitTransaction()
      #expect(log.take() == ["insert slot 1", "insert note 99"])
    }
  }

  @Test func orRollbackDiscardsTheWholeTransaction() throws {
    try withNotes { db, log in
      try db.beginTransaction()
      try db.execute("INSERT INTO note (id, text) VALUES (2, 'a')")
      let error = sqlError { try db.execute("INSERT OR ROLLBACK INTO note (id, text) VALUES (3, 'taken')") }
      #expect(error?.transaction == .rolledBack)
      #expect(sqlError { try db.execute("INSERT INTO note (id) VALUES (4)") } != nil)
      #expect(sqlError { try db.commitTransaction() } != nil)
      try db.rollbackTransaction()
      try db.execute("INSERT INTO note (id) VALUES (5)")
      #expect(log.take() == ["insert note 5"])
    }
  }

  @Test(.needs(35, "RETURNING")) func queryWhoseClosureThrowsIsUndone() throws {
    try withNotes { db, log in
      try db.transaction { db in
        #expect(throws: Stop.self) {
          try db.query("INSERT INTO note (id, text) VALUES (2, 'a'), (3, 'b') RETURNING id") { _ in throw Stop() }
        }
        #expect(try db.query("SELECT id FROM note", as: Int.self) == [1])
        try db.execute("INSERT INTO note (id) VALUES (4)")
      }
      #expect(log.take() == ["insert note 4"])
    }
  }

  @Test(.needs(35, "RETURNING")) func unobservedQueryWhoseClosureThrowsIsUndone() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      #expect(throws: Stop.self) {
        try db.query("INSERT INTO note (id, text) VALUES (2, 'a'), (3, 'b') RETURNING id") { _ in throw Stop() }
      }
      #expect(try db.query("SELECT id FROM note", as: Int.self) == [])
    }
  }

  // MARK: Rows that a failing statement keeps

  @Test func rowsKeptByOrFailAreReported() throws {
    try withNotes { db, log in
      try db.transaction { db in
        let error = sqlError { try db.execute("INSERT OR FAIL INTO note (id, text) VALUES (2, 'a'), (3, 'taken')") }
        #expect(error?.kind == .constraint(.unique))
      }
      #expect(try db.query("SELECT id FROM note ORDER BY id", as: Int.self) == [1, 2])
      #expect(log.take() == ["insert note 2"])
    }
  }

  @Test func rowsKeptByRaiseFailAreReported() throws {
    try withNotes { db, log in
      try db.execute(
        """
        CREATE TRIGGER guard BEFORE INSERT ON note WHEN new.text = 'bad' BEGIN SELECT RAISE(FAIL, 'no'); END
        """)
      try db.transaction { db in
        let error = sqlError { try db.execute("INSERT INTO note (id, text) VALUES (2, 'a'), (3, 'bad'), (4, 'b')") }
        #expect(error?.kind == .constraint(.trigger))
      }
      #expect(try db.query("SELECT id FROM note ORDER BY id", as: Int.self) == [1, 2])
      #expect(log.take() == ["insert note 2"])
    }
  }

  /// RAISE(FAIL) keeps rows that SQLite counts for the trigger and not for the statement.
  @Test(.needsPreupdateHook) func triggerRowsBeforeRaiseFailAreReported() throws {
    try withNotes { db, log in
      try db.createTable(Observed.Slot.self)
      log.listen(to: db, on: Observed.Slot.self)
      try db.execute(
        """
        CREATE TRIGGER guard BEFORE INSERT ON note WHEN new.text = 'bad'
        BEGIN INSERT INTO slot (id) VALUES (new.id); SELECT RAISE(FAIL, 'no'); END
        """)
      try db.transaction { db in
        #expect(sqlError { try db.execute("INSERT INTO note (id, text) VALUES (2, 'bad')") } != nil)
      }
      #expect(try db.query("SELECT id FROM slot", as: Int.self) == [2])
      #expect(log.take() == ["insert slot 2"])
    }
  }

  @Test func orFailKeepsTheSameRowsWithoutObservers() throws {
    try withNotes { db, log in
      let several: SQL = "INSERT OR FAIL INTO note (id, text) VALUES (2, 'a'), (3, 'taken')"
      #expect(sqlError { try db.execute(several) }?.kind == .constraint(.unique))
      let observed = try db.query("SELECT id FROM note ORDER BY id", as: Int.self)
      #expect(log.take() == observed.dropFirst().map { "insert note \($0)" })
      let plain = try SqliteDatabase.inMemory()
      try plain.createTable(Observed.Note.self)
      try plain.execute("INSERT INTO note (id, text) VALUES (1, 'taken')")
      #expect(sqlError { try plain.execute(several) }?.kind == .constraint(.unique))
      #expect(try plain.query("SELECT id FROM note ORDER BY id", as: Int.self) == observed)
    }
  }
}
