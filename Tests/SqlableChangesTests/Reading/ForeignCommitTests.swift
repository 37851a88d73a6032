import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Loops of a pool that learn the rows of other processes' commits from the change log.
@Suite(.needsSQLiteProgram, .needsPreupdateHook, .disabled(if: isInMemory))
struct ForeignCommitTests {
  fileprivate static func text(_ event: ChangeEvent<RowChange>?) -> String {
    switch event {
    case .row(let row):
      row.previousId == row.id ? "\(row.change) \(row.id)" : "\(row.change) \(row.previousId)→\(row.id)"
    case .missed: "missed"
    case nil: "end"
    }
  }

  private func next(_ count: Int, of changes: inout Changes<RowChange>.Iterator) async -> [String] {
    var texts: [String] = []
    for _ in 0..<count { texts.append(ForeignCommitTests.text(await changes.next(isolation: nil))) }
    return texts
  }

  private func withShell(_ pool: SqlitePool, _ body: (SQLiteProcess) async throws -> Void) async throws {
    let shell = try SQLiteProcess(pool.filepath)
    defer { shell.quit() }
    try await body(shell)
  }

  @Test func aLoopReceivesTheRowsOfAnotherProcess() async throws {
    try await withLoggedMembers { pool in
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try shell.run("INSERT INTO member VALUES (1, 'a'), (2, 'b'); UPDATE member SET id = 7 WHERE id = 2;")
        #expect(await next(3, of: &changes) == ["insert 1", "insert 2", "update 2→7"])
        try await Member(id: 3, name: "own").insert().run(pool)
        try shell.run("INSERT OR REPLACE INTO member VALUES (3, 'c'); DELETE FROM member;")
        #expect(
          await next(6, of: &changes) == ["insert 3", "delete 3", "insert 3", "delete 1", "delete 3", "delete 7"])
      }
    }
  }

  @Test func aLoopFollowsATableWhoseNameHasAnotherCase() async throws {
    try await withLoggedMembers { pool in
      try await withShell(pool) { shell in
        try shell.run("ALTER TABLE member RENAME TO x; ALTER TABLE x RENAME TO Member;")
        try shell.run("ALTER TABLE Member RENAME COLUMN name TO Name;")
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try shell.run("INSERT INTO member VALUES (1, 'a'); UPDATE member SET name = 'b';")
        #expect(await next(2, of: &changes) == ["insert 1", "update 1"])
      }
    }
  }

  @Test func aLoopOverOneRowReceivesItsChanges() async throws {
    try await withLoggedMembers { pool in
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self, .update, id: 2).makeAsyncIterator()
        try shell.run("INSERT INTO member VALUES (1, 'a'), (2, 'b'); UPDATE member SET name = 'c';")
        try await Member(id: 2, name: "own").update().run(pool)
        #expect(await next(2, of: &changes) == ["update 2", "update 2"])
      }
    }
  }

  @Test func loggedChangesHaveTheirValues() async throws {
    try await withLoggedMembers { pool in
      try await withShell(pool) { shell in
        var changes = pool.modelChanges(on: Member.self).makeAsyncIterator()
        try shell.run("INSERT INTO member VALUES (1, 'a'); UPDATE member SET name = 'b';")
        guard case .row(let insert) = await changes.next(isolation: nil),
          case .row(let update) = await changes.next(isolation: nil)
        else {
          Issue.record("no rows")
          return
        }
        #expect(try insert.old() == nil && insert.new() == Member(id: 1, name: "a"))
        #expect(try update.old() == Member(id: 1, name: "a") && update.new() == Member(id: 1, name: "b"))
      }
    }
  }

  @Test func changesOfOtherTablesAreMissed() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in try db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)") }
      try await withShell(pool) { shell in
        var members = pool.changes(on: Member.self).makeAsyncIterator()
        var others = pool.changes(on: Entry<Other>.self).makeAsyncIterator()
        try shell.run("INSERT INTO other VALUES (1); INSERT INTO member VALUES (1, 'a');")
        #expect(await next(1, of: &others) == ["missed"])
        #expect(await next(1, of: &members) == ["insert 1"])
      }
    }
  }

  private struct Other: TableDeclaration {
    static let (name, columns) = ("other", [Column("id", .integer, PrimaryKey())])
  }

  @Test func changesThatTheLogLacksAreMissed() async throws {
    try await withLoggedMembers { pool in
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        // One transaction, so that no check is in between.
        try shell.run("BEGIN; INSERT INTO member VALUES (1, 'a'), (2, 'b'), (3, 'c');")
        try shell.run(
          """
          DELETE FROM sqlable_changes WHERE seq < 3; UPDATE sqlable_change_history SET trimmed = 2; COMMIT;
          INSERT INTO member VALUES (4, 'd');
          """)
        var events = await next(1, of: &changes)
        #expect(events == ["missed"])
        try shell.run("INSERT INTO member VALUES (5, 'e');")
        // The fourth row was noticed together with the first three, or alone.
        events = await next(1, of: &changes)
        if events == ["insert 4"] { events = await next(1, of: &changes) }
        #expect(events == ["insert 5"])
      }
    }
  }

  @Test func aRestoreOfAnotherProcessIsMissed() async throws {
    try await withLoggedMembers { pool in
      let backup = pool.filepath + "-backup"
      try await Member(id: 1, name: "a").insert().run(pool)
      try await pool.backup(to: backup)
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try shell.run("INSERT INTO member VALUES (2, 'b');")
        #expect(await next(1, of: &changes) == ["insert 2"])
        try shell.run(".restore '\(backup)'")
        #expect(await next(1, of: &changes) == ["missed"])
        try shell.run("INSERT INTO member VALUES (3, 'c');")
        #expect(await next(1, of: &changes) == ["insert 3"])
      }
    }
  }

  @Test func aVacuumOfAnotherProcessIsMissed() async throws {
    try await withLoggedMembers { pool in
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try shell.run("INSERT INTO member VALUES (1, 'a');")
        #expect(await next(1, of: &changes) == ["insert 1"])
        try shell.run("VACUUM;")
        #expect(await next(1, of: &changes) == ["missed"])
        try shell.run("INSERT INTO member VALUES (2, 'b');")
        #expect(await next(1, of: &changes) == ["insert 2"])
      }
    }
  }

  @Test func moreThanTenThousandChangesAtOnceAreMissed() async throws {
    try await withLoggedMembers { pool in
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try shell.run(
          """
          INSERT INTO member WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
          SELECT i, 'm' FROM n;
          """)
        #expect(await next(1, of: &changes) == ["missed"])
        try shell.run("INSERT INTO member VALUES (20000, 'b');")
        #expect(await next(1, of: &changes) == ["insert 20000"])
      }
    }
  }

  /// Without a log, the monitor and the next write of the pool can both report the same commit as missed, the monitor
  /// also later. A new log's end is not known before.
  @Test func logsAreCreatedAndDroppedWhileLoopsRun() async throws {
    try await withMembers { pool in
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        var id = 0
        func insertUntil(_ isExpected: (String) -> Bool) async throws {
          var event: String
          repeat {
            id += 1
            try shell.run("INSERT INTO member VALUES (\(id), 'a');")
            event = await next(1, of: &changes)[0]
          } while !isExpected(event)
        }
        try await insertUntil { $0 == "missed" }
        try await ChangeLog(Member.self).create(pool)
        try await insertUntil { $0.hasPrefix("insert") }
        try await ChangeLog(Member.self).drop(pool)
        try await insertUntil { $0 == "missed" }
      }
    }
  }

  /// The writer notices commits between its own, by another way than the monitor.
  @Test func theWriterFindsRowsThatTheMonitorHasNotSeen() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory, PoolConfiguration(pollInterval: nil))
      try await pool.transaction { db in
        try db.createTable(Member.self)
        try ChangeLog(Member.self).create(db)
      }
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        // Without a monitor, the first commit finds the end of the log.
        try await Member(id: 1, name: "own").insert().run(pool)
        #expect(await next(1, of: &changes) == ["insert 1"])
        for id in stride(from: 2, to: 40, by: 2) {
          try shell.run("INSERT INTO member VALUES (\(id), 'a');")
          try await Member(id: id + 1, name: "own").insert().run(pool)
          #expect(await next(2, of: &changes) == ["insert \(id)", "insert \(id + 1)"])
        }
      }
      try await pool.close()
    }
  }

  @Test func aLogOfKeysHasRowsWithoutValues() async throws {
    try await withMembers { pool in
      try await ChangeLog(Member.self, keeping: .keys).create(pool)
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try shell.run("INSERT INTO member VALUES (1, 'a'); UPDATE member SET name = 'b';")
        #expect(await next(2, of: &changes) == ["insert 1", "update 1"])
        let names = Follower(Member.read().filter(Member.id == 1).updates(in: pool))
        #expect(try await names.latest { !$0.isEmpty } == [Member(id: 1, name: "b")])
        try shell.run("UPDATE member SET name = 'c';")
        #expect(try await names.latest { $0[0].name == "c" } == [Member(id: 1, name: "c")])
        var models = pool.modelChanges(on: Member.self).makeAsyncIterator()
        try shell.run("UPDATE member SET name = 'd';")
        guard case .missed = await models.next(isolation: nil) else {
          Issue.record("a row without values")
          return
        }
      }
    }
  }

  @Test func aLogOfChosenColumnsHasRowsWithoutValues() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
        try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db)
        try Bicycle(name: "Rover", color: "red").insert().run(db)
      }
      let reads = Counter()
      let trace = pool.trace { event in
        if event.kind == .read, event.sql.contains("FROM \"bicycle\"") { reads.count() }
      }
      try await withShell(pool) { shell in
        var changes = pool.changes(on: Bicycle.self).makeAsyncIterator()
        let colors = Follower(Bicycle.select(Bicycle.color).updates(in: pool))
        #expect(try await colors.latest { !$0.isEmpty }?.map(\.values) == [["red"]])
        let before = reads.value
        try shell.run("UPDATE bicycle SET name = 'Dahon';")
        #expect(await next(1, of: &changes) == ["update 1"])
        #expect(reads.value == before)
        try shell.run("UPDATE bicycle SET color = 'blue';")
        #expect(try await colors.latest { $0.map(\.values) != [["red"]] }?.map(\.values) == [["blue"]])
        // The log does not show that the name has changed.
        let names = Follower(Bicycle.select(Bicycle.name).updates(in: pool))
        #expect(try await names.latest { !$0.isEmpty }?.map(\.values) == [["Dahon"]])
        try shell.run("UPDATE bicycle SET name = 'Rover';")
        #expect(try await names.latest { $0.map(\.values) != [["Dahon"]] }?.map(\.values) == [["Rover"]])
        var models = pool.modelChanges(on: Bicycle.self).makeAsyncIterator()
        try shell.run("UPDATE bicycle SET color = 'black';")
        guard case .missed = await models.next(isolation: nil) else {
          Issue.record("a row without values")
          return
        }
      }
      pool.removeTrace(trace)
    }
  }

  @Test func aLiveResultIgnoresOtherRowsOfAnotherProcess() async throws {
    try await withLoggedMembers { pool in
      try await pool.transaction { db in try db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)") }
      let reads = Counter()
      try await Member.insert((1...9).map { Member(id: $0, name: "m") }).run(pool)
      let trace = pool.trace { event in
        if event.kind == .read, event.sql.contains("FROM \"member\"") { reads.count() }
      }
      try await withShell(pool) { shell in
        let one = Follower(Member.read().filter(Member.id == 5).updates(in: pool))
        #expect(try await one.latest { !$0.isEmpty }?.first?.name == "m")
        let before = reads.value
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try shell.run("UPDATE member SET name = 'n' WHERE id <> 5; INSERT INTO other VALUES (1);")
        #expect(await next(1, of: &changes) == ["update 1"])
        #expect(reads.value == before)
        try shell.run("UPDATE member SET name = 'n';")
        #expect(try await one.latest { $0.first?.name == "n" } == [Member(id: 5, name: "n")])
        #expect(reads.value > before)
        pool.removeTrace(trace)
      }
    }
  }
}

/// A count that threads share.
private final class Counter: Sendable {
  private let number = LockedValue(0)
  var value: Int { number.withLock { $0 } }
  func count() { number.withLock { $0 += 1 } }
}
