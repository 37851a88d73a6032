import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Calls to the handle from inside an observer.
@Suite struct ObserverActionsTests {
  private struct Refusal: Error {}

  private func withTables(_ body: (SqliteDatabase, EventLog) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Observed.Note.self, Observed.Slot.self)
      let log = EventLog()
      db.didFail = { error in log.add("failed: \((error as? SqlError).map { "\($0.kind)" } ?? "\(error)")") }
      try body(db, log)
    }
  }

  @Test func anObserverMayRead() throws {
    try withTables { db, log in
      db.observe(on: Observed.Note.self) { id in
        log.add(try db.query("SELECT text FROM note WHERE id = \(id)", as: String.self).joined())
      }
      try db.execute("INSERT INTO note VALUES (1, 'one'), (2, 'two')")
      #expect(log.take() == ["one", "two"])
    }
  }

  @Test(.needsPreupdateHook) func writesOfAnObserverAreDeliveredAfterwards() throws {
    try withTables { db, log in
      db.observe(.insert, on: Observed.Note.self) { id in
        try db.transaction { db in
          try db.execute("INSERT INTO slot (id) VALUES (\(id))")
          try db.execute("INSERT INTO slot (id) VALUES (\(-id))")
        }
        log.add("wrote \(id)")
      }
      log.listen(to: db, on: Observed.Note.self)
      log.listen(to: db, on: Observed.Slot.self)
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      #expect(
        log.take() == [
          "wrote 1",
          "insert note 1",
          "wrote 2",
          "insert note 2",
          "insert slot 1",
          "insert slot -1",
          "insert slot 2",
          "insert slot -2",
        ])
    }
  }

  @Test func anObserverMayWriteTheObservedTable() throws {
    try withTables { db, log in
      db.observe(.insert, on: Observed.Note.self) { id in
        if id < 500 { try db.execute("INSERT INTO note (id) VALUES (\(id + 1))") }
      }
      try db.execute("INSERT INTO note (id) VALUES (1)")
      #expect(try db.query("SELECT count(*) FROM note", as: Int.self) == [500])
      #expect(log.take() == [])
    }
  }

  @Test(.needsPreupdateHook) func anObserversTransactionMayRollBackAndFail() throws {
    try withTables { db, log in
      db.observe(.insert, on: Observed.Note.self) { id in
        try db.transaction { db in
          try db.execute("INSERT INTO slot (id) VALUES (1)")
          return .rollback
        }
        try db.execute("INSERT INTO slot (id) VALUES (2)")
        try db.execute("INSERT INTO slot (id) VALUES (2)")
      }
      log.listen(to: db, on: Observed.Slot.self)
      try db.execute("INSERT INTO note (id) VALUES (1)")
      #expect(log.take() == ["failed: constraint(SqlableCore.SqlError.Constraint.primaryKey)", "insert slot 2"])
    }
  }

  @Test func observerErrorReachesDidFailAndSparesOtherObservers() throws {
    try withTables { db, log in
      db.didUpdate = { _, _, _ in throw Refusal() }
      db.observe(on: Observed.Note.self) { _ in throw Refusal() }
      log.listen(to: db, on: Observed.Note.self)
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      #expect(
        log.take() == [
          "failed: Refusal()",
          "failed: Refusal()",
          "insert note 1",
          "failed: Refusal()",
          "failed: Refusal()",
          "insert note 2",
        ])
      db.didFail = nil
      try db.execute("INSERT INTO note (id) VALUES (3)")
      #expect(log.take() == ["insert note 3"])
    }
  }

  @Test func observerErrorOnAChildCommitReachesTheObservingHandle() throws {
    try withTables { db, log in
      let child = try db.createChild()
      child.didFail = { _ in log.add("child") }
      db.observe(on: Observed.Note.self) { _ in throw Refusal() }
      try child.execute("INSERT INTO note (id) VALUES (1)")
      db.queue.sync {}
      #expect(log.take() == ["failed: Refusal()"])
    }
  }

  @Test func failHandsAnErrorToDidFail() throws {
    try withTables { db, log in
      db.fail(Refusal())
      #expect(log.take() == ["failed: Refusal()"])
      db.didFail = nil
      db.fail(Refusal())
      #expect(log.take() == [])
    }
  }

  @Test func anObserverMayCloseTheHandle() throws {
    try withTables { db, log in
      db.observe(on: Observed.Note.self, id: 1) { _ in try db.close() }
      log.listen(to: db, on: Observed.Note.self)
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      #expect(log.take() == ["insert note 1", "insert note 2"])
      #expect(sqlError { try db.execute("DELETE FROM note") }?.kind == .closed)
    }
  }

  @Test(.needsPreupdateHook) func anObserverMayOpenAndUseAChild() throws {
    try withTables { db, log in
      db.observe(.insert, on: Observed.Note.self) { id in
        try db.createChild().execute("INSERT INTO slot (id) VALUES (\(id))")
      }
      log.listen(to: db, on: Observed.Slot.self)
      try db.execute("INSERT INTO note (id) VALUES (1)")
      db.queue.sync {}
      #expect(log.take() == ["insert slot 1"])
    }
  }

  @Test func anObserverMayReplaceDidUpdate() throws {
    try withTables { db, log in
      db.didUpdate = { _, id, _ in
        log.add("first \(id)")
        db.didUpdate = { _, id, _ in log.add("second \(id)") }
      }
      try db.execute("INSERT INTO note (id) VALUES (1)")
      try db.execute("INSERT INTO note (id) VALUES (2)")
      #expect(log.take() == ["first 1", "second 2"])
    }
  }
}
