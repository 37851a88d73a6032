import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct FullTextSchemaTests {
  @Test func anIndexIsCreatedWithItsTableAndTriggers() throws {
    try withDatabase { db in
      let change = try db.createTable(Story.self)
      #expect(change.createdTable)
      #expect(change.builtFullText)
      #expect(
        try db.definition(of: "story_fulltext") == """
          CREATE VIRTUAL TABLE "story_fulltext" USING fts5("title", "body", content = 'story', \
          content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2', prefix = '2 3')
          """)
      #expect(
        try db.definition(of: "story_fulltext_insert") == """
          CREATE TRIGGER "story_fulltext_insert" AFTER INSERT ON "story" BEGIN INSERT INTO "story_fulltext" \
          ("rowid", "title", "body") VALUES (new."id", new."title", new."body"); END
          """)
      #expect(
        try db.definition(of: "story_fulltext_delete") == """
          CREATE TRIGGER "story_fulltext_delete" AFTER DELETE ON "story" BEGIN INSERT INTO "story_fulltext" \
          ("story_fulltext", "rowid", "title", "body") VALUES ('delete', old."id", old."title", old."body"); END
          """)
      #expect(
        try db.definition(of: "story_fulltext_update") == """
          CREATE TRIGGER "story_fulltext_update" AFTER UPDATE ON "story" WHEN old."id" COLLATE BINARY IS NOT \
          new."id" OR old."title" COLLATE BINARY IS NOT new."title" OR old."body" COLLATE BINARY IS NOT new."body" \
          BEGIN INSERT INTO "story_fulltext" ("story_fulltext", "rowid", "title", "body") VALUES ('delete', \
          old."id", old."title", old."body"); INSERT INTO "story_fulltext" ("rowid", "title", "body") VALUES \
          (new."id", new."title", new."body"); END
          """)
      #expect(try db.createTable(Story.self).isEmpty)
    }
  }

  @Test func existingRowsAreIndexedWhenTheModelGetsAnIndex() throws {
    try withDatabase { db in
      try db.createTable(Entry<Unsearched>.self)
      try Entry<Unsearched>.insert([Entry(1, "alpha beta", "x"), Entry(2, "gamma", "alpha")]).run(db)
      let change = try db.createTable(Entry<SearchedByA>.self)
      #expect(!change.createdTable)
      #expect(change.builtFullText)
      #expect(try Entry<SearchedByA>.search(.words("alpha")).run(db).count == 1)
      // The index changes its columns and tokenizer, and covers a column that is new in the table.
      #expect(try db.createTable(Entry<SearchedByBoth>.self).builtFullText)
      #expect(try Entry<SearchedByBoth>.search(.words("alph")).run(db).count == 2)
      let grown = try db.createTable(Entry<SearchedByMore>.self)
      #expect(grown.addedColumns == ["c"])
      #expect(grown.builtFullText)
      #expect(try !db.createTable(Entry<SearchedByMore>.self).builtFullText)
      try Entry<SearchedByMore>(3, "x", "y", "delta").insert().run(db)
      #expect(try Entry<SearchedByMore>.search(.words("delta")).run(db).count == 1)
      // After a trigger was dropped, createTable indexes the missed changes.
      try db.execute("DROP TRIGGER t_fulltext_insert")
      try Entry<SearchedByMore>(4, "missed", "", "").insert().run(db)
      #expect(try Entry<SearchedByMore>.search(.words("missed")).run(db).isEmpty)
      #expect(try db.createTable(Entry<SearchedByMore>.self).builtFullText)
      #expect(try Entry<SearchedByMore>.search(.words("missed")).run(db).count == 1)
      #expect(try db.isFullTextIntact(Entry<SearchedByMore>.self))
    }
  }

  @Test func indexLeftByADroppedTableIsEmptied() throws {
    try withDatabase { db in
      try db.createTable(Story.self)
      try Story(1, "swift").insert().run(db)
      try db.execute("DROP TABLE story")
      let change = try db.createTable(Story.self)
      #expect(change.createdTable)
      #expect(change.builtFullText)
      try Story(1, "new").insert().run(db)
      #expect(try Story.search(.words("swift")).run(db) == [])
      #expect(try db.isFullTextIntact(Story.self))
    }
  }

  @Test func changeThatACollationIgnoresUpdatesTheIndex() throws {
    try withDatabase { db in
      try db.createTable(Entry<CaseBlind>.self)
      try Entry<CaseBlind>(1, "Notation").insert().run(db)
      try Entry<CaseBlind>(1, "NOTATION").update().run(db)
      #expect(try Entry<CaseBlind>.search(.words("TAT")).run(db).count == 1)
      #expect(try Entry<CaseBlind>.search(.words("tat")).run(db).isEmpty)
      #expect(try db.isFullTextIntact(Entry<CaseBlind>.self))
    }
  }

  @Test func generatedColumnsAndOtherFormsOfKeysAreIndexed() throws {
    try withDatabase { db in
      try db.createTable(Entry<Computed>.self)
      try Entry<Computed>.insert([Entry(4, "alpha"), Entry(5, "beta")]).run(db)
      try Entry<Computed>.update(Computed.columns[1].set(to: "gamma")).filter(Computed.columns[0] == 4).run(db)
      #expect(try Entry<Computed>.search(.words("gammaness")).run(db).count == 1)
      #expect(try Entry<Computed>.search(.words("alphaness")).run(db).isEmpty)
      #expect(try db.isFullTextIntact(Entry<Computed>.self))
    }
  }

  @Test func indexWithATakenNameIsRefusedAndChangesNothing() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE story_fulltext (a)")
      var error = expectSqlError { try db.createTable(Story.self) }
      #expect(error?.message.contains("which is taken") == true)
      try db.execute("DROP TABLE story_fulltext; CREATE VIRTUAL TABLE story_fulltext USING fts5(title)")
      error = expectSqlError { try db.createTable(Story.self) }
      #expect(error?.message.contains("which is taken") == true)
      try db.execute("DROP TABLE story_fulltext; CREATE TABLE story_fulltext_delete (a)")
      error = expectSqlError { try db.createTable(Story.self) }
      #expect(error?.message.contains("story_fulltext_delete") == true)
      // A foreign trigger on a table whose name differs only at the underscore.
      try db.execute(
        """
        DROP TABLE story_fulltext_delete; CREATE TABLE "story-fulltext" (a);
        CREATE TRIGGER story_fulltext_delete AFTER INSERT ON "story-fulltext" BEGIN DELETE FROM "story-fulltext"; END
        """)
      error = expectSqlError { try db.createTable(Story.self) }
      #expect(error?.message.contains("story_fulltext_delete") == true)
      #expect(try db.definition(of: "story_fulltext_delete") != nil)
      #expect(try db.definition(of: "story") == nil)
    }
  }

  @Test func oddNamesAreQuotedInTheIndex() throws {
    try withDatabase { db in
      try db.createTable(Entry<OddNames>.self)
      try Entry<OddNames>(1, "alpha", "beta").insert().run(db)
      try Entry<OddNames>(1, "gamma", "beta").update().run(db)
      #expect(try Entry<OddNames>.search(.words("gamma", in: OddNames.columns[1])).run(db).count == 1)
      #expect(try Entry<OddNames>.search(.words("gamma", in: OddNames.columns[2])).run(db).isEmpty)
      #expect(try Entry<OddNames>.search(.words("alpha")).run(db).isEmpty)
      #expect(try Entry<OddNames>.count().filter(Entry<OddNames>.matches(.words("beta"))).run(db) == 1)
      #expect(try db.isFullTextIntact(Entry<OddNames>.self))
      #expect(try db.createTable(Entry<OddNames>.self).isEmpty)
      try Entry<OddNames>.deleteAll().run(db)
      #expect(try db.isFullTextIntact(Entry<OddNames>.self))
    }
  }

  @Test func invalidIndexDeclarationsAreRefused() throws {
    func expectDefect<Declaration: TableDeclaration>(_ table: Entry<Declaration>.Type, _ words: String) {
      let error = sqlError { _ = try table.read().run(SqliteDatabase.inMemory()) }
      #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    }
    expectDefect(Entry<Keyless>.self, "no integer primary key")
    expectDefect(Entry<TextKey>.self, "no integer primary key")
    expectDefect(Entry<NotInLayout>.self, "not in its layout")
    expectDefect(Entry<TwiceIndexed>.self, "twice")
    expectDefect(Entry<NumberIndexed>.self, "not TEXT")
    expectDefect(Entry<OwnName>.self, "the table's own name")
    try withDatabase { db in
      expectMisuse { try db.rebuildFullText(Bicycle.self) }
      expectInvalidStatement { _ = try Bicycle.search(.words("x")).run(db) }
      expectInvalidStatement { _ = try Bicycle.read().filter(Bicycle.matches(.words("x"))).run(db) }
    }
  }
}

private let a = Column("a", .text)
private let b = Column("b", .text)
private let c = Column("c", .nullable(.text))
private let key = Column("id", .integer, PrimaryKey())

private enum Unsearched: TableDeclaration {
  static let columns = [key, a, b]
}
private enum SearchedByA: TableDeclaration {
  static let columns = [key, a, b]
  static let fullText = FullTextIndex(a)
}
private enum SearchedByBoth: TableDeclaration {
  static let columns = [key, a, b]
  static let fullText = FullTextIndex(a, b, tokenizer: .trigram)
}
private enum SearchedByMore: TableDeclaration {
  static let columns = [key, a, b, c]
  static let fullText = FullTextIndex(a, c, tokenizer: .ascii)
}
private enum OddNames: TableDeclaration {
  static let name = "it's a \"table\", content = 'x'"
  static let columns = [
    Column("I'd \"x\"", .integer, PrimaryKey()), Column("a \"b\" : 'c' UNINDEXED", .text, Collate.nocase),
    Column("tokenize = 'ascii'", .text),
  ]
  static let fullText = FullTextIndex(
    columns[1], columns[2],
    tokenizer: .unicode61(removeDiacritics: false, tokenCharacters: "'-\"", separators: "')"))
}
private enum Computed: TableDeclaration {
  static let columns = [
    Column("id", .integer), Column("a", .text), Column("b", .text, Generated("a || 'ness'")),
  ]
  static let constraints: [TableConstraint] = [PrimaryKeys(columns[0])]
  static let fullText = FullTextIndex(columns[2])
}
private enum CaseBlind: TableDeclaration {
  static let columns = [key, Column("a", .text, Collate.nocase)]
  static let fullText = FullTextIndex(columns[1], tokenizer: .trigram(caseSensitive: true))
}
private enum Keyless: TableDeclaration {
  static let columns = [a]
  static let fullText = FullTextIndex(a)
}
private enum TextKey: TableDeclaration {
  static let columns = [Column("k", .text, PrimaryKey()), a]
  static let fullText = FullTextIndex(a)
}
private enum NotInLayout: TableDeclaration {
  static let columns = [key, a]
  static let fullText = FullTextIndex(b)
}
private enum TwiceIndexed: TableDeclaration {
  static let columns = [key, a]
  static let fullText = FullTextIndex(a, a)
}
private enum NumberIndexed: TableDeclaration {
  static let columns = [key, a, Column("n", .integer)]
  static let fullText = FullTextIndex(columns[2])
}
private enum OwnName: TableDeclaration {
  static let columns = [key, a]
  static let fullText = FullTextIndex(a, name: "T")
}
