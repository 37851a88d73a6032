import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A struct whose `write(to:)` uses the handle.
private struct Busy: Sqlable {
  static let tableName = "note"
  static let id = Column("id", .integer, PrimaryKey())
  static let text = Column("text", .nullable(.text), Unique())
  static let tableLayout = [id, text]

  let key: Int
  var value: String?
  var action: @Sendable () throws -> Void

  init(_ key: Int, _ value: String? = nil, action: @escaping @Sendable () throws -> Void = {}) {
    (self.key, self.value, self.action) = (key, value, action)
  }

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Busy.id: return key
    case Busy.text: return value
    case _: return nil
    }
  }

  func write(to row: inout RowWriter) throws {
    row.set(Busy.id, key)
    try action()
    row.set(Busy.text, value)
  }

  init(row: ReadRow) throws { self.init(try row.get(Busy.id), try row.get(Busy.text)) }
}

@Suite struct WritesInsideWritesTests {
  private func withNotes(_ body: (SqliteDatabase, EventLog) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      try db.execute("INSERT INTO note (id, text) VALUES (1, 'taken')")
      try body(db, EventLog())
    }
  }

  private func ids(_ db: SqliteDatabase) throws -> [Int] {
    try db.query("SELECT id FROM note ORDER BY id", as: Int.self)
  }

  @Test func nestedWritesOfAFailedStatementAreReported() throws {
    try withNotes { db, log in
      log.listen(to: db, on: Observed.Note.self)
      for transaction in [true, false] {
        for (number, statement) in [
          { Busy(9, "taken", action: $0).insert() }, { Busy(9, "taken", action: $0).save() },
        ].enumerated() as EnumeratedSequence<[(@escaping @Sendable () throws -> Void) -> Statement<Busy, Int>]> {
          let id = 50 + number + (transaction ? 0 : 10)
          let failing = statement { try db.execute("INSERT INTO note (id) VALUES (\(id))") }
          if transaction {
            try db.transaction { db in
              expectError(.constraint(.unique)) { try failing.run(db) }
              #expect(log.take() == [])
            }
          } else {
            expectError(.constraint(.unique)) { try failing.run(db) }
          }
          #expect(log.take() == ["insert note \(id)"])
        }
      }
      #expect(try ids(db) == [1, 50, 51, 60, 61])
      try db.transaction { db in
        let update = Busy(50, "taken") { try db.execute("DELETE FROM note WHERE id = 51") }.update()
        expectError(.constraint(.unique)) { try update.run(db) }
        let unfit = Busy(70) {
          try db.execute("DELETE FROM note WHERE id = 60")
          throw CancellationError()
        }
        #expect(throws: CancellationError.self) { try unfit.insert().run(db) }
      }
      #expect(log.take() == ["delete note 51", "delete note 60"])
      #expect(try ids(db) == [1, 50, 61])
    }
  }

  @Test func failedBatchUndoesNestedWrites() throws {
    try withNotes { db, log in
      log.listen(to: db, on: Observed.Note.self)
      let batch = Busy.insert([
        Busy(2), Busy(3) { try db.execute("INSERT INTO note (id) VALUES (50)") }, Busy(4, "taken"),
      ])
      expectError(.constraint(.unique)) { try batch.run(db) }
      try db.transaction { db in
        expectError(.constraint(.unique)) { try batch.run(db) }
      }
      #expect(log.take() == [])
      #expect(try ids(db) == [1])
    }
  }

  // MARK: Observers that are added later

  @Test func observerAddedWhileARowIsWrittenGetsThatRow() throws {
    try withNotes { db, log in
      try Busy(2) { log.listen(to: db, on: Observed.Note.self) }.insert().run(db)
      #expect(log.take() == ["insert note 2"])
    }
    try withNotes { db, log in
      try Busy(2) {
        log.listen(to: db, on: Observed.Note.self)
        try db.execute("INSERT INTO note (id) VALUES (50)")
      }.insert().run(db)
      #expect(log.take() == ["insert note 50", "insert note 2"])
    }
    try withNotes { db, log in
      let token = Mutex<ObserverToken?>(nil)
      try Busy(1, "free") { token.withLock { $0 = log.listen(to: db, on: Observed.Note.self) } }.update().run(db)
      #expect(log.take() == ["update note 1"])
      try Busy(2) { token.withLock { $0.map(db.removeObserver) } }.insert().run(db)
      #expect(log.take() == [])
    }
  }

  @Test func observerAddedDuringABatchGetsLaterRows() throws {
    try withNotes { db, log in
      try Busy.insert([Busy(2), Busy(3) { log.listen(to: db, on: Observed.Note.self) }, Busy(4)]).run(db)
      #expect(log.take() == ["insert note 3", "insert note 4"])
    }
  }
}
