import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The end of a cursor, and the state of its handle.
@Suite struct CursorEndTests {
  /// Sound: only one thread at a time holds the value.
  private final class Handed<Value>: @unchecked Sendable {
    private let value: Mutex<Value?>

    init(_ value: Value) { self.value = Mutex(value) }

    func take() -> Value? {
      value.withLock { value in
        let taken = value
        value = nil
        return taken
      }
    }
  }

  private func expectNothingOpen(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let other = try SqliteDatabase(filepath: path)
    try other.execute("UPDATE person SET name = name || '!'")
    let busy = try other.query("PRAGMA wal_checkpoint(TRUNCATE)") { try $0.get(at: 0, as: Int.self) }
    #expect(busy == [0], sourceLocation: sourceLocation)
  }

  @Test func aCursorMayBeReleasedOnAnotherThread() throws {
    try withCompany { db throws in
      let handed = Handed(try Worker.read().orderBy(Worker.id).cursor(db))
      let query = Handed(try Worker.select(Worker.name).orderBy(Worker.id).cursor(db))
      let seen = try onThread {
        let (cursor, names) = (handed.take(), query.take())
        return (try cursor?.next()?.id, try names?.next())
      }
      #expect(seen.0 == 1)
      #expect(seen.1 == "Ada")
      try expectNothingOpen(db.filepath)
      try db.close()
    }
  }

  /// The closure holds the handle's lock and waits for the thread that releases the cursor.
  @Test func aCursorMayBeReleasedWhileTheHandleIsLocked() throws {
    try withCompany { db throws in
      let handed = Handed(try Worker.read().orderBy(Worker.id).cursor(db))
      let isOpen = try db.transaction { db in
        try db.execute("CREATE TABLE gone (id)")
        let isOpen = try onThread {
          _ = handed.take()
          return db.isOpen
        }
        // The handle has ended the released cursor: SQLite drops no table while a statement reads.
        try db.execute("DROP TABLE gone")
        return isOpen
      }
      #expect(isOpen)
      let second = Handed(try Worker.read().orderBy(Worker.id).cursor(db))
      try db.transaction { db in
        try Worker.deleteAll().run(db)
        try onThread { _ = second.take() }
      }
      // No further statement runs on the handle.
      try expectNothingOpen(db.filepath)
      try db.close()
    }
  }

  @Test func aPoolsCursorMayBeReleasedOnAnotherThread() throws {
    try withMembers { pool in
      try Member.insert((1...9).map { Member(id: $0, name: "m") }).run(pool)
      for _ in 0..<3 {
        let ids = try pool.read { db in
          let cursor = try Member.select(Member.id).orderBy(Member.id).cursor(db)
          let first = try cursor.next()
          let handed = Handed(cursor)
          let isOpen = try onThread {
            _ = handed.take()
            return db.isOpen
          }
          return [first, isOpen ? 1 : 0]
        }
        #expect(ids == [1, 1])
      }
    }
  }

  /// A thread that releases a cursor waits for the handle, so it never meets a running statement.
  @Test func cursorsMayBeReleasedWhileOtherThreadsUseTheHandle() throws {
    try withCompany { db throws in
      let failures = Mutex<[String]>([])
      let cursors = Mutex<[Handed<Cursor<Worker>>]>([])
      onThreads(4) { number in
        do {
          for round in 0..<times(100) {
            let cursor = try Worker.read().filter(Worker.id > round % 4).orderBy(Worker.id).cursor(db)
            let next = try cursor.next()
            if next != Worker.all[round % 4] { failures.withLock { $0.append("\(String(describing: next))") } }
            cursors.withLock { $0.append(Handed(cursor)) }
            let other = cursors.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            let rest = try other?.take().map { try $0.next() }
            if rest == nil { continue }
            let all = try db.transaction { db in try Worker.read().orderBy(Worker.id).run(db) }
            if all != Worker.all { failures.withLock { $0.append("thread \(number): \(all)") } }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
      cursors.withLock { $0.removeAll() }
      try expectNothingOpen(db.filepath)
      try db.close()
    }
  }

  @Test func aCursorKeepsItsHandleAlive() throws {
    try withDirectory { directory in
      let path = directory + "/test.sqlite"
      func cursor() throws -> Cursor<String> {
        let db = try SqliteDatabase(filepath: path)
        try fillCompany(db)
        return try Worker.select(Worker.name).orderBy(Worker.id).cursor(db)
      }
      var names: Cursor<String>? = try cursor()
      for worker in Worker.all {
        let name = try names?.next()
        #expect(name == worker.name)
      }
      let end = try names?.next()
      #expect(end == .none)
      names = nil
      try expectNothingOpen(path)
    }
  }

  @Test func aHandleClosesOnlyAfterItsCursorsHaveEnded() throws {
    try withCompany { db throws in
      let read = try Worker.read().filter(Worker.id < 3).orderBy(Worker.id).cursor(db)
      let query = try Worker.select(Worker.id).filter(Worker.id < 2).cursor(db)
      let none = try Worker.select(Worker.id).filter(Worker.id < 0).cursor(db)
      let says = "can't close a handle while its rows are being read"
      func expectOpen(sourceLocation: SourceLocation = #_sourceLocation) {
        let error = expectMisuse(sourceLocation: sourceLocation) { try db.close() }
        #expect(error?.message == says, sourceLocation: sourceLocation)
        #expect(db.isOpen, sourceLocation: sourceLocation)
      }
      // A cursor is open before its first row.
      expectOpen()
      #expect(try read.next()?.id == 1)
      #expect(try query.next() == 1)
      expectOpen()
      #expect(try query.next() == nil)
      #expect(try none.next() == nil)
      expectOpen()
      #expect(try read.next()?.id == 2)
      #expect(try read.next() == nil)
      try db.close()
      #expect(!db.isOpen)
      // A finished cursor returns nil even after its handle is closed.
      #expect(try read.next() == nil)
      #expect(try query.next() == nil)
      #expect(try none.next() == nil)
      expectError(.closed) { _ = try Worker.select(Worker.id).cursor(db) }
      expectError(.closed) { _ = try Worker.read().cursor(db) }
      expectError(.closed) { _ = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).cursor(db) }
    }
  }

  @Test func aCursorThrowsAfterItsTransactionIsLost() throws {
    try withCompany { db throws in
      try db.beginTransaction()
      let cursor = try Worker.select(Worker.id).orderBy(Worker.id).cursor(db)
      #expect(try cursor.next() == 1)
      #expect(sqlError { try db.execute("INSERT OR ROLLBACK INTO worker VALUES (1, 'again', NULL, 1)") } != nil)
      let error = sqlError { _ = try cursor.next() }
      #expect(error?.message.contains("an earlier error rolled back the whole transaction") == true)
      try db.rollbackTransaction()
      #expect(try cursor.next() == nil)
      try db.close()
    }
  }
}
