import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// CREATE, ALTER and the other statements of definition as values.
@Suite struct DefinitionStatementTests {
  private enum Item: TableDeclaration {
    static let name = "item"
    static let id = Column("id", .integer, PrimaryKey())
    static let price = Column("price", .real, Default(0.1), Check("price >= 0"))
    static let note = Column("note", .nullable(.text))
    static let columns = [id, price, note]
    static let indexes = [Index(price.desc, unique: true)]
  }
  private enum Odd: TableDeclaration {
    static let name = "it's \"odd\"; DROP"
    static let columns = [Column("a \"b", .nullable(.integer))]
  }
  private enum OnlyKey: TableDeclaration {
    static let name = "item"
    static let columns = [Item.id]
  }
  private enum Computed: TableDeclaration {
    static let name = "item"
    static let at = Column("at", .date, Default(.now))
    static let columns = [Item.id, at]
  }
  private enum Prices: TableDeclaration {
    static let name = "prices"
    static let columns = [Column("price", .real)]
    static let options: [TableOption] = [.view(View(Entry<Item>.select(Item.price)))]
  }

  @Test func aModelCreatesItsTableAndIndexes() throws {
    try withDatabase { db in
      let create = Entry<Item>.createTable()
      #expect(
        create.sql == """
          CREATE TABLE "item" ("id" INTEGER PRIMARY KEY, "price" REAL NOT NULL DEFAULT 0.1 CHECK (price >= 0), \
          "note" TEXT)
          """)
      #expect("\(create)" == create.sql)
      #expect(
        try create.requests().map(\.sql).dropFirst()
          == [#"CREATE UNIQUE INDEX "item_price_desc" ON "item" ("price" DESC)"#])
      try create.run(db)
      try Schema(Entry<Item>.self).verify(db)
      let error = expectError(.other) { try create.run(db) }
      #expect(error?.message.contains("already exists") == true)
      try create.ifNotExists().run(db)
      try Entry<Item>.createTable(named: "archive").ifNotExists().run(db)
      #expect(try db.definition(of: "archive_price_desc") != nil)
    }
  }

  @Test func theHiddenRowidIsNotDeclared() throws {
    enum Note: TableDeclaration {
      static let rowid = Column("rowid", .integer, RowId())
      static let columns = [rowid, Column("text", .text)]
    }
    try withDatabase { db in
      #expect(Entry<Note>.createTable().sql == #"CREATE TABLE "t" ("text" TEXT NOT NULL)"#)
      #expect(Entry<Note>.addColumn(Note.rowid).sql.hasPrefix("-- "))
      try Entry<Note>.createTable().run(db)
      #expect(try Entry<Note>(nil, "a").insert().run(db) == 1)
    }
  }

  @Test func fullTextIndexesAreCreatedAndDroppedWithTheirTable() throws {
    enum Note: TableDeclaration {
      static let name = "note"
      static let text = Column("text", .text)
      static let columns = [Column("id", .integer, PrimaryKey()), text]
      static let fullText = FullTextIndex(text)
    }
    try withDatabase { db in
      expectMisuse { try Entry<Note>.createTable().ifNotExists().run(db) }
      try Entry<Note>.createTable().run(db)
      try Schema(Entry<Note>.self).verify(db)
      try Entry<Note>(1, "hello world").insert().run(db)
      #expect(try db.query("SELECT count(*) FROM note_fulltext('hello')", as: Int.self) == [1])
      try Entry<Note>.dropTable().run(db)
      #expect(try db.query("SELECT name FROM sqlite_schema", as: String.self) == [])
    }
  }

  @Test func aFailingIndexUndoesTheTable() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE item_price_desc (a)")
      expectError(.other) { try Entry<Item>.createTable().run(db) }
      let definition = try db.definition(of: "item")
      #expect(definition == nil)
    }
  }

  @Test func viewsIndexesAndFullTextAreCreated() throws {
    try withDatabase { db in
      try Entry<Item>.createTable().run(db)
      let view = Entry<Prices>.createTable().ifNotExists()
      #expect(view.sql == #"CREATE VIEW IF NOT EXISTS "prices" ("price") AS SELECT "price" FROM "item""#)
      for _ in 0..<2 { try view.run(db) }
      let index = Entry<Item>.createIndex(Index(Item.note))
      #expect(index.sql == #"CREATE INDEX "item_note" ON "item" ("note")"#)
      try index.run(db)
      expectError(.other) { try index.run(db) }
      #expect(index.ifNotExists().sql == #"CREATE INDEX IF NOT EXISTS "item_note" ON "item" ("note")"#)
      try index.ifNotExists().run(db)
    }
  }

  @Test func aMissingColumnIsAdded() throws {
    try withDatabase { db in
      try Entry<OnlyKey>.createTable().run(db)
      try Entry<OnlyKey>(1).insert().run(db)
      let add = Entry<Item>.addColumn(Item.price)
      #expect(
        add.sql == #"ALTER TABLE "item" ADD COLUMN "price" REAL NOT NULL DEFAULT 0.1 CHECK (price >= 0)"#)
      try add.run(db)
      #expect(try db.query("SELECT price FROM item", as: Double.self) == [0.1])
      expectMisuse { try add.ifNotExists().run(db) }
      #expect(sqlError { try Entry<Item>.addColumn(Item.id).run(db) }?.column == "id")
      #expect(sqlError { try Entry<Computed>.addColumn(Computed.at).run(db) }?.column == "at")
      let missing = sqlError { try Entry<OnlyKey>.addColumn(Item.price).run(db) }
      #expect(missing?.kind == .schema(.missingColumn("price")))
      #expect(Entry<OnlyKey>.addColumn(Item.price).sql.hasPrefix("-- "))
    }
  }

  @Test func tablesAndColumnsAreRenamedAndDropped() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE bike (id INTEGER PRIMARY KEY, colour TEXT, note)")
      try db.execute("INSERT INTO bike VALUES (1, 'red', 2)")
      let steps: [any DefinitionStatement] = [
        AlterStatement.renameTable("bike", to: "item"),
        AlterStatement.renameColumn("colour", to: "color", inTable: "item"),
        AlterStatement.dropColumn("note", ofTable: "item"),
      ]
      #expect(
        steps.map(\.sql) == [
          #"ALTER TABLE main."bike" RENAME TO "item""#, #"ALTER TABLE main."item" RENAME COLUMN "colour" TO "color""#,
          #"ALTER TABLE main."item" DROP COLUMN "note""#,
        ])
      // The rollback undoes the steps.
      expectSqlError {
        try db.transaction { db in
          for step in steps { try step.run(db) }
          try AlterStatement.dropColumn("note", ofTable: "item").run(db)
        }
      }
      #expect(try db.query("SELECT colour FROM bike", as: String.self) == ["red"])
      for step in steps { try step.run(db) }
      #expect(try db.query("SELECT * FROM item", as: DynamicRow.self).map(\.columns) == [["id", "color"]])
    }
  }

  @Test func namesAreQuoted() throws {
    try withDatabase { db in
      try Entry<Odd>.createTable().run(db)
      try AlterStatement.renameColumn("a \"b", to: "c'; \"d", inTable: Odd.name).run(db)
      try AlterStatement.renameTable(Odd.name, to: "x\"y").run(db)
      #expect(try db.query("SELECT name FROM pragma_table_info('x\"y')", as: String.self) == ["c'; \"d"])
      try DropStatement.table("x\"y").run(db)
      for wrong in ["", "a\0b"] {
        expectMisuse { try AlterStatement.renameTable("item", to: wrong).run(db) }
        expectMisuse { try AlterStatement.renameTable(wrong, to: "item").run(db) }
        expectMisuse { try AlterStatement.dropColumn(wrong, ofTable: "item").run(db) }
        expectMisuse { try AlterStatement.renameColumn("a", to: wrong, inTable: "item").run(db) }
        expectMisuse { try DropStatement.table(wrong).run(db) }
      }
    }
  }

  @Test func maintenanceStatementsRun() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try Entry<Item>.createTable().run(db)
      try Entry<Item>(1).insert().run(db)
      let (copy, other) = (directory + "/copy.sqlite", directory + "/other.sqlite")
      let statements: [(DatabaseStatement, String)] = [
        (.vacuum(), "VACUUM"), (.vacuum(into: copy), "VACUUM INTO ?"), (.analyze(), "ANALYZE"),
        (.analyze("item"), #"ANALYZE main."item""#), (.reindex(), "REINDEX"),
        (.reindex("item_price_desc"), #"REINDEX main."item_price_desc""#),
        (.attach(other, as: "o'\"x"), #"ATTACH ? AS "o'""x""#), (.detach("o'\"x"), #"DETACH "o'""x""#),
      ]
      for (statement, sql) in statements {
        #expect(statement.sql == sql)
        #expect("\(statement)" == sql)
        try statement.run(db)
      }
      #expect(try SqliteDatabase(filepath: copy).query("SELECT id FROM item", as: Int.self) == [1])
      #expect(try db.query("SELECT count(*) FROM sqlite_stat1", as: Int.self) == [1])
      expectSqlError { try db.transaction { db in try DatabaseStatement.vacuum().run(db) } }
      expectSqlError { try DatabaseStatement.vacuum(into: copy).run(db) }
      for wrong in ["", "a\0"] {
        expectMisuse { try DatabaseStatement.detach(wrong).run(db) }
        expectMisuse { try DatabaseStatement.vacuum(into: wrong).run(db) }
        expectMisuse { try DatabaseStatement.attach(other, as: wrong).run(db) }
      }
    }
  }

  @Test func pragmasHaveTypedValues() throws {
    try withDatabase { db in
      #expect(try Pragma.userVersion.run(db) == 0)
      let set = Pragma.userVersion.set(to: 7)
      #expect("\(set)" == #"PRAGMA "user_version" = 7"#)
      let answer = try set.run(db)
      #expect(answer == nil)
      #expect(try Pragma.userVersion.run(db) == 7)
      #expect(try Pragma<Int>("user_version", inDatabase: "main").run(db) == 7)
      try Pragma.cacheSize.set(to: -4000).run(db)
      #expect(try Pragma.cacheSize.run(db) == -4000)
      #expect(try Pragma.foreignKeys.run(db))
      try Pragma.foreignKeys.set(to: false).run(db)
      #expect(try !Pragma.foreignKeys.run(db))
      #expect(try Pragma.journalMode.run(db) == "wal")
      #expect(try Pragma.journalMode.set(to: "delete").run(db) == "delete")
      #expect(try Pragma.encoding.run(db) == "UTF-8")
      let unknown = expectMisuse { _ = try Pragma<Int>("nosuch").run(db) }
      #expect(
        unknown?.message == "pragma nosuch returned no value; check the name, because SQLite ignores unknown pragmas")
      #expect(sqlError { _ = try Pragma<Int>("journal_mode").run(db) }?.isDecoding == true)
      expectMisuse { try Pragma<Data>("cache_size").set(to: Data([1])).run(db) }
      expectMisuse { try Pragma<Int?>("cache_size").set(to: nil).run(db) }
      // The text is quoted: no statement follows it.
      try Pragma<String>("synchronous").set(to: "x'; DROP TABLE t; --").run(db)
    }
  }

  @Test func statementsAreHashableAndCodable() throws {
    func expectCopy<Value: Codable & Hashable>(_ value: Value) throws {
      #expect(try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)) == value)
    }
    try expectCopy(AlterStatement.renameColumn("a", to: "b", inTable: "t"))
    try expectCopy(DropStatement.table("t").ifExists())
    try expectCopy(DatabaseStatement.attach("/a", as: "b"))
    try expectCopy(Pragma.userVersion)
    try expectCopy(Pragma.userVersion.set(to: 3))
    let creates: Set = [
      Entry<Item>.createTable(), Entry<Item>.createTable(), Entry<Item>.createTable().ifNotExists(),
      Entry<Item>.createTable(named: "archive"), Entry<Item>.createIndex(Index(Item.note)),
      Entry<Item>.addColumn(Item.note),
    ]
    #expect(creates.count == 5)
  }
}
