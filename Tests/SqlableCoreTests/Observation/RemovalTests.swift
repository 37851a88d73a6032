import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Removal of observers before a commit, during its delivery and after it.
@Suite struct RemovalTests {
  @Test func removalStopsOnlyTheRemovedObserver() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      let first = log.listen(to: db, on: Observed.Note.self, as: "first: ")
      log.listen(to: db, on: Observed.Note.self, as: "second: ")
      try db.execute("INSERT INTO note (id) VALUES (1)")
      #expect(log.take() == ["first: insert note 1", "second: insert note 1"])
      db.removeObserver(first)
      db.removeObserver(first)
      try db.execute("INSERT INTO note (id) VALUES (2)")
      #expect(log.take() == ["second: insert note 2"])
    }
  }

  @Test func observerRemovedInATransactionGetsNoneOfItsRows() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      let token = log.listen(to: db, on: Observed.Note.self)
      try db.transaction { db in
        try db.execute("INSERT INTO note (id) VALUES (1)")
        db.removeObserver(token)
        try db.execute("INSERT INTO note (id) VALUES (2)")
      }
      #expect(log.take() == [])
    }
  }

  @Test func observerThatRemovesItselfGetsOneRow() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      let own = Mutex<ObserverToken?>(nil)
      let token = db.observe(on: Observed.Note.self) { id in
        log.add("once \(id)")
        if let token = own.withLock({ $0 }) { db.removeObserver(token) }
      }
      own.withLock { $0 = token }
      log.listen(to: db, on: Observed.Note.self)
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      #expect(log.take() == ["once 1", "insert note 1", "insert note 2"])
    }
  }

  @Test func observerRemovedDuringDeliveryMissesTheCurrentRow() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      let next = Mutex<ObserverToken?>(nil)
      db.observe(on: Observed.Note.self) { id in
        log.add("remover \(id)")
        if let token = next.withLock({ $0 }) { db.removeObserver(token) }
      }
      let token = log.listen(to: db, on: Observed.Note.self)
      next.withLock { $0 = token }
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      #expect(log.take() == ["remover 1", "remover 2"])
    }
  }

  @Test func didUpdateReplacedDuringDeliveryGetsNoMoreRows() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      let replacements: [(@Sendable (String, Int, Change) throws -> Void)?] = [
        nil, { _, _, _ in log.add("second") },
      ]
      for replacement in replacements {
        db.didUpdate = { _, _, _ in
          log.add("first")
          db.didUpdate = replacement
        }
        try db.execute("INSERT INTO note (text) VALUES (NULL), (NULL)")
        #expect(log.take() == ["first"])
      }
      try db.execute("INSERT INTO note (text) VALUES (NULL)")
      #expect(log.take() == ["second"])
    }
  }

  @Test func didUpdateSetToNilBeforeDeliveryIsNotCalled() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      log.listenToAll(of: db)
      // The inner commit is delivered after the loop over rows.
      try db.query("SELECT 1") { _ in
        try db.execute("INSERT INTO note (id) VALUES (1)")
        db.didUpdate = nil
      }
      #expect(log.take() == [])
    }
  }

  @Test func observerAddedDuringDeliveryGetsOnlyLaterCommits() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      db.observe(on: Observed.Note.self, id: 1) { _ in log.listen(to: db, on: Observed.Note.self, as: "late: ") }
      try db.execute("INSERT INTO note (id) VALUES (1), (2)")
      #expect(log.take() == [])
      try db.execute("INSERT INTO note (id) VALUES (3)")
      #expect(log.take() == ["late: insert note 3"])
    }
  }

  @Test func tokenOfAnotherHandleRemovesNothing() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let child = try db.createChild()
      let log = EventLog()
      log.listen(to: db, on: Observed.Note.self)
      let token = log.listen(to: child, on: Observed.Country.self)
      db.removeObserver(token)
      try db.execute("INSERT INTO note (id) VALUES (1)")
      #expect(log.take() == ["insert note 1"])
    }
  }

  @Test func observingAnUnstorableIdReachesDidFail() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      db.didFail = { error in log.add(error is SqlError ? "failed" : "\(error)") }
      log.listen(to: db, on: Observed.Note.self)
      let token = log.listen(to: db, on: Observed.Note.self, id: Double.nan)
      #expect(log.take() == ["failed"])
      db.removeObserver(token)
      try db.execute("INSERT INTO note (id) VALUES (1)")
      #expect(log.take() == ["insert note 1"])
    }
  }
}
