import Dispatch
import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Observation between a handle and its children.
@Suite struct ChildObservationTests {
  /// Waits until the handle's queue has delivered all pending changes.
  private func settle(_ db: SqliteDatabase) { db.queue.sync {} }

  @Test func commitsNotifyAncestorsButNotDescendants() throws {
    try withDatabase { root in
      try root.createTable(Observed.Note.self)
      let child = try root.createChild()
      let sibling = try root.createChild()
      let grandchild = try child.createChild()
      let log = EventLog()
      for (name, db) in [("root", root), ("child", child), ("sibling", sibling), ("grandchild", grandchild)] {
        log.listen(to: db, on: Observed.Note.self, as: name + ": ")
      }
      func heard() -> [String] {
        for db in [root, child, sibling, grandchild] { settle(db) }
        return log.take().sorted()
      }
      try root.execute("INSERT INTO note (id) VALUES (1)")
      #expect(heard() == ["root: insert note 1"])
      try child.execute("INSERT INTO note (id) VALUES (2)")
      #expect(heard() == ["child: insert note 2", "root: insert note 2"])
      try sibling.execute("INSERT INTO note (id) VALUES (3)")
      #expect(heard() == ["root: insert note 3", "sibling: insert note 3"])
      try grandchild.execute("INSERT INTO note (id) VALUES (4)")
      #expect(heard() == ["child: insert note 4", "grandchild: insert note 4", "root: insert note 4"])
      try grandchild.transaction { db in
        try db.execute("DELETE FROM note")
        return .rollback
      }
      #expect(heard() == [])
    }
  }

  @Test(.needsPreupdateHook) func rootObservesKeysAndIdsOfAGrandchild() throws {
    try withDatabase { root in
      let log = EventLog()
      log.listen(to: root, .update, on: Observed.Country.self, id: "de")
      root.didUpdate = { table, id, change in log.add("all: \(change) \(table) \(id)") }
      let grandchild = try root.createChild().createChild()
      try grandchild.createTable(Observed.Country.self)
      try grandchild.execute("INSERT INTO country VALUES ('de', NULL), ('fr', NULL)")
      try grandchild.execute("UPDATE country SET code = upper(code)")
      settle(root)
      #expect(
        log.take() == [
          "all: insert country 1",
          "all: insert country 2",
          "all: update country 1",
          "update country de→DE",
          "all: update country 2",
        ])
    }
  }

  @Test func aChildsCommitsAreDeliveredOnTheParentsQueue() throws {
    try withDatabase { root in
      try root.createTable(Observed.Note.self)
      let child = try root.createChild()
      let key = DispatchSpecificKey<String>()
      root.queue.setSpecific(key: key, value: "private")
      let log = EventLog()
      root.observe(on: Observed.Note.self) { id in
        log.add("\(id) on \(DispatchQueue.getSpecific(key: key) ?? "thread")")
      }
      try child.execute("INSERT INTO note (id) VALUES (1)")
      settle(root)
      let own = DispatchQueue(label: "own")
      own.setSpecific(key: key, value: "own")
      root.queue = own
      try child.execute("INSERT INTO note (id) VALUES (2)")
      settle(root)
      try root.execute("INSERT INTO note (id) VALUES (3)")
      #expect(log.take() == ["1 on private", "2 on own", "3 on thread"])
    }
  }

  @Test func commitsOfSeveralChildrenArriveInOrder() throws {
    try withDatabase(Configuration(busyTimeout: 600)) { root in
      try root.createTable(Observed.Note.self)
      try root.execute("CREATE TABLE counter (value INTEGER); INSERT INTO counter VALUES (0)")
      let heard = Mutex<[Int]>([])
      root.observe(.insert, on: Observed.Note.self) { id in heard.withLock { $0.append(id) } }
      let children = try (0..<3).map { _ in try root.createChild() }
      let errors = Observed.threads(4) { thread in
        // The last thread writes on a grandchild. Half of the handles have observers.
        let db = thread < 3 ? children[thread] : try children[0].createChild()
        if thread % 2 == 0 { db.observe(on: Observed.Note.self) { _ in } }
        for _ in 1...50 {
          try db.transaction { db in
            try db.execute("UPDATE counter SET value = value + 1")
            try db.execute("INSERT INTO note (id) SELECT value * 10 FROM counter")
            try db.execute("INSERT INTO note (id) SELECT value * 10 + 1 FROM counter")
          }
        }
      }
      #expect(errors.isEmpty)
      settle(root)
      let order = (1...200).flatMap { (commit: Int) -> [Int] in
        let first = commit * 10
        return [first, first + 1]
      }
      #expect(heard.withLock { $0 } == order)
    }
  }

  @Test func closedOrReleasedParentStillGetsCommits() throws {
    try withDatabase { root in
      try root.createTable(Observed.Note.self)
      let log = EventLog()
      let queue = DispatchQueue(label: "children")
      var middle: SqliteDatabase? = try root.createChild()
      middle?.queue = queue
      root.queue = queue
      if let middle { log.listen(to: middle, on: Observed.Note.self, as: "middle: ") }
      log.listen(to: root, on: Observed.Note.self, as: "root: ")
      let child = try middle?.createChild()
      try middle?.close()
      try child?.execute("INSERT INTO note (id) VALUES (1)")
      middle = nil
      try child?.execute("INSERT INTO note (id) VALUES (2)")
      try root.close()
      try child?.execute("INSERT INTO note (id) VALUES (3)")
      queue.sync {}
      let order: [String] = (1...3).flatMap { ["middle: insert note \($0)", "root: insert note \($0)"] }
      #expect(log.take() == order)
    }
  }

  @Test func childNotifiesObserversThatItsParentAddsLater() throws {
    try withDatabase { root in
      try root.createTable(Observed.Note.self)
      let child = try root.createChild()
      let log = EventLog()
      try child.beginTransaction()
      try child.execute("INSERT INTO note (id) VALUES (1)")
      let token = log.listen(to: root, on: Observed.Note.self)
      try child.execute("INSERT INTO note (id) VALUES (2)")
      try child.commitTransaction()
      settle(root)
      #expect(log.take() == ["insert note 2"])
      root.removeObserver(token)
      try child.execute("INSERT INTO note (id) VALUES (3)")
      settle(root)
      #expect(log.take() == [])
    }
  }

  @Test func removedObserverGetsNoQueuedDelivery() throws {
    try withDatabase { root in
      try root.createTable(Observed.Note.self)
      let child = try root.createChild()
      let log = EventLog()
      let token = log.listen(to: root, on: Observed.Note.self)
      root.queue.suspend()
      try child.execute("INSERT INTO note (id) VALUES (1)")
      root.removeObserver(token)
      root.queue.resume()
      settle(root)
      #expect(log.take() == [])
    }
  }

  @Test(.needs(36, "a child of a database in memory")) func inMemoryChildNotifiesItsParent() throws {
    let root = try SqliteDatabase.inMemory()
    try root.createTable(Observed.Note.self)
    let child = try root.createChild()
    let log = EventLog()
    log.listen(to: root, on: Observed.Note.self)
    try child.execute("INSERT INTO note (id) VALUES (1)")
    settle(root)
    #expect(log.take() == ["insert note 1"])
  }

  @Test func anObserverOnTheQueueMayUseTheParentWhileChildrenWrite() throws {
    try withDatabase(Configuration(busyTimeout: 600)) { root in
      try root.createTables(Observed.Note.self, Observed.Slot.self)
      root.observe(.insert, on: Observed.Note.self) { id in try root.execute("INSERT INTO slot (id) VALUES (\(id))") }
      let failures = EventLog()
      root.didFail = { failures.add("\($0)") }
      let errors = Observed.threads(2) { thread in
        let child = try root.createChild()
        for index in 1...30 { try child.execute("INSERT INTO note (id) VALUES (\(thread * 100 + index))") }
      }
      #expect(errors.isEmpty)
      settle(root)
      #expect(failures.take() == [])
      #expect(
        try root.query("SELECT id FROM slot ORDER BY id", as: Int.self) == Array(1...30) + Array(101...130))
    }
  }

  @Test func queueObserverJoinsAManualTransactionOfTheParent() throws {
    try withDatabase { root in
      try root.createTable(Observed.Note.self)
      let child = try root.createChild()
      let log = EventLog()
      root.didFail = { log.add("failed: \(($0 as? SqlError)?.extendedCode ?? 0)") }
      root.observe(.insert, on: Observed.Note.self) { id in
        let read = try root.query("SELECT id FROM note WHERE id = \(id)", as: Int.self)
        log.add("\(id): \(read)")
        try root.execute("INSERT INTO note (id) VALUES (\(-id))")
      }
      try root.beginTransaction(.deferred)
      #expect(try root.query("SELECT id FROM note", as: Int.self) == [])
      try child.execute("INSERT INTO note (id) VALUES (1)")
      settle(root)
      #expect(log.take() == ["1: []", "failed: 517"])
      try root.rollbackTransaction()
      try root.beginTransaction(.deferred)
      try child.execute("INSERT INTO note (id) VALUES (2)")
      settle(root)
      #expect(log.take() == ["2: [2]"])
      try root.rollbackTransaction()
      #expect(try root.query("SELECT id FROM note ORDER BY id", as: Int.self) == [1, 2])
    }
  }
}
