import Dispatch
import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Currency {
  var code: String
  var rate: Double
}

extension Currency: Sqlable {
  static let code = Column("code", .text, PrimaryKey())
  static let rate = Column("rate", .real)
  static let tableLayout = [code, rate]
  static let tableOptions: [TableOption] = [.withoutRowid]

  func write(to row: inout RowWriter) throws {
    row.set(Currency.code, code)
    row.set(Currency.rate, rate)
  }

  init(row: ReadRow) throws {
    code = try row.get(Currency.code)
    rate = try row.get(Currency.rate)
  }
}

/// A thread-safe log of the observers' calls.
private final class Log: Sendable {
  private let lines = Mutex<[String]>([])
  func append(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
}

@Suite struct ObservationGuide {
  private let log = Log()

  private func withTables(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self, Currency.self)
      try body(db)
    }
  }

  @Test func observersAreNotifiedOfCommittedChanges() throws {
    try withTables { db in
      let log = log
      let inserts = db.observe(.insert, on: Bicycle.self) { id in log.append("insert \(id)") }
      let second = db.observe(.update, on: Bicycle.self, id: 2) { id in log.append("update \(id)") }
      db.observe(on: Bicycle.self) { id in log.append("any \(id)") }
      let delivered = try db.transaction { db in
        try Bicycle.insert([Bicycle(name: "Norco", color: "red"), Bicycle(name: "Trek", color: "red")]).run(db)
        try Bicycle.updateAll(Bicycle.color.set(to: "blue")).run(db)
        return log.all  // empty: the changes are delivered after the commit
      }
      #expect(delivered == [])
      // insert 1, any 1, insert 2, any 2, any 1, update 2, any 2
      #expect(log.all == ["insert 1", "any 1", "insert 2", "any 2", "any 1", "update 2", "any 2"])
      db.removeObserver(inserts)
      db.removeObserver(second)
    }
  }

  @Test func didUpdateReportsEveryChange() throws {
    try withTables { db in
      let log = log
      db.didUpdate = { table, id, change in
        switch change {
        case .insert: log.append("insert into \(table): \(id)")
        case .update: log.append("update of \(table): \(id)")
        case .delete: log.append("delete from \(table): \(id)")
        }
      }
      try Person(id: nil, name: "Anna").insert().run(db)
      try Person.deleteAll().run(db)
      #expect(log.all == ["insert into person: 1", "delete from person: 1"])
      db.didUpdate = nil
    }
  }

  @Test func observersIgnoreRolledBackChanges() throws {
    try withTables { db in
      let log = log
      db.observe(on: Person.self) { id in log.append("\(id)") }
      try db.transaction { db in
        try Person(id: 1, name: "kept").insert().run(db)
        try db.transaction { db in
          try Person(id: 2, name: "undone").insert().run(db)
          return .rollback
        }
      }
      #expect(log.all == ["1"])
    }
  }

  @Test(.needsPreupdateHook) func observersSeeImplicitDeletionsAndUpdates() throws {
    try withTables { db in
      let log = log
      let owner = try Person(id: nil, name: "Anna").insert().run(db)
      try Bicycle(id: 1, name: "Norco", color: "red", ownerId: owner).insert().run(db)
      db.observe(on: Bicycle.self) { (change: RowChange) in log.append("\(change.change) \(change.id)") }
      try Bicycle(id: 2, name: "Norco", color: "red", ownerId: owner).insert().replaceOnConflict().run(db)
      try Person.delete(Person.id == owner).run(db)  // ON DELETE SET NULL
      try Bicycle.deleteAll().run(db)
      // delete 1, insert 2, update 2, delete 2
      #expect(log.all == ["delete 1", "insert 2", "update 2", "delete 2"])
    }
  }

  @Test(.needsPreupdateHook) func observersReportTextKeys() throws {
    try withTables { db in
      let log = log
      db.observe(.update, on: Currency.self, id: "NOK") { (change: RowChange) in
        log.append("\(change.previousKey) → \(change.key)")
      }
      try Currency(code: "NOK", rate: 11.5).insert().run(db)
      try Currency.updateAll(Currency.code.set(to: "SEK")).run(db)
      #expect(log.all == [#"[SqlableCore.DatabaseValue.text("NOK")] → [SqlableCore.DatabaseValue.text("SEK")]"#])
    }
  }

  @Test func commitsOfChildrenNotifyTheirParents() throws {
    try withTables { db in
      let log = log
      let queue = DispatchQueue(label: "bikes.changes")
      db.queue = queue
      db.observe(.insert, on: Person.self) { id in log.append("person \(id)") }
      let child = try db.createChild()
      try Person(id: nil, name: "Anna").insert().run(child)
      queue.sync {}  // all earlier commits have been delivered
      #expect(log.all == ["person 1"])
    }
  }

  @Test func didFailReceivesErrorsOfObservers() throws {
    try withTables { db in
      let log = log
      db.didFail = { error in log.append("failed: \(error)") }
      db.observe(.insert, on: Person.self) { id in
        if id > 1 { throw CancellationError() }
      }
      try Person(id: 1, name: "Anna").insert().run(db)
      try Person(id: 2, name: "Bob").insert().run(db)
      #expect(log.all == ["failed: CancellationError()"])
    }
  }

  @Test func observersMayWrite() throws {
    try withTables { db in
      let log = log
      db.observe(.insert, on: Person.self) { [weak db] id in
        guard let db, let person = try Person.byId(id).run(db) else { return }
        try Bicycle(name: "for \(person.name)", color: "red", ownerId: id).insert().run(db)
      }
      db.observe(.insert, on: Bicycle.self) { id in log.append("bicycle \(id)") }
      try Person(id: nil, name: "Anna").insert().run(db)
      #expect(log.all == ["bicycle 1"])
    }
  }
}
