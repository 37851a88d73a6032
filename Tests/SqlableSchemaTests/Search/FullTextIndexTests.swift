import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private func withStories(
  _ configuration: Configuration = Configuration(), _ body: (SqliteDatabase) throws -> Void
) throws {
  try withDatabase(configuration) { db in
    try db.createTable(Story.self)
    try Story.insert([
      Story(1, "Swift and SQLite", "structs are stored in rows"), Story(2, "Rows", nil, year: 2020),
      Story(3, "Bicycles", "swift riders, swift bicycles", year: 2021),
    ]).run(db)
    try body(db)
  }
}

/// Returns the ids of the stories that match a text.
private func found(_ text: String, _ db: SqliteDatabase) throws -> [Int?] {
  try Story.read().filter(Story.matches(.words(text))).orderBy(Story.id).run(db).map(\.id)
}

@Suite struct FullTextIndexTests {
  @Test(.needs(35, "RETURNING")) func everyKindOfChangeKeepsTheIndexInStep() throws {
    try withStories { db in
      var ids = try found("swift", db)
      #expect(ids == [1, 3])
      let new = try Story(nil, "Swift again", slug: "new").insert().run(db)
      #expect(new == 4)
      try Story(1, "Structs").update().run(db)
      let both = [Story.title.set(to: "Swift bikes"), Story.body.set(to: nil)]
      try Story.update(both[0], both[1]).filter(Story.id == 2).run(db)
      ids = try found("swift", db)
      #expect(ids == [2, 3, 4])
      // Changes of columns that are not indexed, and of the key.
      try Story.updateAll(Story.year.set(to: 1999)).run(db)
      try Story.update(Story.id.set(to: 40)).filter(Story.id == 4).run(db)
      try Story(3, "saved").save().run(db)
      ids = try found("swift", db)
      #expect(ids == [2, 40])
      try Story(nil, "Upserted swiftly", slug: "new").insert().onConflict(Story.slug, update: Story.title).run(db)
      ids = try found("upserted", db)
      #expect(ids == [40])
      try Story(nil, "skipped", slug: "new").insert().ignoreOnConflict().run(db)
      #expect(try found("skipped", db) == [])
      let returned = try Story(nil, "returned", slug: "r").insert().returning().first().run(db)
      #expect(try found("returned", db) == [returned?.id])
      try Story(2, "").delete().run(db)
      try Story.delete(Story.matches(.words("returned"))).run(db)
      ids = try found("swift", db)
      #expect(ids == [])
      #expect(try db.isFullTextIntact(Story.self))
      try Story.deleteAll().run(db)
      #expect(try Story.search(.words("saved")).run(db) == [])
      #expect(try db.isFullTextIntact(Story.self))
    }
  }

  @Test func rowThatREPLACEDeletesLeavesTheIndex() throws {
    try withStories(.init(recursiveTriggers: true)) { db in
      // REPLACE deletes by the key, by another unique column, by both, in an update and in raw SQL.
      try Story(1, "replaced").insert().replaceOnConflict().run(db)
      try Story(5, "moved", slug: "2").insert().replaceOnConflict().run(db)
      try Story.insert([Story(3, "both", slug: "2"), Story(6, "six")]).replaceOnConflict().run(db)
      var ids = try found("swift", db) + found("rows", db) + found("moved", db)
      #expect(ids == [])
      ids = try found("replaced", db) + found("both", db)
      #expect(ids == [1, 3])
      try Story.update(Story.slug.set(to: "1")).filter(Story.id == 3).replaceOnConflict().run(db)
      #expect(try found("replaced", db) == [])
      try db.execute("REPLACE INTO story VALUES (3, 'by hand', NULL, 1, 'h'), (7, 'by foot', NULL, 1, 'f')")
      ids = try found("hand", db) + found("foot", db) + found("both", db)
      #expect(ids == [3, 7])
      #expect(try db.isFullTextIntact(Story.self))
    }
  }

  @Test func missedREPLACEIsDetectedAndRepaired() throws {
    try withStories { db in
      let replacing = Story(5, "moved", slug: "2").insert().replaceOnConflict()
      let error = expectMisuse { try replacing.run(db) }
      #expect(error?.message.contains("recursiveTriggers") == true)
      #expect(error?.table == "story")
      expectMisuse { try Story.insert([Story(5, "moved", slug: "2")]).replaceOnConflict().run(db) }
      expectMisuse { try Story.updateAll(Story.slug.set(to: "2")).replaceOnConflict().run(db) }
      expectMisuse { _ = try db.prepare(Story.updateAll(Story.slug.set(to: "2")).replaceOnConflict()) }
      expectMisuse { _ = try replacing.returning().run(db) }
      #expect(try db.isFullTextIntact(Story.self))
      // Raw SQL is not checked.
      try db.execute("REPLACE INTO story VALUES (5, 'moved', NULL, 1, '2')")
      #expect(try !db.isFullTextIntact(Story.self))
      try db.rebuildFullText(Story.self)
      #expect(try db.isFullTextIntact(Story.self))
      try db.optimizeFullText(Story.self)
      #expect(try found("moved", db) == [5])
    }
  }

  @Test func foreignKeysAndTriggersKeepTheIndexInStep() throws {
    try withStories { db in
      try db.createTable(Entry<Remark>.self)
      try Entry<Remark>(1, 1, "first").insert().run(db)
      try Entry<Remark>(2, 3, "second").insert().run(db)
      try db.execute(
        "CREATE TRIGGER echo AFTER INSERT ON story BEGIN INSERT INTO remark VALUES (new.id, new.id, 'echo'); END")
      try Story.delete(Story.id == 1).run(db)
      try Story(9, "x").insert().run(db)
      let remarks = try Entry<Remark>.search(.anyWord("first second echo")).orderBy(Remark.id).run(db)
      #expect(remarks.map(\.values) == [[2, 3, "second"], [9, 9, "echo"]])
      #expect(try db.isFullTextIntact(Entry<Remark>.self))
    }
  }

  @Test func rollbackLeavesTheIndexUnchanged() throws {
    try withStories { db in
      try db.transaction { db -> TransactionResult in
        try Story(1, "gone").update().run(db)
        try? db.transaction { db -> Void in
          try Story(8, "nested").insert().run(db)
          throw CancellationError()
        }
        let inside = try found("gone", db) + found("nested", db)
        #expect(inside == [1])
        return .rollback
      }
      // A statement that fails halfway.
      expectError(.constraint(.unique)) { try db.execute("UPDATE story SET title = 'gone', slug = 's'") }
      #expect(try found("gone", db) == [])
      #expect(try found("swift", db) == [1, 3])
      #expect(try db.isFullTextIntact(Story.self))
    }
  }

  @Test(.needsSQLiteProgram) func sqlite3ProgramKeepsTheIndexInStep() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/test.sqlite")
      try db.createTable(Story.self)
      try Story(1, "first").insert().run(db)
      let process = try SQLiteProcess(directory + "/test.sqlite")
      try process.run("INSERT INTO story VALUES (2, 'second stories', NULL, 1, 's'); DELETE FROM story WHERE id = 1;")
      #expect(try process.run("SELECT rowid FROM story_fulltext('story');") == "2")
      process.quit()
      #expect(try found("story", db) == [2])
      #expect(try found("first", db) == [])
      #expect(try db.isFullTextIntact(Story.self))
      try db.close()
      let reader = try SqliteDatabase(filepath: directory + "/test.sqlite", configuration: .init(isReadOnly: true))
      #expect(
        try Story.search(.prefix("sec")).select(Story.highlight(Story.title)).run(reader) == ["<b>second</b> stories"])
      expectError(.readOnly) { try reader.rebuildFullText(Story.self) }
    }
  }

  @Test func eachTableOfALayoutHasItsOwnIndex() throws {
    try withStories { db in
      let change = try db.createTable(Story.self, named: "old")
      #expect(change.builtFullText)
      try Story(7, "swift of old").insert().in("old").run(db)
      try db.createTable(Memo.self, named: "old memo")
      try Memo(1, "swift").insert().in("old memo").run(db)
      let search = Story.search(.words("swift")).in("old").select(Story.id, Story.searchRank)
      #expect(
        search.sql == """
          SELECT "old"."id", "old_fulltext"."rank" FROM "old" \
          JOIN "old_fulltext" ON "old_fulltext"."rowid" = "old"."id" \
          WHERE "old_fulltext"."old_fulltext" MATCH ? ORDER BY "old_fulltext"."rank"
          """)
      #expect(try search.run(db).map(\.0) == [7])
      #expect(try Story.search(.words("swift")).run(db).count == 2)
      #expect(try Story.count().filter(Story.matches(.words("old"))).in("old").run(db) == 1)
      #expect(
        try Memo.search(.words("swift")).in("old memo").select(Memo.highlight(Memo.title)).run(db) == ["<b>swift</b>"])
      #expect(try db.isFullTextIntact(Story.self, in: "old"))
      // The same changes in raw SQL.
      let texts = try db.query("SELECT count(*) FROM story WHERE \(Story.matches(.words("swift")))", as: Int.self)
      #expect(texts == [2])
    }
  }

  @Test func aReopenedDatabaseAndAnotherHandleSearchAndChangeAlike() throws {
    try withDirectory { directory in
      let path = directory + "/test.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.createTable(Story.self)
      try Story(1, "first").insert().run(db)
      let other = try SqliteDatabase(filepath: path)
      try Story(2, "second").insert().run(other)
      let child = try db.createChild()
      #expect(try found("second", child) == [2])
      try db.close()
      let again = try SqliteDatabase(filepath: path)
      #expect(try again.createTable(Story.self).isEmpty)
      #expect(try found("first", again) == [1])
      try Story(1, "changed").update().run(again)
      #expect(try found("changed", other) == [1])
      #expect(try other.isFullTextIntact(Story.self))
    }
  }

  @Test(.needsPreupdateHook) func observersSeeTheTableAndNotItsIndex() throws {
    try withStories(.init(recursiveTriggers: true)) { db in
      let heard = Mutex<[String]>([])
      db.didUpdate = { table, id, change in heard.withLock { $0.append("\(table) \(id) \(change)") } }
      db.observe(on: Story.self) { id in heard.withLock { $0.append("story \(id)") } }
      try Story(9, "nine").insert().run(db)
      try Story(9, "ten").update().run(db)
      try Story(1, "replaced").insert().replaceOnConflict().run(db)
      try Story(9, "").delete().run(db)
      try db.optimizeFullText(Story.self)
      try db.createTable(Memo.self)
      try Memo(1, "a").insert().run(db)
      #expect(
        Set(heard.withLock { $0 }) == [
          "story 9 insert", "story 9 update", "story 9 delete", "story 9", "story 1 delete",
          "story 1 insert", "story 1",
        ])
      #expect(heard.withLock(\.count) == 10)
      // Observing a full-text table throws at once.
      let failed = Mutex<SqlError?>(nil)
      db.didFail = { error in failed.withLock { $0 = error as? SqlError } }
      db.observe(on: Memo.self) { (id: Int) in }
      #expect(failed.withLock { $0 }?.table == "memo")
    }
  }
}

private enum Remark: TableDeclaration {
  static let name = "remark"
  static let (id, text) = (Column("id", .integer, PrimaryKey()), Column("text", .text))
  static let columns = [id, Column("story_id", .integer, ForeignKey<Story>(onDelete: .cascade)), text]
  static let fullText = FullTextIndex(text, name: "remarks")
}
