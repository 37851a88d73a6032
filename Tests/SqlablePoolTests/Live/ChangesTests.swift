import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Events of loops over changed rows.
struct ChangesTests {
  /// Returns the next events of a loop as lines, for example `insert 1`.
  private func lines(_ count: Int, _ changes: inout Changes<RowChange>.Iterator) async -> [String] {
    var lines: [String] = []
    while lines.count < count, let event = await changes.next() { lines.append(ChangesTests.line(event)) }
    return lines
  }

  private static func line(_ event: ChangeEvent<RowChange>) -> String {
    switch event {
    case .row(let row): "\(row.change) \(row.id)"
    case .missed: "missed"
    }
  }

  @Test(.needsPreupdateHook) func changesKeepOrderAndOmitRolledBackRows() async throws {
    try await withMembers { pool in
      var all = pool.changes(on: Member.self).makeAsyncIterator()
      var second = pool.changes(on: Member.self, .update, id: 2).makeAsyncIterator()
      try await pool.transaction { db in
        for id in 1...3 { try Member(id: id, name: "m").insert().run(db) }
      }
      _ = try await pool.transaction { db -> TransactionResult in
        try Member(id: 4, name: "m").insert().run(db)
        return .rollback
      }
      try await Member(id: 2, name: "new").update().run(pool)
      try await Member.delete(Member.id == 2).run(pool)
      #expect(await lines(5, &all) == ["insert 1", "insert 2", "insert 3", "update 2", "delete 2"])
      #expect(await lines(1, &second) == ["update 2"])
    }
  }

  /// Descriptions may get into log files, which must not contain values.
  @Test(.needsPreupdateHook) func aChangeIsDescribedWithoutItsValues() async throws {
    try await withMembers { pool in
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      try await pool.transaction { db in
        try Member(id: 1, name: "secret").insert().run(db)
        try db.execute("UPDATE member SET id = 2")
        try Member.delete(Member.id == 2).run(db)
      }
      var texts: [String] = []
      while texts.count < 3, case .row(let row) = await changes.next() { texts.append("\(row)") }
      #expect(texts == ["insert of member 1", "update of member 2 (previously 1)", "delete of member 2"])
    }
  }

  @Test(.needsPreupdateHook) func rowsOfACommitComeTogether() async throws {
    try await withMembers { pool in
      var commits = pool.changes(on: Member.self).commits.makeAsyncIterator()
      try await pool.transaction { db in
        for id in 1...3 { try Member(id: id, name: "m").insert().run(db) }
      }
      try await Member.delete(Member.id == 2).run(pool)
      #expect(await commits.next()?.map(ChangesTests.line) == ["insert 1", "insert 2", "insert 3"])
      #expect(await commits.next()?.map(ChangesTests.line) == ["delete 2"])
    }
  }

  @Test(.needsPreupdateHook) func modelChangesGiveOldAndNewValues() async throws {
    try await withMembers { pool in
      var changes = pool.modelChanges(on: Member.self).makeAsyncIterator()
      try await Member(id: 1, name: "Ann").insert().run(pool)
      try await Member(id: 1, name: "Bea").update().run(pool)
      try await Member.delete(Member.id == 1).run(pool)
      let expected: [(Member?, Member?)] = [
        (nil, Member(id: 1, name: "Ann")),
        (Member(id: 1, name: "Ann"), Member(id: 1, name: "Bea")),
        (Member(id: 1, name: "Bea"), nil),
      ]
      for (old, new) in expected {
        guard case .row(let change) = await changes.next() else {
          Issue.record("no row")
          return
        }
        let found = (try change.old(), try change.new())
        #expect(found.0 == old)
        #expect(found.1 == new)
      }
    }
  }

  /// Values of every storage class arrive as stored.
  @Test(.needsPreupdateHook) func changeValuesEqualTheStoredValues() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in try db.createTable(Sample.self) }
      var changes = pool.modelChanges(on: Sample.self).makeAsyncIterator()
      let samples = [
        Sample(
          id: 1, real: 2, isOpen: true, day: Date(timeIntervalSince1970: 1_000), bytes: Data([0, 1]), tags: ["a"]),
        Sample(id: 2, real: -0.5, isOpen: false, day: nil, bytes: Data(), tags: []),
      ]
      for sample in samples {
        try await sample.insert().run(pool)
        guard case .row(let change) = await changes.next() else {
          Issue.record("no row")
          return
        }
        let told = try change.new()
        #expect(told == sample)
      }
    }
  }

  @Test(.needsPreupdateHook) func overflowingBufferReportsMissedChanges() async throws {
    try await withMembers { pool in
      var changes = pool.changes(on: Member.self, buffering: 10).makeAsyncIterator()
      var all = pool.changes(on: Member.self).makeAsyncIterator()
      for id in 1...30 { try await Member(id: id, name: "m").insert().run(pool) }
      // Both loops get their events at once, so the buffer has overflowed when the other loop has all rows.
      #expect(await lines(30, &all).count == 30)
      #expect(await lines(1, &changes) == ["missed"])
      var rest: [String] = []
      // The loop gets the changes after the overflow, in order and without a gap.
      try await Member(id: 31, name: "m").insert().run(pool)
      while rest.last != "insert 31", let event = await changes.next() { rest.append(ChangesTests.line(event)) }
      #expect(rest == ((32 - rest.count)...31).map { "insert \($0)" })
      // A single commit is never cut, even if it exceeds the buffer.
      try await pool.transaction { db in
        for id in 100..<200 { try Member(id: id, name: "m").insert().run(db) }
      }
      #expect(await lines(100, &changes) == (100..<200).map { "insert \($0)" })
    }
  }

  @Test(.needsPreupdateHook) func schemaChangeIsReportedAsMissed() async throws {
    try await withMembers { pool in
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      try await pool.transaction { db in try db.execute("ALTER TABLE member ADD COLUMN age INTEGER") }
      try await Member(id: 1, name: "m").insert().run(pool)
      #expect(await lines(2, &changes) == ["missed", "insert 1"])
    }
  }

  @Test(.needsPreupdateHook) func aLoopContinuesWhereTheLastOneEnded() async throws {
    try await withMembers { pool in
      let changes = pool.changes(on: Member.self)
      try await pool.transaction { db in
        for id in 1...3 { try Member(id: id, name: "m").insert().run(db) }
      }
      for await _ in changes { break }
      try await Member(id: 1, name: "new").update().run(pool)
      var first = changes.makeAsyncIterator()
      #expect(await lines(3, &first) == ["insert 2", "insert 3", "update 1"])
    }
    try await withMembers { pool in
      let changes = pool.modelChanges(on: Member.self, .update)
      try await Member(id: 1, name: "old").insert().run(pool)
      try await Member(id: 1, name: "first").update().run(pool)
      var names: [String?] = []
      for await case .row(let change) in changes {
        names.append(try change.new()?.name)
        break
      }
      try await Member(id: 1, name: "second").update().run(pool)
      for await case .row(let change) in changes {
        names.append(try change.new()?.name)
        break
      }
      #expect(names == ["first", "second"])
    }
  }

  /// The test alternates loops by row and by commit, after a cancelled loop.
  @Test(.needsPreupdateHook) func rowAndCommitLoopsLoseNoChange() async throws {
    try await withMembers { pool in
      let changes = pool.changes(on: Member.self)
      let cancelled = Task { for await _ in changes {} }
      cancelled.cancel()
      await cancelled.value
      try await pool.transaction { db in
        for id in 1...3 { try Member(id: id, name: "m").insert().run(db) }
      }
      for await _ in changes { break }
      try await Member(id: 4, name: "m").insert().run(pool)
      var commits: [[String]] = []
      for await commit in changes.commits {
        commits.append(commit.map(ChangesTests.line))
        if commits.count == 2 { break }
      }
      #expect(commits == [["insert 2", "insert 3"], ["insert 4"]])
      #expect(pool.statistics.loops == 0)
    }
  }

  @Test(.needsPreupdateHook) func secondConcurrentLoopStartsWithMissed() async throws {
    try await withMembers { pool in
      let changes = pool.changes(on: Member.self)
      try await Member(id: 1, name: "m").insert().run(pool)
      var first = changes.makeAsyncIterator()
      var second = changes.makeAsyncIterator()
      try await Member(id: 2, name: "m").insert().run(pool)
      #expect(await lines(2, &first) == ["insert 1", "insert 2"])
      #expect(await lines(2, &second) == ["missed", "insert 2"])
    }
  }

  @Test func loopOverAnUnobservableTableEndsAtOnce() async throws {
    try await withMembers { pool in
      let errors = Collected<String>()
      pool.didFail = { errors.append("\($0)") }
      for await _ in pool.changes(on: Memo.self) {}
      #expect(errors.values.count == 1)
      let closed = pool.changes(on: Member.self)
      try await pool.close()
      for await _ in closed {}
      for await _ in pool.changes(on: Member.self) {}
    }
  }

  @Test func endedLoopsDoNotBlockLaterWrites() async throws {
    try await withMembers { pool in
      for _ in 0..<3 {
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        try await Member(id: 1, name: "m").save().run(pool)
        #expect(await lines(1, &changes).count == 1)
      }
      let loop = Task { for await _ in pool.changes(on: Member.self) {} }
      loop.cancel()
      await loop.value
      try await Member(id: 2, name: "m").save().run(pool)
    }
  }
}
