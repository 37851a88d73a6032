import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Deferred transactions of an observed handle, which start before they read the schema.
@Suite struct DeferredTransactionTests {
  private func withTable(_ body: (SqliteDatabase, EventLog) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Observed.Country.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Country.self)
      log.listen(to: db, on: Observed.Seat.self)
      try db.execute("INSERT INTO country (code) VALUES ('de')")
      #expect(log.take() == ["insert country de"])
      try body(db, log)
    }
  }

  @Test(.needsPreupdateHook) func tableCreatedAfterADeferredBeginIsObserved() throws {
    try withTable { db, log in
      let other = try SqliteDatabase(filepath: db.filepath)
      try db.transaction(.deferred) { db in
        try other.createTable(Observed.Seat.self)
        try db.execute("INSERT INTO seat VALUES (NULL, 1, 'x')")
        try db.execute("INSERT INTO country (code) VALUES ('fr')")
      }
      #expect(log.take() == ["insert seat x,1", "insert country fr"])
    }
  }

  @Test(.needsPreupdateHook) func tableRecreatedAfterADeferredBeginIsObserved() throws {
    try withTable { db, log in
      let other = try SqliteDatabase(filepath: db.filepath)
      try db.beginTransaction(.deferred)
      try other.execute("DROP TABLE country; CREATE TABLE country (name TEXT, code TEXT PRIMARY KEY)")
      #expect(try db.query("SELECT count(*) FROM country", as: Int.self) == [0])
      try db.execute("INSERT INTO country VALUES ('France', 'fr')")
      try db.commitTransaction()
      #expect(log.take() == ["insert country fr"])
    }
  }

  @Test(.needsPreupdateHook) func savepointsOfAnIdleDeferredTransactionAreObserved() throws {
    try withTable { db, log in
      let outer = try db.beginTransaction(.deferred)
      let inner = try db.beginTransaction()
      try db.beginTransaction()
      try db.execute("INSERT INTO country (code) VALUES ('fr')")
      try db.commitTransaction()
      try db.rollbackTransaction(inner)
      #expect(db.transactionLevel == outer)
      try db.execute("INSERT INTO country (code) VALUES ('it')")
      try db.commitTransaction()
      #expect(log.take() == ["insert country it"])
      #expect(try db.query("SELECT code FROM country ORDER BY 1", as: String.self) == ["de", "it"])
    }
  }

  @Test(.needsPreupdateHook) func aFirstWriteThatFindsTheFileBusyLeavesTheTransactionOpen() throws {
    try withDatabase(Configuration(busyTimeout: 0)) { db in
      try db.createTable(Observed.Country.self)
      let log = EventLog()
      log.listen(to: db, on: Observed.Country.self)
      let other = try SqliteDatabase(filepath: db.filepath)
      try db.transaction(.deferred) { db in
        try db.transaction { db in
          try other.beginTransaction()
          let error = expectError(.busy) { try db.execute("INSERT INTO country (code) VALUES ('de')") }
          #expect(error?.transaction == .untouched)
          try other.rollbackTransaction()
          try db.execute("INSERT INTO country (code) VALUES ('fr')")
        }
        #expect(db.transactionLevel == 1)
      }
      #expect(log.take() == ["insert country fr"])
    }
  }

  /// A deferred transaction that writes first waits for the write lock, with and without observers.
  @Test func deferredTransactionsThatWriteFirstWaitForOneAnother() throws {
    try withDatabase(Configuration(busyTimeout: 600, synchronous: .off)) { db in
      try db.createTable(Observed.Note.self)
      let handles = try (0..<3).map { _ in try db.createChild() }
      for handle in handles { handle.observe(on: Observed.Note.self) { _ in } }
      let errors = Observed.threads(handles.count) { index in
        for _ in 0..<100 {
          try handles[index].transaction(.deferred) { db in
            try db.execute("INSERT INTO note (text) VALUES (NULL)")
            try db.execute("UPDATE note SET text = NULL WHERE id = 1")
          }
        }
      }
      #expect(errors.isEmpty, "\(errors)")
      #expect(try db.query("SELECT count(*) FROM note", as: Int.self) == [300])
    }
  }
}
