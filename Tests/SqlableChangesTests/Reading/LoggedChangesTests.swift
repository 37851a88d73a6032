import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite struct LoggedChangesTests {
  /// Returns the first changes after a position.
  private func first(_ count: Int, of pool: SqlitePool, since position: ChangePosition) async throws
    -> [LoggedModelChange<Member>]
  {
    var changes: [LoggedModelChange<Member>] = []
    for try await change in pool.changes(on: Member.self, since: position) {
      changes.append(change)
      if changes.count == count { break }
    }
    return changes
  }

  @Test func deliversEarlierChangesAndThenLaterOnes() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      try await Member(id: 1, name: "Ada").insert().run(pool)
      try await Member(id: 1, name: "Bob").update().run(pool)
      let task = Task { try await first(4, of: pool, since: start) }
      try await Member(id: 1, name: "").delete().run(pool)
      try await Member(id: 2, name: "Cleo").insert().run(pool)
      let (ada, bob) = (Member(id: 1, name: "Ada"), Member(id: 1, name: "Bob"))
      let rows: [LoggedRow<Member>] = [
        .insert(ada), .update(old: ada, new: bob), .delete(bob), .insert(Member(id: 2, name: "Cleo")),
      ]
      #expect(try await task.value.map(\.row) == rows)
    }
  }

  private struct WithAge: TableDeclaration {
    static let name = "member"
    static let columns = [
      Column("id", .integer, PrimaryKey()), Column("name", .text), Column("age", .integer, Default(18)),
    ]
  }

  @Test(.needsSQLiteProgram, .disabled(if: isInMemory)) func aLoopContinuesAcrossAPlanOfAnotherHandle() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      let task = Task { try await first(3, of: pool, since: start) }
      try await Member(id: 1, name: "Ada").insert().run(pool)
      let other = try SqliteDatabase(filepath: pool.filepath)
      try Schema(Entry<WithAge>.self).plan(other).apply(other)
      let shell = try SQLiteProcess(pool.filepath)
      try shell.run("INSERT INTO member VALUES (2, 'Bob', 40); DELETE FROM member WHERE id = 1;")
      shell.quit()
      let (ada, bob) = (Member(id: 1, name: "Ada"), Member(id: 2, name: "Bob"))
      #expect(try await task.value.map(\.row) == [.insert(ada), .insert(bob), .delete(ada)])
      try other.close()
    }
  }

  @Test func aLoopContinuesAtThePositionOfAnyChange() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      try await Member.insert((1...5).map { Member(id: $0, name: "m") }).run(pool)
      let changes = try await first(5, of: pool, since: start)
      #expect(changes.map(\.position) == changes.map(\.position).sorted())
      let text = try JSONEncoder().encode(changes[2].position)
      let position = try JSONDecoder().decode(ChangePosition.self, from: text)
      #expect(ChangePosition(position.description) == changes[2].position)
      #expect(try await first(2, of: pool, since: position).map(\.row) == changes[3...].map(\.row))
    }
  }

  @Test func readsMoreChangesThanOnePage() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      try await Member.insert((1...1_500).map { Member(id: $0, name: "m") }).run(pool)
      try await Member.updateAll(Member.name.set(to: "n")).run(pool)
      let changes = try await first(3_000, of: pool, since: start)
      #expect(Set(changes.map(\.position)).count == 3_000)
      let updated = changes[1_500...].map { change in
        if case .update(let old, let new) = change.row { (old.id, new.name) } else { (0, "") }
      }
      #expect(updated.map(\.0) == Array(1...1_500))
      #expect(updated.allSatisfy { $0.1 == "n" })
    }
  }

  @Test(.needsSQLiteProgram, .disabled(if: isInMemory)) func deliversCommitsOfAnotherProcess() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      let task = Task { try await first(2, of: pool, since: start) }
      let shell = try SQLiteProcess(pool.filepath)
      try shell.run("INSERT INTO member VALUES (1, 'Ada');")
      try shell.run("INSERT OR REPLACE INTO member VALUES (1, 'Bob');")
      let ada = Member(id: 1, name: "Ada")
      #expect(try await task.value.map(\.row) == [.insert(ada), .delete(ada)])
      shell.quit()
    }
  }

  @Test func changesOfAllTablesHaveOneOrder() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
        try ChangeLog(Person.self).create(db)
        try ChangeLog(Bicycle.self, keeping: .keys).create(db)
      }
      let start = try await pool.changePosition()
      try await pool.transaction { db in
        try Person(id: nil, name: "Ada").insert().run(db)
        try Bicycle(name: "Rover", color: "red", ownerId: 1).insert().run(db)
        try Person.deleteAll().run(db)
      }
      var texts: [String] = []
      for try await change in pool.changes(since: start) {
        let rows = [change.old, change.new].map { $0?.description ?? "–" }
        texts.append("\(change.table) \(change.change): \(rows.joined(separator: ", "))")
        if texts.count == 4 { break }
      }
      #expect(
        texts == [
          "person insert: –, id: 1, name: Ada", "bicycle insert: –, id: 1",
          // ON DELETE SET NULL
          "bicycle update: id: 1, id: 1", "person delete: id: 1, name: Ada, –",
        ])
    }
  }

  @Test func refusesAPositionOfAnotherDatabase() async throws {
    try await withLoggedMembers { pool in
      let position = try await pool.changePosition()
      try await withLoggedMembers { other in
        await #expect { try await first(1, of: other, since: position) } throws: {
          ($0 as? SqlError)?.kind == .changeLog(.otherHistory)
        }
      }
    }
  }

  @Test func refusesAPositionThatARestoreHasUndone() async throws {
    try await withDirectoryAsync { directory in
      let (path, copy) = (directory + "/log.sqlite", directory + "/copy.sqlite")
      let db = try SqliteDatabase(filepath: path)
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
      try Member(id: 1, name: "Ada").insert().run(db)
      let kept = try db.changePosition()
      try db.execute("VACUUM INTO \(copy)")
      try Member(id: 2, name: "Bob").insert().run(db)
      let undone = try db.changePosition()
      let restored = try SqlitePool(filepath: copy)
      await #expect("beyond the end") { try await first(1, of: restored, since: undone) } throws: {
        ($0 as? SqlError)?.kind == .changeLog(.otherHistory)
      }
      usleep(2_000)
      try await Member(id: 3, name: "Cleo").insert().run(restored)
      await #expect("another change has the number") { try await first(1, of: restored, since: undone) } throws: {
        ($0 as? SqlError)?.kind == .changeLog(.otherHistory)
      }
      #expect(try await first(1, of: restored, since: kept).map(\.row) == [.insert(Member(id: 3, name: "Cleo"))])
      try await restored.close()
    }
  }

  @Test func anOlderChangeIsReadWithThePresentColumns() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE bicycle (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        try ChangeLog(Bicycle.self).create(db)
      }
      let start = try await pool.changePosition()
      try await pool.transaction { db in try db.execute("INSERT INTO bicycle VALUES (1, 'Rover')") }
      try await pool.transaction { db in
        try db.execute("ALTER TABLE bicycle ADD COLUMN color TEXT NOT NULL DEFAULT 'black'")
        try db.execute("ALTER TABLE bicycle ADD COLUMN owner_id INTEGER")
        try ChangeLog(Bicycle.self).create(db)
        try db.execute("INSERT INTO bicycle VALUES (2, 'Dahon', 'red', 7)")
      }
      var rows: [LoggedRow<Bicycle>] = []
      for try await change in pool.changes(on: Bicycle.self, since: start) {
        rows.append(change.row)
        if rows.count == 2 { break }
      }
      #expect(
        rows == [
          .insert(Bicycle(id: 1, name: "Rover", color: "black")),
          .insert(Bicycle(id: 2, name: "Dahon", color: "red", ownerId: 7)),
        ])
    }
  }

  @Test func throwsIfTheTableHasChangedSinceItsLog() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      try await pool.transaction { db in try db.execute("ALTER TABLE member ADD COLUMN extra") }
      let error = await #expect(throws: SqlError.self) { try await first(1, of: pool, since: start) }
      #expect(error?.message == "table member has other columns than its change log; run ChangeLog(…).create(db) again")
    }
  }

  @Test func aLogOfKeysHasNoStructs() async throws {
    try await withMembers { pool in
      try await ChangeLog(Member.self, keeping: .keys).create(pool)
      let start = try await pool.changePosition()
      let error = await #expect(throws: SqlError.self) { try await first(1, of: pool, since: start) }
      #expect(error?.kindIsMisuse == true)
    }
  }

  @Test func aLogThatHadOnlyKeysHasStructsOfLaterChanges() async throws {
    try await withMembers { pool in
      try await ChangeLog(Member.self, keeping: .keys).create(pool)
      let start = try await pool.changePosition()
      try await Member(id: 1, name: "Ada").insert().run(pool)
      try await ChangeLog(Member.self).create(pool)
      let later = try await pool.changePosition()
      try await Member(id: 2, name: "Bob").insert().run(pool)
      #expect(try await first(1, of: pool, since: later).map(\.row) == [.insert(Member(id: 2, name: "Bob"))])
      let error = await #expect(throws: SqlError.self) { try await first(1, of: pool, since: start) }
      #expect(error?.kindIsMisuse == true)
    }
  }

  @Test func deliversTheChangesBeforeOneThatCantBeDecoded() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      try await pool.transaction { db in try db.execute("INSERT INTO member VALUES (1, 'Ada'), (2, x'ff'), (3, 'Cleo')")
      }
      var loop = pool.changes(on: Member.self, since: start).makeAsyncIterator()
      #expect(try await loop.next()?.row == .insert(Member(id: 1, name: "Ada")))
      let error = await #expect(throws: SqlError.self) { try await loop.next() }
      guard case .decoding = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(try await loop.next() == nil)
    }
  }

  @Test func aDatabaseWithoutALogThrows() async throws {
    try await withMembers { pool in
      let error = await #expect(throws: SqlError.self) { try await pool.changePosition() }
      #expect(error?.message == "the database has no change log; create one with ChangeLog(…).create(db)")
    }
  }

  @Test func theLoopEndsWhenThePoolCloses() async throws {
    try await withLoggedMembersToClose { pool in
      let start = try await pool.changePosition()
      let task = Task { try await first(1, of: pool, since: start) }
      try await Task.sleep(for: .milliseconds(20))
      try await pool.close()
      #expect(try await task.value.isEmpty)
    }
  }

  @Test func aCancelledLoopThrows() async throws {
    try await withLoggedMembers { pool in
      let start = try await pool.changePosition()
      let task = Task { try await first(1, of: pool, since: start) }
      try await Task.sleep(for: .milliseconds(20))
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test(arguments: ["", "a-1", "a--1", "-1-2", "a-1-b", "a-1-2-3"])
  func refusesOtherTextsAsPositions(_ text: String) { #expect(ChangePosition(text) == nil) }
}
