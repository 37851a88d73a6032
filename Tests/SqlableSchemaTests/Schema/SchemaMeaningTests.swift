import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Parent: TableDeclaration {
  static let name = "p"
  static let columns = [Column("id", .integer, PrimaryKey())]
}

private enum Child: TableDeclaration {
  static let columns = [
    Column("id", .integer, PrimaryKey()), Column("name", .text, Default("none")), Column("price", .real),
    Column("amount", .integer, Default(0)), Column("flag", .boolean, Default(false)),
    Column("parent", .nullable(.integer), ForeignKey<Entry<Parent>>()), Column("at", .nullable(.date)),
  ]
}

private enum Keyed: TableDeclaration { static let columns = [Column("code", .text, PrimaryKey())] }
private enum Numbered: TableDeclaration { static let columns = [Column("id", .integer, PrimaryKey())] }
private enum Declared: TableDeclaration {
  static let columns = [
    Column("id", .integer, PrimaryKey(), DeclaredType("INT")), Column("price", .real, DeclaredType("DECIMAL(10, 2)")),
    Column("any", .nullable(.blob), DeclaredType("")),
  ]
}
private enum Searched: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), body]
  static let body = Column("body", .text)
  static let fullText = FullTextIndex(columns: [body])
}

/// Tests that the comparison ignores the spelling of a schema.
@Suite struct SchemaMeaningTests {
  private func differences(_ models: [any Sqlable.Type], _ sql: String) throws -> [String] {
    try withDatabase { db in
      try db.execute(SQL(verbatim: sql))
      let schema = Schema(models)
      let isEmpty = try schema.plan(db).isEmpty
      let differences = try schema.differences(db).filter { !$0.isHarmless }.map(\.description)
      #expect(isEmpty == differences.isEmpty, "\(differences)")
      return differences
    }
  }

  private let parent = "CREATE TABLE p (id INTEGER PRIMARY KEY NOT NULL);"

  @Test func typesKeysDefaultsAndReferencesAreComparedByMeaning() throws {
    let models: [any Sqlable.Type] = [Entry<Parent>.self, Entry<Child>.self]
    for (name, price, amount, flag) in [
      ("VARCHAR(20)", "DOUBLE", "BIGINT", "BOOLEAN"), ("CLOB", "FLOAT", "INT", "BOOL"),
      ("NCHAR(5)", "DOUBLE PRECISION", "UNSIGNED BIG INT", "TINYINT(1)"),
    ] {
      let found = try differences(
        models,
        """
        \(parent) CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, name \(name) DEFAULT "none" NOT NULL,
          price \(price) NOT NULL, amount \(amount) NOT NULL DEFAULT '0', flag \(flag) NOT NULL DEFAULT FALSE,
          parent INTEGER DEFAULT NULL REFERENCES p, at FLOAT DEFAULT CURRENT_TIMESTAMP)
        """)
      #expect(found == [])
    }
    #expect(try differences([Entry<Keyed>.self], "CREATE TABLE t (code VARCHAR PRIMARY KEY)") == [])
  }

  @Test func differentMeaningsAreReported() throws {
    let found = try differences(
      [Entry<Parent>.self, Entry<Child>.self],
      """
      \(parent) CREATE TABLE t (id INTEGER PRIMARY KEY, name NUMERIC DEFAULT 'none' NOT NULL, price INT NOT NULL,
        amount DECIMAL(10, 2) NOT NULL DEFAULT 1, flag BOOLEAN NOT NULL DEFAULT 'x',
        parent INTEGER REFERENCES t, at TEXT)
      """)
    let places = found.map { $0.prefix { $0 != ":" } }
    #expect(
      places == ["t.name", "t.price", "t.amount", "t.amount", "t.flag", "t.at", "t", "t"], "\(found)")
    #expect(
      try differences([Entry<Numbered>.self], "CREATE TABLE t (id BIGINT PRIMARY KEY)") == [
        "t.id: the type is BIGINT, and should be INTEGER"
      ])
  }

  @Test func aTokenizerIsTheSameHoweverItIsQuoted() throws {
    for tokenizer in [#""unicode61 remove_diacritics 2""#, "[UNICODE61 remove_diacritics 2]"] {
      try withDatabase { db in
        try db.createTable(Entry<Searched>.self)
        let create = try #require(db.schema()[table: "t_fulltext"]?.sql)
        let other = create.replacing("'unicode61 remove_diacritics 2'", with: tokenizer)
        #expect(create != other)
        try db.execute("DROP TABLE t_fulltext")
        try db.execute(SQL(verbatim: other))
        let schema = Schema(Entry<Searched>.self)
        try schema.verify(db)
        #expect(try schema.plan(db).isEmpty)
      }
    }
  }

  @Test func aComputedDefaultSurvivesARebuild() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        SQL(
          verbatim: """
            \(parent) CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'none', price REAL NOT NULL,
              amount INT NOT NULL DEFAULT 0, flag BOOL NOT NULL DEFAULT 0, parent INTEGER REFERENCES p,
              at REAL DEFAULT (julianday('now')))
            """))
      let schema = Schema(Entry<Parent>.self, Entry<Child>.self)
      let plan = try schema.plan(db)
      #expect(plan.rebuilds)
      try plan.apply(db)
      try schema.verify(db)
      #expect(try db.schema()[table: "t"]?[column: "at"]?.defaultValue == "julianday('now')")
    }
  }

  @Test func aDeclaredTypeIsThatOfTheTable() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Declared>.self)
      #expect(
        try db.schema()[table: "t"]?.sql
          == #"CREATE TABLE "t" ("id" INT PRIMARY KEY NOT NULL, "price" DECIMAL(10, 2) NOT NULL, "any")"#)
      try Schema(Entry<Declared>.self).verify(db)
      #expect(try Schema(Entry<Declared>.self).plan(db).isEmpty)
    }
  }
}
