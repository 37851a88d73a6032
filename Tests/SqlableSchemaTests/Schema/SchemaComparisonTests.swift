import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Own: TableDeclaration {
  static let id = Column("id", .integer, PrimaryKey(autoincrement: true))
  static let a = Column("a", .text, Unique(), Collate.nocase)
  static let b = Column("b", .nullable(.integer), Check("b > 0"))
  static let c = Column("c", .real, Default(1.5))
  static let d = Column("d", .nullable(.integer), Generated("b + 1"))
  static let e = Column("e", .nullable(.integer), ForeignKey<Entry<Own>>(onDelete: .cascade))
  static let columns = [id, a, b, c, d, e]
  static let indexes = [Index(b), Index(c.desc, a)]
}

/// Tests that the comparison reports every difference between a model and its table, and nothing else.
@Suite struct SchemaComparisonTests {
  private static let rest = "FOREIGN KEY (e) REFERENCES t (id) ON DELETE CASCADE"
  private static let create = """
    CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT COLLATE NOCASE NOT NULL, b INTEGER,
      c REAL DEFAULT 1.5 NOT NULL, d INTEGER AS (b+1), e INTEGER, UNIQUE (a), CHECK (b > 0), \(rest));
    CREATE INDEX "t_b" ON t (B); CREATE INDEX t_c_desc_a ON t (c DESC, a);
    """

  /// Returns the differences after replacing a piece of the table's text.
  private func differences(_ old: String, _ new: String) throws -> [String] {
    var found: [String] = []
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let text = SchemaComparisonTests.create.replacing(old, with: new)
      #expect(old.isEmpty || text != SchemaComparisonTests.create)
      try db.execute(SQL(verbatim: text))
      let differences = try Schema(Entry<Own>.self).differences(db)
      found = differences.map { ($0.isHarmless ? "harmless: " : "") + "\($0)" }
      let error = sqlError { try Schema(Entry<Own>.self).verify(db) }
      #expect((error == nil) == differences.allSatisfy(\.isHarmless))
    }
    return found
  }

  @Test func tableWithEquivalentTextDoesNotDiffer() throws {
    #expect(try differences("", "") == [])
  }

  @Test func eachDifferenceIsReported() throws {
    #expect(try differences("b INTEGER", "b TEXT") == ["t.b: the type is TEXT, and should be INTEGER"])
    #expect(try differences("b INTEGER,", "b INTEGER NOT NULL,") == ["t.b: the NOT NULL is set, and should be not set"])
    #expect(try differences("DEFAULT 1.5 ", "DEFAULT 2 ") == ["t.c: the default is 2, and should be 1.5"])
    #expect(try differences("DEFAULT 1.5 ", "") == ["t.c: the default is missing, and should be 1.5"])
    #expect(try differences("COLLATE NOCASE", "") == ["t.a: the collation is BINARY, and should be NOCASE"])
    #expect(
      try differences("(b+1)", "(b+2)")
        == ["t.d: the generated expression is (b+2) VIRTUAL, and should be (b + 1) VIRTUAL"])
    #expect(
      try differences(" AUTOINCREMENT", "")
        == ["t: the primary key is PRIMARY KEY (id), and should be PRIMARY KEY (id) AUTOINCREMENT"])
    #expect(try differences(" UNIQUE (a),", "") == ["t: the UNIQUE constraint is missing: UNIQUE (a)"])
    #expect(
      try differences("UNIQUE (a),", "UNIQUE (a), UNIQUE (b),") == [
        "t: the UNIQUE constraint is not expected: UNIQUE (b)"
      ])
    #expect(
      try differences("b > 0", "b > 1") == [
        "t: the CHECK constraint is missing: CHECK (b > 0)", "t: the CHECK constraint is not expected: CHECK (b > 1)",
      ])
    #expect(
      try differences(", " + SchemaComparisonTests.rest, "")
        == ["t: the foreign key is missing: FOREIGN KEY (e) REFERENCES t (id) ON DELETE CASCADE"])
    #expect(
      try differences("ON t (B)", "ON t (c)").first?.hasPrefix("t: the index t_b is CREATE INDEX \"t_b\" ON t (c)")
        == true)
    #expect(try differences("CREATE INDEX \"t_b\" ON t (B);", "") == ["t: the index t_b is missing"])
    #expect(try differences("\(SchemaComparisonTests.rest))", "\(SchemaComparisonTests.rest)) STRICT").count == 1)
  }

  @Test func undeclaredPartsAreHarmlessUnlessTheyBlockTheModel() throws {
    #expect(try differences("e INTEGER,", "e INTEGER, x TEXT,") == ["harmless: t.x: the column is not expected"])
    #expect(
      try differences("e INTEGER,", "e INTEGER, x TEXT NOT NULL DEFAULT 1,") == [
        "harmless: t.x: the column is not expected"
      ])
    #expect(try differences("e INTEGER,", "e INTEGER, x TEXT NOT NULL,") == ["t.x: the column is not expected"])
    #expect(
      try differences("CREATE INDEX t_c", "CREATE INDEX x ON t (a); CREATE INDEX t_c") == [
        "harmless: t: the index x is not expected"
      ])
    #expect(
      try differences("CREATE INDEX t_c", "CREATE UNIQUE INDEX x ON t (b); CREATE INDEX t_c") == [
        "t: the index x is not expected"
      ])
    // Constraints of extra columns, which rows without values for these columns satisfy.
    #expect(
      try differences("e INTEGER,", "e INTEGER, x TEXT UNIQUE CHECK (x <> ''), y INTEGER REFERENCES t (id),") == [
        "harmless: t.x: the column is not expected", "harmless: t.y: the column is not expected",
        "harmless: t: the UNIQUE constraint is not expected: UNIQUE (x)",
        "harmless: t: the CHECK constraint is not expected: CHECK (x <> '')",
        "harmless: t: the foreign key is not expected: FOREIGN KEY (y) REFERENCES t (id)",
      ])
    #expect(
      try differences("CREATE INDEX t_c", "ALTER TABLE t ADD x; CREATE UNIQUE INDEX i ON t (x, a); CREATE INDEX t_c")
        == ["harmless: t.x: the column is not expected", "harmless: t: the index i is not expected"])
    #expect(
      try differences("e INTEGER,", "e INTEGER, x INTEGER DEFAULT 1 UNIQUE,") == [
        "harmless: t.x: the column is not expected", "t: the UNIQUE constraint is not expected: UNIQUE (x)",
      ])
    // A unique index satisfies the constraint.
    #expect(
      try differences(
        "UNIQUE (a), CHECK (b > 0), \(SchemaComparisonTests.rest));",
        "CHECK (b > 0), \(SchemaComparisonTests.rest)); CREATE UNIQUE INDEX x ON t (a);")
        == ["harmless: t: the index x is not expected"])
  }

  @Test func everyModelOfTheTestsAgreesWithTheTableThatItCreates() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let models: [any Sqlable.Type] = [
        Person.self, Bicycle.self, Account.self, Payment.self, Car.self, Entry<Own>.self,
      ]
      for model in models { try create(model, db) }
      #expect(try Schema(models).differences(db) == [])
      try Schema(models).verify(db)
    }
  }

  private func create(_ model: (some Sqlable).Type, _ db: SqliteDatabase) throws {
    try db.createTable(model)
    #expect(try db.createTable(model).isEmpty)
  }

  @Test func aMissingTableAndAViewInItsPlaceAreReported() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      #expect(try Schema(Bicycle.self).differences(db).map(\.description) == ["bicycle: the table is missing"])
      try db.execute("CREATE VIEW bicycle AS SELECT 1 AS id")
      let error = sqlError { try Schema(Bicycle.self).verify(db) }
      #expect(
        error?.message == """
          the database differs from the models: \
          bicycle: the table is CREATE VIEW bicycle AS SELECT 1 AS id, and should be a table
          """)
    }
  }

  @Test func severalTablesAreCreatedInTheOrderOfTheirReferences() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      #expect(try db.createTables(Bicycle.self, Person.self).map(\.table) == ["person", "bicycle"])
      let models: [any Sqlable.Type] = [Bicycle.self, Person.self]
      #expect(try db.createTables(models).map(\.isEmpty) == [true, true])
      #expect(try Schema(models).create(db).map(\.isEmpty) == [true, true])
    }
  }
}
