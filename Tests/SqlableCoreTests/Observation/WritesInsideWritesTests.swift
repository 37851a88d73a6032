import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct WritesInsideWritesTests {
  private func withPeople(_ body: (SqliteDatabase, EventLog) throws -> Void) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
      try db.execute("INSERT INTO person VALUES (1, 'taken')")
      try body(db, EventLog())
    }
  }

  /// A person whose `write(to:)` uses the handle.
  private func person(
    _ id: Int, _ name: String? = nil, _ whileWritten: @escaping @Sendable () throws -> Void = {}
  ) -> HookedPerson {
    HookedPerson(id: id, name: name ?? "\(id)") { _ in try whileWritten() }
  }

  private func ids(_ db: SqliteDatabase) throws -> [Int] {
    try db.query("SELECT id FROM person ORDER BY id", as: Int.self)
  }

  @Test func nestedWritesOfAFailedStatementAreReported() throws {
    try withPeople { db, log in
      log.listen(to: db, on: Person.self)
      for transaction in [true, false] {
        for isSave in [false, true] {
          let id = 50 + (isSave ? 1 : 0) + (transaction ? 0 : 10)
          let row = person(9, "taken") { try db.execute("INSERT INTO person (id) VALUES (\(id))") }
          let failing = isSave ? row.save() : row.insert()
          if transaction {
            try db.transaction { db in
              expectError(.constraint(.unique)) { try failing.run(db) }
              #expect(log.take() == [])
            }
          } else {
            expectError(.constraint(.unique)) { try failing.run(db) }
          }
          #expect(log.take() == ["insert person \(id)"])
        }
      }
      #expect(try ids(db) == [1, 50, 51, 60, 61])
      try db.transaction { db in
        let update = person(50, "taken") { try db.execute("DELETE FROM person WHERE id = 51") }.update()
        expectError(.constraint(.unique)) { try update.run(db) }
        let unfit = person(70) {
          try db.execute("DELETE FROM person WHERE id = 60")
          throw CancellationError()
        }
        #expect(throws: CancellationError.self) { try unfit.insert().run(db) }
      }
      #expect(log.take() == ["delete person 51", "delete person 60"])
      #expect(try ids(db) == [1, 50, 61])
    }
  }

  @Test func failedBatchUndoesNestedWrites() throws {
    try withPeople { db, log in
      log.listen(to: db, on: Person.self)
      let batch = HookedPerson.insert([
        person(2), person(3) { try db.execute("INSERT INTO person (id) VALUES (50)") }, person(4, "taken"),
      ])
      expectError(.constraint(.unique)) { try batch.run(db) }
      try db.transaction { db in
        expectError(.constraint(.unique)) { try batch.run(db) }
      }
      #expect(log.take() == [])
      #expect(try ids(db) == [1])
    }
  }

  /// Rows of the outer batch wait for their common statement while `write(to:)` runs another batch.
  @Test func aBatchInsideABatchKeepsTheWaitingRows() throws {
    try withPeople { db, _ in
      let inner = (1_001...1_300).map { person($0) }
      let outer = (2...401).map { id in
        id == 10 ? person(id) { try HookedPerson.insert(inner).run(db) } : person(id)
      }
      #expect(try HookedPerson.insert(outer).run(db) == Array(2...401))
      let names = try db.query("SELECT name FROM person WHERE id > 1 ORDER BY id", as: String.self)
      #expect(names == [Array(2...401), Array(1_001...1_300)].joined().map { "\($0)" })
    }
  }

  // MARK: Observers that are added later

  @Test func observerAddedWhileARowIsWrittenGetsThatRow() throws {
    try withPeople { db, log in
      try person(2) { log.listen(to: db, on: Person.self) }.insert().run(db)
      #expect(log.take() == ["insert person 2"])
    }
    try withPeople { db, log in
      try person(2) {
        log.listen(to: db, on: Person.self)
        try db.execute("INSERT INTO person (id) VALUES (50)")
      }.insert().run(db)
      #expect(log.take() == ["insert person 50", "insert person 2"])
    }
    try withPeople { db, log in
      let token = Mutex<ObserverToken?>(nil)
      try person(1, "free") { token.withLock { $0 = log.listen(to: db, on: Person.self) } }.update().run(db)
      #expect(log.take() == ["update person 1"])
      try person(2) { token.withLock { $0.map(db.removeObserver) } }.insert().run(db)
      #expect(log.take() == [])
    }
  }

  @Test func observerAddedDuringABatchGetsLaterRows() throws {
    try withPeople { db, log in
      try HookedPerson.insert([person(2), person(3) { log.listen(to: db, on: Person.self) }, person(4)]).run(db)
      #expect(log.take() == ["insert person 3", "insert person 4"])
    }
  }
}
