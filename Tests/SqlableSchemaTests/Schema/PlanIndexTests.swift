import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private let id = Column("id", .integer, PrimaryKey())
private let a = Column("a", .nullable(.text))
private let nocase = Column("a", .nullable(.text), Collate.nocase, Unique())
private let number = Column("a", .nullable(.integer), Unique())

private enum Indexed: TableDeclaration {
  static let columns = [id, a]
  static let indexes = [
    Index(a, unique: true), Index(id, a.desc), Index(a, where: "a > 'b'"), Index(IndexColumn(sql: "lower(a)")),
    Index(id, name: "given"),
  ]
}
private enum Partial: TableDeclaration {
  static let columns = [id, a]
  static let indexes = [Index(a, unique: true, where: "id > 1")]
}
private enum WithoutCase: TableDeclaration { static let columns = [id, nocase] }
private enum Numbers: TableDeclaration { static let columns = [id, number] }

/// Tests of indexes on tables whose name, columns or types change.
@Suite struct PlanIndexTests {
  private let names = ["given", "t_a", "t_id_a_desc"]

  private func indexes(_ db: SqliteDatabase, _ table: String = "t") throws -> [String] {
    try db.schema()[table: table]?.indexes.map(\.name) ?? []
  }

  @Test(arguments: ["old", "t"], ["b", "a"])
  func automaticIndexNameFollowsRenames(_ table: String, _ column: String) throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        SQL(
          verbatim: """
            CREATE TABLE \(table) (id INTEGER PRIMARY KEY, \(column) TEXT); INSERT INTO \(table) VALUES (1, 'x');
            CREATE UNIQUE INDEX \(table)_\(column) ON \(table) (\(column));
            CREATE INDEX \(table)_id_\(column)_desc ON \(table) (id, \(column) DESC);
            CREATE INDEX given ON \(table) (id); CREATE INDEX other ON \(table) (\(column))
            """))
      let schema = Schema(Entry<Indexed>.self)
      func plan() throws -> SchemaPlan {
        try schema.plan(db, renamed: ["b": "a"], renamedTables: ["old": "t"])
      }
      try plan().apply(db)
      let found = try indexes(db)
      #expect(found.contains("other"))
      #expect(names.allSatisfy(found.contains))
      #expect(found.count == Indexed.indexes.count + 1, "\(found)")
      try schema.verify(db)
      #expect(try plan().isEmpty)
      #expect(try db.query("SELECT a FROM t", as: String.self) == ["x"])
    }
  }

  @Test func aRebuildLeavesNoIndexUnderTheOldName() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB); CREATE UNIQUE INDEX t_b ON t (b);
        CREATE INDEX t_id_b_desc ON t (id, b DESC)
        """)
      let plan = try Schema(Entry<Indexed>.self).plan(db, renamed: ["b": "a"])
      #expect(plan.rebuilds)
      try plan.apply(db)
      #expect(try indexes(db).count == Indexed.indexes.count)
      try Schema(Entry<Indexed>.self).verify(db)
    }
  }

  @Test func aGivenNameBelongsToOneTableOfTheModel() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let (model, given) = (Entry<Indexed>.self, Index(id, name: "given"))
      let schema = Schema(model).adding(model, named: "archive")
      try schema.plan(db).apply(db)
      #expect(try indexes(db).contains("given"))
      #expect(try indexes(db, "archive").contains("archive_given"))
      try schema.verify(db)
      #expect(try schema.plan(db).isEmpty)
      #expect(try db.createTable(model, named: "old").addedIndexes.last == "old_given")
      #expect(try db.createTable(model, named: "old").isEmpty)
      #expect(try db.createTable(model, named: "T").isEmpty)

      let rows = model.read().in("archive").indexed(by: given)
      #expect(rows.sql == #"SELECT "id", "a" FROM "archive" INDEXED BY "archive_given""#)
      #expect(try rows.run(db).isEmpty)
      let alias = Alias(model, "x", in: "archive").indexed(by: given)
      #expect(alias.read().sql == #"SELECT "x"."id", "x"."a" FROM "archive" AS "x" INDEXED BY "archive_given""#)
      try model.dropIndex(given, ofTable: "archive").run(db)
      try model.dropIndex(given).run(db)
      #expect(try !indexes(db, "archive").contains("archive_given"))
      #expect(try !indexes(db).contains("given"))
      #expect(try indexes(db, "old").contains("old_given"))
    }
  }

  @Test(arguments: ["CREATE INDEX given ON past (id)", "CREATE INDEX earlier_given ON past (id)"])
  func aPlanRenamesTheIndexOfAnotherTable(_ index: String) throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let isRenamed = index.contains("earlier")
      try db.execute(
        SQL(verbatim: "CREATE TABLE past (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO past VALUES (1, 'x'); \(index)"))
      if isRenamed { try db.execute("ALTER TABLE past RENAME TO earlier") }
      let schema = Schema([]).adding(Entry<Indexed>.self, named: "past")
      try schema.plan(db, renamedTables: isRenamed ? ["earlier": "past"] : [:]).apply(db)
      let found = try indexes(db, "past")
      #expect(found.contains("past_given"))
      #expect(found.count == Indexed.indexes.count, "\(found)")
      try schema.verify(db)
      #expect(try schema.plan(db).isEmpty)
      #expect(try Entry<Indexed>.read().in("past").run(db).count == 1)
    }
  }

  @Test func aUniqueIndexThatRepeatsAnotherIsHarmless() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let schema = Schema(Entry<Indexed>.self)
      try db.createTable(Entry<Indexed>.self)
      try db.execute("CREATE UNIQUE INDEX t_b ON t (a)")
      try schema.verify(db)
      try db.execute("CREATE UNIQUE INDEX t_c ON t (a DESC, id)")
      #expect(sqlError { try schema.verify(db) } != nil)
    }
  }

  @Test func duplicatesOfARebuildNameTheTableAndTheRows() throws {
    func fail(_ model: any Sqlable.Type, _ rows: String, _ message: String, _ row: Int) throws {
      try withDatabase { db in
        try db.execute(SQL(verbatim: "CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB); INSERT INTO t VALUES \(rows)"))
        let error = sqlError { try Schema(model).plan(db).apply(db) }
        #expect(error?.message == message)
        #expect(error?.table == "t")
        #expect(error?.rowId == row)
      }
    }
    // The values are equal under the new collation or type.
    let unique = "UNIQUE constraint failed: t.a, in rows such as"
    try fail(Entry<WithoutCase>.self, "(3, 'x'), (5, 'y'), (7, 'X')", "\(unique) 7", 7)
    try fail(Entry<Numbers>.self, "(3, 1), (5, 2), (7, '1')", "\(unique) 7", 7)
    try fail(
      Entry<Indexed>.self, "(3, 'x'), (5, 'y'), (7, 'x')",
      "rows of t have the same a as other rows in column a; affected row ids include 3",
      3)
    try fail(
      Entry<Partial>.self, "(1, 'x'), (3, 'x'), (7, 'x')",
      "rows of t have the same a as other rows in column a; affected row ids include 3",
      3)
  }
}
