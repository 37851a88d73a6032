import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private func withMemos(_ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try db.createTable(Memo.self)
    try Memo.insert([
      Memo(1, "Swift and SQLite", "structs are stored", stars: 3), Memo(2, "Corrections", "corrected later"),
      Memo(7, "Empty", "", stars: 5),
    ]).run(db)
    try body(db)
  }
}

@Suite struct FullTextTableTests {
  @Test func aModelCanBeAFullTextTable() throws {
    try withMemos { db in
      let definition = try db.definition(of: "memo")
      #expect(
        definition == """
          CREATE VIRTUAL TABLE "memo" USING fts5("title", "body", "stars" UNINDEXED, \
          tokenize = 'porter unicode61 remove_diacritics 2', prefix = '2 3')
          """)
      #expect(try db.createTable(Memo.self).isEmpty)
      #expect(Memo.read().sql == #"SELECT "rowid", "title", "body", "stars" FROM "memo""#)
      #expect(try Memo.byId(7).run(db) == Memo(7, "Empty", "", stars: 5))
      #expect(try Memo.byId(8).run(db) == nil)
      #expect(try Memo.count().filter(Memo.stars > 2).run(db) == 2)
      #expect(try Memo.read().orderBy(Memo.title).first().run(db) == Memo(2, "Corrections", "corrected later"))
      #expect(try Memo.exists().filter(Memo.stars.isNull).run(db))
    }
  }

  @Test func rowsOfAFullTextTableAreInsertedUpdatedAndDeleted() throws {
    try withMemos { db in
      let new = try Memo(nil, "new").insert().run(db)
      #expect(new == 8)
      #expect(try Memo(20, "chosen").insert().run(db) == 20)
      #expect(try Memo.insert([Memo(nil, "a"), Memo(nil, "b")]).run(db) == [21, 22])
      #expect(try Memo(1, "Bicycles").update().run(db) == 1)
      #expect(try Memo.count().filter(Memo.matches(.words("swift"))).run(db) == 0)
      #expect(try Memo.search(.words("bicycle")).run(db).map(\.rowid) == [1])
      #expect(try Memo(99, "none").update().run(db) == 0)
      #expect(try Memo.update(Memo.title.set(to: "starred")).filter(Memo.stars == 5).run(db) == 1)
      #expect(try Memo.search(.words("starred")).run(db) == [Memo(7, "starred", "", stars: 5)])
      #expect(try Memo(2, "").delete().run(db) == 1)
      #expect(try Memo.search(.words("correct")).run(db) == [])
      #expect(try Memo.delete().filter(Memo.matches(.words("starred"))).run(db) == 1)
      #expect(try Memo.delete().orderBy(Memo.rowid).limit(2).run(db) == 2)
      #expect(try Memo.read().orderBy(Memo.rowid).run(db).map(\.rowid) == [20, 21, 22])
      #expect(try Memo.deleteAll().run(db) == 3)
      let many = (1...500).map { (id: Int) in Memo(id, "memo \(id)") }
      #expect(try Memo.insert().run(db, streaming: many) == 500)
      #expect(try Memo.search(.words("417")).run(db).map(\.rowid) == [417])
      #expect(try db.isFullTextIntact(Memo.self))
    }
  }

  @Test func aSaveReplacesTheRowOfItsKey() throws {
    try withMemos { db in
      #expect(
        Memo(1, "x").save().sql == """
          INSERT OR REPLACE INTO "memo" ("rowid", "title", "body", "stars") VALUES (?, ?, ?, ?)
          """)
      let saved = try Memo(1, "saved", "again").save().run(db)
      #expect(saved == 1)
      #expect(try Memo(30, "saved", "anew").save().run(db) == 30)
      #expect(try Memo(nil, "saved", "without a key").save().run(db) == 31)
      #expect(try Memo.count().run(db) == 5)
      #expect(try Memo.read().filter(Memo.matches(.words("saved"))).run(db).map(\.rowid) == [1, 30, 31])
      #expect(try Memo.search(.words("swift")).run(db) == [])
      #expect(try Memo(2, "replaced").insert().replaceOnConflict().run(db) == 2)
      #expect(try Memo.search(.words("correct")).run(db) == [])
      let partial = expectInvalidStatement { _ = try Entry<Plain>(1, "x").save().run(db) }
      #expect(partial?.column == "b")
      // A duplicate key throws the same error as in an ordinary table.
      let taken = expectError(.constraint(.primaryKey)) { _ = try Memo(30, "secret").insert().run(db) }
      #expect(taken?.table == "memo")
      #expect(taken?.column == "rowid")
      #expect(taken?.description.contains("secret") == false)
    }
  }

  @Test func operationsUnsupportedByFTS5AreRefused() throws {
    try withMemos { db in
      let note = Memo(1, "x")
      expectInvalidStatement { _ = try note.insert().returning().run(db) }
      expectInvalidStatement { _ = try note.update().returning().run(db) }
      expectInvalidStatement { _ = try Memo.deleteAll().returning().run(db) }
      expectInvalidStatement { _ = try note.insert().onConflict(Memo.rowid, update: Memo.title).run(db) }
      expectInvalidStatement { _ = try note.insert().ignoreOnConflict().run(db) }
      expectInvalidStatement { _ = try Memo.insert([note]).ignoreOnConflict().run(db) }
      let count = try Memo.count().run(db)
      #expect(count == 3)
    }
  }

  @Test func contentlessTableIsInsertedAndSearched() throws {
    try withDatabase { db in
      try db.createTable(Word.self)
      #expect(
        try db.definition(of: "word") == """
          CREATE VIRTUAL TABLE "word" USING fts5("text", content = '', tokenize = 'trigram case_sensitive 0')
          """)
      #expect(try Word.insert([Word(4, "Notation"), Word(nil, "nothing")]).run(db) == [4, 5])
      #expect(try Word.search(.words("OTA")).run(db) == [Word(4, nil)])
      #expect(try Word.search(.words("not")).run(db).count == 2)
      #expect(try Word.search(.words("no")).run(db) == [])
      #expect(try Word.search(.words("not")).select(Word.snippet()).run(db) == [nil, nil])
      #expect(try Word.read().run(db) == [Word(4, nil), Word(5, nil)])
      let taken = expectError(.constraint(.primaryKey)) { _ = try Word(4, "again").insert().run(db) }
      #expect(taken?.column == "rowid")
      expectInvalidStatement { _ = try Word(4, "x").update().run(db) }
      expectInvalidStatement { _ = try Word(4, "x").save().run(db) }
      expectInvalidStatement { _ = try Word(4, "x").delete().run(db) }
      expectInvalidStatement { _ = try Word.deleteAll().run(db) }
      expectInvalidStatement { _ = try Word.updateAll(Word.text.set(to: "x")).run(db) }
      expectInvalidStatement { _ = try Word(4, "x").insert().replaceOnConflict().run(db) }
      expectMisuse { try db.rebuildFullText(Word.self) }
      try db.optimizeFullText(Word.self)
      #expect(try db.isFullTextIntact(Word.self))
      #expect(try Word.count().run(db) == 2)
    }
  }

  @Test func aFullTextTableNeedsNoKeyAndKeepsValuesThatAreNotIndexed() throws {
    try withDatabase { db in
      try db.createTable(Entry<Loose>.self)
      let day = Date(timeIntervalSince1970: 1_700_000_000)
      #expect(try Entry<Loose>("alpha", .integer(1_700_000_000), .blob(Data([0, 1])), 2.0).insert().run(db) == 1)
      #expect(try Entry<Loose>.insert([Entry("beta", nil, .null), Entry("alpha", nil)]).run(db) == [2, 3])
      let alpha = Entry<Loose>.matches(.words("alpha"))
      #expect(
        try Entry<Loose>.read().filter(alpha && Loose.columns[1] == day).run(db).map(\.values) == [
          ["alpha", 1_700_000_000, .blob(Data([0, 1])), 2.0]
        ])
      #expect(try Entry<Loose>.search(.words("beta")).run(db).map(\.values) == [["beta", .null, .null, .null]])
      let other = Alias(Entry<Loose>.self, "o")
      #expect(try Entry<Loose>.join(other, on: other.matches(.words("beta")) && alpha).run(db).count == 2)
      #expect(try Entry<Loose>.delete(alpha).run(db) == 2)
      #expect(try Entry<Loose>.delete().limit(1).run(db) == 1)
      expectMisuse { _ = try Entry<Loose>("x").update().run(db) }
    }
  }

  @Test func aSearchCanBePrepared() throws {
    try withMemos { db in
      let starred = try db.prepare(Memo.read().filter(Memo.matches(.words("swift")) && Memo.stars > Parameter("stars")))
      #expect(try starred.run(["stars": 2]).count == 1)
      #expect(try starred.run(["stars": 3]).isEmpty)
    }
  }

  @Test func rollbackUndoesChangesOfAFullTextTable() throws {
    try withMemos { db in
      try db.transaction { db -> TransactionResult in
        try Memo(nil, "gone").insert().run(db)
        try Memo(1, "gone").update().run(db)
        return .rollback
      }
      #expect(try Memo.search(.words("gone")).run(db) == [])
      #expect(try Memo.search(.words("swift")).run(db).map(\.rowid) == [1])
      #expect(try db.isFullTextIntact(Memo.self))
    }
  }

  @Test func existingTableOfAnotherKindIsRefused() throws {
    try withDatabase { db in
      try db.execute("CREATE VIRTUAL TABLE memo USING fts5(title, body, stars UNINDEXED)")
      let error = expectSqlError { try db.createTable(Memo.self) }
      #expect(error?.table == "memo")
      guard case .schema(.mismatch) = error?.kind else { return #expect(Bool(false), "\(String(describing: error))") }
      try db.execute("DROP TABLE memo; CREATE TABLE memo (title, body, stars)")
      #expect(sqlError { try db.createTable(Memo.self) }?.table == "memo")
    }
  }

  @Test func invalidFullTextTablesAreRefused() throws {
    func expectDefect<Declaration: TableDeclaration>(_ table: Entry<Declaration>.Type, _ words: String) {
      let error = sqlError { _ = try table.read().run(SqliteDatabase.inMemory()) }
      #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    }
    expectDefect(Entry<OtherKey>.self, "named rowid")
    expectDefect(Entry<NoKey>.self, "must be an integer with PrimaryKey()")
    expectDefect(Entry<Counted>.self, "autoincrement")
    expectDefect(Entry<NotText>.self, "not TEXT")
    expectDefect(Entry<UniqueText>.self, "only have the option Unindexed()")
    expectDefect(Entry<Ranked>.self, "reserved name")
    expectDefect(Entry<Itself>.self, "reserved name")
    expectDefect(Entry<Indexed>.self, "can't have constraints or indexes")
    expectDefect(Entry<StrictText>.self, "can't have other table options")
    expectDefect(Entry<LongPrefix>.self, "prefixes")
    expectDefect(Entry<NothingIndexed>.self, "without indexed columns")
    expectDefect(Entry<NulTokenizer>.self, "NUL byte")
  }
}

private enum Loose: TableDeclaration {
  static let columns = [
    Column("text", .text), Column("at", .nullable(.date(.unixSeconds)), Unindexed()),
    Column("bytes", .nullable(.blob), Unindexed()), Column("real", .nullable(.real), Unindexed()),
  ]
  static let options: [TableOption] = [.fullText()]
}

private protocol FullTextDeclaration: TableDeclaration {}
extension FullTextDeclaration {
  static var options: [TableOption] { [.fullText()] }
}

private enum OtherKey: FullTextDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .text)]
}
private enum NoKey: FullTextDeclaration {
  static let columns = [Column("rowid", .integer), Column("a", .text)]
}
private enum Counted: FullTextDeclaration {
  static let columns = [Column("rowid", .integer, PrimaryKey(autoincrement: true)), Column("a", .text)]
}
private enum NotText: FullTextDeclaration {
  static let columns = [Column("a", .text), Column("b", .integer)]
}
private enum UniqueText: FullTextDeclaration {
  static let columns = [Column("a", .text, Unique())]
}
private enum Ranked: FullTextDeclaration {
  static let columns = [Column("a", .text), Column("RANK", .text)]
}
private enum Itself: FullTextDeclaration {
  static let columns = [Column("T", .text)]
}
private enum Indexed: FullTextDeclaration {
  static let columns = [Column("a", .text)]
  static let indexes = [Index(columns[0])]
}
private enum StrictText: FullTextDeclaration {
  static let columns = [Column("a", .text)]
  static let options: [TableOption] = [.fullText(), .strict]
}
private enum LongPrefix: FullTextDeclaration {
  static let columns = [Column("a", .text)]
  static let options: [TableOption] = [.fullText(prefixes: [1000])]
}
private enum NothingIndexed: FullTextDeclaration {
  static let columns = [Column("a", .text, Unindexed())]
}
private enum NulTokenizer: FullTextDeclaration {
  static let columns = [Column("a", .text)]
  static let options: [TableOption] = [.fullText(tokenizer: .unicode61(tokenCharacters: "\0"))]
}

private enum Plain: TableDeclaration {
  static let name = "plain"
  static let columns = [
    Column("rowid", .integer, PrimaryKey()), Column("a", .nullable(.text)), Column("b", .nullable(.text)),
  ]
  static let options: [TableOption] = [.fullText()]
}
