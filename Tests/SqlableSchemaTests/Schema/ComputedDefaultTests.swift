import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct ComputedDefaultTests {
  private enum Times: TableDeclaration {
    static let columns =
      [Column("id", .integer, PrimaryKey())]
      + ColumnType.DateFormat.allCases.map { Column($0.rawValue, .date($0), Default(.now)) }
  }
  private struct ReadTimes: Sqlable {
    let dates: [String: Date]

    static let tableName = "t"
    static let tableLayout = Times.columns

    init(row: ReadRow) throws {
      row.skip(Times.columns[0])
      dates = try Dictionary(uniqueKeysWithValues: Times.columns.dropFirst().map { ($0.name, try row.get($0)) })
    }
    func valueForColumn(_ column: Column) -> SqlValue? { nil }
  }
  private enum Token: TableDeclaration {
    static let id = Column("id", .integer, PrimaryKey())
    static let token = Column("token", .text, Default(sql: "hex(randomblob(8))"))
    static let columns = [id, token]
  }
  private enum OtherToken: TableDeclaration {
    static let columns = [Token.id, Column("token", .text, Default(sql: "hex(randomblob(16))"))]
  }
  private enum NoDefault: TableDeclaration {
    static let columns = [Token.id, Column("token", .text)]
  }
  private enum RemovedDefault: TableDeclaration {
    static let columns = [Token.id, Column("token", .text, Default(sql: "NULL"))]
  }

  @Test func nowIsTheTimeOfTheInsertInTheFormatOfTheColumn() throws {
    try withDatabase { db in
      try db.createTable(Entry<Times>.self)
      let before = Date()
      try Entry<Times>().insert().run(db)
      let row = try #require(try Entry<Times>.byId(1).run(db))
      let dates = try #require(try ReadTimes.read().first(db)).dates
      for (column, value) in zip(Times.columns, row.values).dropFirst() {
        let value = try #require(value)
        #expect(column.type.stores(value), "\(column.name)")
        let date = try #require(dates[column.name])
        #expect((-2...1_500).contains(date.timeIntervalSince(before)), "\(column.name): \(value)")
        // The stored text has the form in which the library writes a date.
        if case .text = value { #expect(try date.databaseValue(in: column.type) == value, "\(column.name)") }
      }
    }
  }

  @Test func computedDefaultsAreExpressionsInParentheses() throws {
    enum Two: TableDeclaration {
      static let columns = [Token.token, Column("at", .date(.unixSeconds), Default(.now))]
    }
    try withDatabase { db in
      try db.createTable(Entry<Two>.self)
      #expect(
        try db.definition(of: "t") == """
          CREATE TABLE "t" ("token" TEXT NOT NULL DEFAULT (hex(randomblob(8))), \
          "at" INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)))
          """)
    }
  }

  @Test func aStoredValueAndNullTakePrecedence() throws {
    enum Nullable: TableDeclaration {
      static let columns = [Token.id, Column("at", .nullable(.date), Default(.now))]
    }
    try withDatabase { db in
      try db.createTable(Entry<Nullable>.self)
      try Entry<Nullable>(1, .null).insert().run(db)
      try Entry<Nullable>(2, 5.5).insert().run(db)
      #expect(try db.query("SELECT at FROM t ORDER BY id", as: Double?.self) == [nil, 5.5])
    }
  }

  @Test func aKeyCanBeComputed() throws {
    enum Key: TableDeclaration {
      static let columns = [Column("id", .text, PrimaryKey(), Default(sql: "lower(hex(randomblob(16)))"))]
    }
    try withDatabase { db in
      try db.createTable(Entry<Key>.self)
      for _ in 0..<3 { try Entry<Key>().insert().run(db) }
      #expect(try db.query("SELECT count(DISTINCT id) FROM t WHERE length(id) = 32", as: Int.self) == [3])
    }
  }

  @Test func aStatementInsertsRowsWithDifferentComputedValues() throws {
    try withDatabase { db in
      try db.createTable(Entry<Token>.self)
      try Entry<Token>.insert([Entry(), Entry(), Entry(3, "mine"), Entry()]).run(db)
      let tokens = try db.query("SELECT token FROM t ORDER BY id", as: String.self)
      #expect(Set(tokens).count == 4)
      #expect(tokens[2] == "mine")
    }
  }

  @Test func aColumnWithAComputedDefaultIsAddedByAPlan() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
      let error = sqlError { try db.createTable(Entry<Token>.self) }
      #expect(error?.column == "token")
      #expect(
        error?.message.contains(
          "column t.token can't be added to the existing table: SQLite adds only columns with constant defaults")
          == true)
      let plan = try Schema(Entry<Token>.self).plan(db)
      #expect(plan.rebuilds)
      try plan.apply(db)
      try Schema(Entry<Token>.self).verify(db)
      #expect(try db.query("SELECT count(DISTINCT token) FROM t", as: Int.self) == [2])
    }
  }

  @Test func aPlanChangesAComputedDefault() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Token>.self)
      try Entry<Token>(1, "a").insert().run(db)
      let schema = Schema(Entry<OtherToken>.self)
      #expect(
        try schema.differences(db).map(\.description)
          == ["t.token: the default is hex(randomblob(8)), and should be hex(randomblob(16))"])
      try schema.plan(db).apply(db)
      try schema.verify(db)
      try Entry<OtherToken>(2).insert().run(db)
      #expect(try db.query("SELECT length(token) FROM t ORDER BY id", as: Int.self) == [1, 32])
    }
  }

  @Test func anUndeclaredComputedDefaultStaysUntilTheModelDeclaresNull() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Token>.self)
      #expect(try Schema(Entry<NoDefault>.self).plan(db).isEmpty)
      try Schema(Entry<RemovedDefault>.self).plan(db).apply(db)
      try Schema(Entry<NoDefault>.self).verify(db)
      expectError(.constraint(.notNull)) { try Entry<Token>(1).insert().run(db) }
    }
  }

  @Test func nowNeedsADateColumn() throws {
    enum Wrong: TableDeclaration { static let columns = [Column("at", .integer, Default(.now))] }
    try withDatabase { db in
      let error = sqlError { try db.createTable(Entry<Wrong>.self) }
      #expect(error?.message == "the default of t.at should be INTEGER, but is the current time")
      #expect(sqlError { _ = try Entry<Wrong>.count().run(db) } == error)
    }
  }

  @Test func anExpressionWithAColumnIsRefusedBySQLite() throws {
    enum Wrong: TableDeclaration { static let columns = [Token.id, Column("a", .integer, Default(sql: "id + 1"))] }
    try withDatabase { db in
      let error = sqlError { try db.createTable(Entry<Wrong>.self) }
      #expect(error?.message.contains("default value of column [a] is not constant") == true)
      let definition = try db.definition(of: "t")
      #expect(definition == nil)
    }
  }

  @Test func aReadWithoutTheColumnRefusesAComputedDefault() throws {
    try withDatabase { db in
      try db.createTable(Entry<Token>.self)
      let error = sqlError { _ = try Entry<Token>.read(without: Token.token).run(db) }
      #expect(error?.message == "column token can't be left out: it can't be NULL, and has no constant default")
    }
  }
}
