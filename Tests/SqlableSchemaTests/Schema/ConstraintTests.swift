import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests of each constraint: its SQL and the error of a violation.
@Suite struct ConstraintTests {
  private func with<D: TableDeclaration>(
    _ declaration: D.Type, _ sql: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (SqliteDatabase) throws -> Void = { _ in }
  ) throws {
    try withDatabase { db in
      let change = try db.createTable(Entry<D>.self)
      #expect(change.createdTable, sourceLocation: sourceLocation)
      #expect(change.table == D.name, sourceLocation: sourceLocation)
      #expect(try db.definition(of: D.name) == sql, sourceLocation: sourceLocation)
      #expect(try db.createTable(Entry<D>.self).isEmpty, sourceLocation: sourceLocation)
      #expect(try db.definition(of: D.name) == sql, sourceLocation: sourceLocation)
      try body(db)
    }
  }

  private func expect(
    _ constraint: SqlError.Constraint, at place: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = expectError(.constraint(constraint), sourceLocation: sourceLocation, body)
    let found = [error?.table, error?.column].compactMap { $0 }.joined(separator: ".")
    #expect(found == place, sourceLocation: sourceLocation)
    #expect(error?.transaction == SqlError.TransactionFate.none, sourceLocation: sourceLocation)
  }

  @Test func integerKeysAreNumberedAndRequireValues() throws {
    enum D: TableDeclaration {
      static let id = Column("id", .integer, PrimaryKey())
      static let columns = [id, Column("n", .text)]
    }
    try with(D.self, #"CREATE TABLE "t" ("id" INTEGER PRIMARY KEY, "n" TEXT NOT NULL)"#) { db in
      #expect(try Entry<D>.insert([.init(nil, "a"), .init(9, "b"), .init(nil, "c")]).run(db) == [1, 9, 10])
      expect(.primaryKey, at: "t.id") { try Entry<D>(9, "d").insert().run(db) }
      expect(.notNull, at: "t.n") { try Entry<D>(11, .null).insert().run(db) }
      expect(.notNull, at: "t.n") { try Entry<D>(11, nil).insert().run(db) }
      try Entry<D>.delete(D.id == 10).run(db)
      #expect(try Entry<D>(nil, "e").insert().run(db) == 10)
    }
  }

  @Test func autoincrementKeysAreNeverReused() throws {
    enum D: TableDeclaration {
      static let id = Column("id", .integer, PrimaryKey(autoincrement: true))
      static let columns = [id, Column("n", .text)]
    }
    try with(D.self, #"CREATE TABLE "t" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "n" TEXT NOT NULL)"#) { db in
      #expect(try Entry<D>.insert([.init(nil, "a"), .init(9, "b")]).run(db) == [1, 9])
      try Entry<D>.deleteAll().run(db)
      #expect(try Entry<D>(nil, "c").insert().run(db) == 10)
    }
  }

  @Test func onlyIntegerKeysAllowAutoincrement() throws {
    enum D: TableDeclaration { static let columns = [Column("id", .text, PrimaryKey(autoincrement: true))] }
    enum E: TableDeclaration {
      static let columns = [Column("id", .integer, PrimaryKey(autoincrement: true, descending: true))]
    }
    try withDatabase { db in
      expectMisuse { try db.createTable(Entry<D>.self) }
      expectMisuse { try db.createTable(Entry<E>.self) }
    }
  }

  @Test func textKeysAreUniqueAndNeverNull() throws {
    enum D: TableDeclaration { static let columns = [Column("k", .text, PrimaryKey(), Collate.nocase)] }
    try with(D.self, #"CREATE TABLE "t" ("k" TEXT PRIMARY KEY NOT NULL COLLATE NOCASE)"#) { db in
      try Entry<D>("a").insert().run(db)
      expect(.primaryKey, at: "t.k") { try Entry<D>("A").insert().run(db) }
      expect(.notNull, at: "t.k") { try Entry<D>(nil).insert().run(db) }
      expect(.notNull, at: "t.k") { try Entry<D>(.null).insert().run(db) }
    }
  }

  /// SQLite does not number rows by an INTEGER PRIMARY KEY DESC, and would let it be NULL.
  @Test func descendingIntegerKeysAreNeverNull() throws {
    enum D: TableDeclaration {
      static let id = Column("id", .integer, PrimaryKey(descending: true))
      static let columns = [id, Column("n", .nullable(.text))]
    }
    try with(D.self, #"CREATE TABLE "t" ("id" INTEGER PRIMARY KEY DESC NOT NULL, "n" TEXT)"#) { db in
      try Entry<D>(5, "a").insert().run(db)
      let error = expectMisuse { try Entry<D>(nil, "b").insert().run(db) }
      #expect(error?.table == "t")
      #expect(error?.column == "id")
      expect(.primaryKey, at: "t.id") { try Entry<D>(5, "b").insert().run(db) }
      #expect(try Entry<D>(5, "c").save().run(db) != 0)
      #expect(try Entry<D>.byId(5).run(db) == Entry<D>(5, "c"))
      #expect(try Entry<D>.delete().orderBy(D.id).limit(1).run(db) == 1)
    }
  }

  @Test func compositeKeysAreUniqueAndFindRows() throws {
    enum D: TableDeclaration {
      static let (a, b) = (Column("a", .text), Column("b", .integer))
      static let columns = [a, b]
      static let constraints: [TableConstraint] = [PrimaryKeys(a, b.desc)]
    }
    let sql = #"CREATE TABLE "t" ("a" TEXT NOT NULL, "b" INTEGER NOT NULL, PRIMARY KEY ("a", "b" DESC))"#
    try with(D.self, sql) { db in
      try Entry<D>.insert([.init("x", 1), .init("x", 2)]).run(db)
      expect(.primaryKey, at: "t.a") { try Entry<D>("x", 1).insert().run(db) }
      #expect(try Entry<D>.byId("x", 2).run(db) == Entry<D>("x", 2))
      expectMisuse { _ = try Entry<D>.byId("x").run(db) }
      #expect(try Entry<D>("x", 2).delete().run(db) == 1)
    }
  }

  @Test(.needs(37, "a STRICT table")) func tablesWithoutRowidAreOrderedByTheirKey() throws {
    enum D: TableDeclaration {
      static let (a, b) = (Column("a", .text), Column("b", .integer))
      static let columns = [a, b, Column("c", .nullable(.real))]
      static let constraints: [TableConstraint] = [PrimaryKeys(b, a)]
      static let options: [TableOption] = [.withoutRowid, .strict]
    }
    let sql = #"""
      CREATE TABLE "t" ("a" TEXT NOT NULL, "b" INTEGER NOT NULL, "c" REAL, PRIMARY KEY ("b", "a")) STRICT, WITHOUT ROWID
      """#
    try with(D.self, sql) { db in
      try Entry<D>.insert([.init("x", 1, 0.5), .init("w", 1, nil)]).run(db)
      expect(.primaryKey, at: "t.b") { try Entry<D>("x", 1, nil).insert().run(db) }
      #expect(try Entry<D>.read().run(db) == [Entry<D>("w", 1, .null), Entry<D>("x", 1, 0.5)])
      #expect(try Entry<D>.byId(1, "x").run(db)?.values[2] == 0.5)
      #expect(try Entry<D>("x", 1, 0.75).update().run(db) == 1)
    }
  }

  @Test(.needs(37, "a STRICT table")) func strictTablesRefuseOtherClasses() throws {
    enum D: TableDeclaration {
      static let columns = [
        Column("i", .nullable(.integer)), Column("b", .nullable(.blob)), Column("at", .nullable(.date(.iso8601))),
        Column("f", .nullable(.boolean)),
      ]
      static let options: [TableOption] = [.strict]
    }
    try with(D.self, #"CREATE TABLE "t" ("i" INTEGER, "b" BLOB, "at" TEXT, "f" INTEGER) STRICT"#) { db in
      expect(.dataType, at: "t.i") { try db.execute("INSERT INTO t (i) VALUES ('x')") }
      expect(.dataType, at: "t.b") { try db.execute("INSERT INTO t (b) VALUES ('x')") }
    }
  }

  @Test func uniqueColumnsAndCombinationsRefuseDuplicates() throws {
    enum D: TableDeclaration {
      static let (a, b, c) = (Column("a", .nullable(.text), Unique()), Column("b", .integer), Column("c", .integer))
      static let columns = [a, b, c]
      static let constraints: [TableConstraint] = [Unique(b, c.desc)]
    }
    let sql = #"""
      CREATE TABLE "t" ("a" TEXT UNIQUE, "b" INTEGER NOT NULL, "c" INTEGER NOT NULL, UNIQUE ("b", "c" DESC))
      """#
    try with(D.self, sql) { db in
      try Entry<D>.insert([.init("x", 1, 1), .init(.null, 1, 2), .init(.null, 2, 1)]).run(db)
      expect(.unique, at: "t.a") { try Entry<D>("x", 3, 3).insert().run(db) }
      expect(.unique, at: "t.b") { try Entry<D>("y", 1, 2).insert().run(db) }
      expect(.unique, at: "t.b") { try Entry<D>.update(D.c.set(to: 1)).filter(D.c == 2).run(db) }
    }
  }

  @Test func checksOfColumnsAndTablesRefuseRows() throws {
    enum D: TableDeclaration {
      static let a = Column("price", .nullable(.real), Check("price >= 0.5 AND price <> 1.25"))
      static let columns = [a, Column("b", .nullable(.text), Check("b IN ('x, y', 'z.z')"))]
      static let constraints: [TableConstraint] = [Check("price < 10 OR b IS NULL"), Check(" length(b) < 4.5 ")]
    }
    let sql = #"""
      CREATE TABLE "t" ("price" REAL CHECK (price >= 0.5 AND price <> 1.25), "b" TEXT CHECK (b IN ('x, y', 'z.z')), \#
      CHECK (price < 10 OR b IS NULL), CHECK ( length(b) < 4.5 ))
      """#
    try with(D.self, sql) { db in
      try Entry<D>.insert([.init(0.5, "z.z"), .init(.null, .null), .init(11.0, .null)]).run(db)
      expect(.check, at: "t.price") { try Entry<D>(0.25, .null).insert().run(db) }
      expect(.check, at: "t.b") { try Entry<D>(1.0, "q").insert().run(db) }
      expect(.check, at: "t") { try Entry<D>(10.0, "z.z").insert().run(db) }
      expect(.check, at: "t.price") { try Entry<D>.updateAll(D.a.set(to: 0)).run(db) }
    }
  }

  @Test func generatedColumnsAreReadAndFilteredNotWritten() throws {
    enum D: TableDeclaration {
      static let price = Column("price", .real)
      static let double = Column("double", .real, Generated("price * 2"))
      static let label = Column("label", .text, Generated("'#' || price", stored: true))
      static let columns = [price, double, label]
    }
    let sql = #"""
      CREATE TABLE "t" ("price" REAL NOT NULL, "double" REAL NOT NULL GENERATED ALWAYS AS (price * 2) VIRTUAL, \#
      "label" TEXT NOT NULL GENERATED ALWAYS AS ('#' || price) STORED)
      """#
    try with(D.self, sql) { db in
      try Entry<D>(1.5, 99.0, "written").insert().run(db)
      #expect(try Entry<D>.read().filter(D.double == 3 && D.label == "#1.5").run(db) == [Entry<D>(1.5, 3.0, "#1.5")])
      expectInvalidStatement { try Entry<D>.updateAll(D.double.set(to: 1)).run(db) }
      expectInvalidStatement { try Entry<D>(1.5).insert(D.label).run(db) }
    }
  }

  @Test func wronglySpelledRulesAreRefused() throws {
    enum D: TableDeclaration { static let columns = [Column("a", .text, Check("nosuch > 1"))] }
    enum E: TableDeclaration { static let columns = [Column("a", .text, Check("a >"))] }
    enum F: TableDeclaration {
      static let columns = [Column("a", .text)]
      static let constraints: [TableConstraint] = [Unique(Column("other", .text))]
    }
    try withDatabase { db in
      expectSqlError { try db.createTable(Entry<D>.self) }
      expectError(.syntax) { try db.createTable(Entry<E>.self) }
      expectMisuse { try db.createTable(Entry<F>.self) }
      let count = try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
      #expect(count == [0])
    }
  }
}
