import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The index of subscribers, compared with a scan over all of them.
struct SubscriberIndexTests {
  /// A table with a text key that ignores case.
  private enum Tags: TableDeclaration {
    static let name = "tag"
    static let label = Column("label", .text, PrimaryKey(), Collate.nocase)
    static let count = Column("count", .integer)
    static let columns = [label, count]
  }
  private typealias Tag = Entry<Tags>

  /// The filter of a loop and the task that collects its rows.
  private struct Listener: Sendable {
    let change: Change?
    let id: Int?
    let name: String?
    let heard: Task<[RowChange], Never>

    /// The rule of the guide: a row matches by its id or key, before or after the change.
    func wants(_ row: RowChange) -> Bool {
      guard change == nil || change == row.change else { return false }
      if let id { return row.id == id || row.previousId == id }
      if let name { return row.key == [.text(name)] || row.previousKey == [.text(name)] }
      return true
    }
  }

  private static func rows(_ changes: Changes<RowChange>) -> Task<[RowChange], Never> {
    Task {
      var rows: [RowChange] = []
      for await event in changes {
        guard case .row(let row) = event else {
          Issue.record("missed")
          continue
        }
        rows.append(row)
      }
      return rows
    }
  }

  private static let names = ["a", "b", "b ", "é", "x\0y"]

  private static func change(_ db: SqliteDatabase, _ random: inout SeededGenerator) throws {
    let (id, name) = (Int.random(in: 1...9, using: &random), random.pick(names))
    switch Int.random(in: 0..<7, using: &random) {
    case 0: try Member(id: id, name: name).save().run(db)
    case 1: try Member.update(Member.name.set(to: name)).filter(Member.id > id).run(db)
    case 2: try Member.delete(Member.id == id).run(db)
    case 3:
      try db.execute("UPDATE OR REPLACE member SET id = \(Int.random(in: 1...9, using: &random)) WHERE id = \(id)")
    case 4: try Tag(.text(name), .integer(Int64(id))).insert().replaceOnConflict().run(db)
    case 5: try db.execute("UPDATE OR REPLACE tag SET label = \(random.pick(names)) WHERE label = \(name)")
    default: try Tag.delete(Tags.count < id).run(db)
    }
  }

  @Test(.needsPreupdateHook, arguments: [1, 2, 3]) func indexedLoopsGetTheSameChangesAsAScan(_ seed: UInt64)
    async throws
  {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory, .init(pollInterval: nil))
      try await pool.transaction { db in
        try db.createTables(Member.self, Tag.self)
      }
      var random = SeededGenerator(seed: seed)
      let members = SubscriberIndexTests.rows(pool.changes(on: Member.self, buffering: .max))
      let tags = SubscriberIndexTests.rows(pool.changes(on: Tag.self, buffering: .max))
      var (ofMembers, ofTags): ([Listener], [Listener]) = ([], [])
      for _ in 0..<40 {
        let change = random.pick([nil, .insert, .update, .delete] as [Change?])
        let id = Int.random(in: 1...9, using: &random)
        let name = random.pick(SubscriberIndexTests.names)
        ofMembers.append(
          Listener(
            change: change, id: id, name: nil,
            heard: SubscriberIndexTests.rows(pool.changes(on: Member.self, change, id: id, buffering: .max))))
        ofTags.append(
          Listener(
            change: change, id: nil, name: name,
            heard: SubscriberIndexTests.rows(pool.changes(on: Tag.self, change, id: name, buffering: .max))))
      }
      for change in [nil, .insert, .update, .delete] as [Change?] {
        ofMembers.append(
          Listener(
            change: change, id: nil, name: nil,
            heard: SubscriberIndexTests.rows(pool.changes(on: Member.self, change, buffering: .max))))
      }
      for _ in 0..<200 {
        let seed = random.next()
        try await pool.transaction { db in
          var random = SeededGenerator(seed: seed)
          for _ in 0..<Int.random(in: 1...5, using: &random) { try SubscriberIndexTests.change(db, &random) }
        }
      }
      try await pool.close()
      for (listeners, all) in [(ofMembers, await members.value), (ofTags, await tags.value)] {
        #expect(all.count > 100)
        for listener in listeners {
          let heard = await listener.heard.value
          // Loops by a text may also receive keys that compare as equal.
          let isSame = heard == all.filter(listener.wants)
          let holdsAll = listener.name != nil && all.filter(listener.wants).allSatisfy(heard.contains)
          #expect(isSame || holdsAll)
        }
      }
    }
  }

  /// The pool's count of reads shows that unaffected loops read nothing.
  @Test(.needsPreupdateHook) func filtersByValueAreNotWokenByOtherRows() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory, .init(pollInterval: nil))
      try await pool.transaction { db in
        try db.createTable(Member.self)
        try Member.insert((1...300).map { Member(id: $0, name: "name \($0)") }).run(db)
      }
      let (begun, heard) = (Collected<Int>(), Collected<Int>())
      let loops = (1...300).map { number in
        let updates = Member.read().filter(Member.name == "name \(number)" && Member.id > 0).updates(in: pool)
        return Task {
          var count = 0
          for try await _ in updates {
            count += 1
            if count == 1 { begun.append(number) } else { heard.append(number) }
          }
        }
      }
      try await until { begun.values.count >= 300 }
      let before = pool.statistics.reads
      // One row moves from loop 7 to loop 8. The new row belongs to no loop.
      try await Member.update(Member.name.set(to: "name 8")).filter(Member.id == 7).run(pool)
      try await Member(id: 1_000, name: "none").insert().run(pool)
      try await until { heard.values.count >= 2 }
      try await Task.sleep(for: .milliseconds(20))
      #expect(heard.values.sorted() == [7, 8])
      #expect(pool.statistics.reads == before + 2)
      for loop in loops { loop.cancel() }
      try await pool.close()
    }
  }
}
