import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Painted: TableDeclaration {
  static let id = Column("id", .integer, PrimaryKey())
  static let color = Column("color", .text)
  static let size = Column("size", .nullable(.integer))
  static let columns = [id, color, size]
  static let constraints: [TableConstraint] = [Unique(color, size), Check("size > 0")]
  static let indexes = [Index(size)]
}

private enum Owned: TableDeclaration {
  static let name = "owned"
  static let id = Column("id", .integer, PrimaryKey())
  static let owner = Column("owner", .nullable(.integer), ForeignKey<Entry<Painted>>())
  static let columns = [id, owner]
}

/// Tests that `createTable` refuses a table that it can't bring into accordance with its model.
@Suite struct CreateTableDriftTests {
  private static let problem = "createTable can't bring existing tables up to date: "
  private static let remedy = "; change the tables with a plan or a migration"

  /// Returns the differences that `createTable` refuses; nil if it succeeds. The database must agree with the model
  /// after a success, and be unchanged after an error.
  private func drift(_ create: SQL, _ model: any Sqlable.Type = Entry<Painted>.self) throws -> String? {
    var message: String?
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(create)
      let before = try db.schema()
      let error = sqlError { try db.createTables([model]) }
      guard let error else { return try Schema([model]).verify(db) }
      #expect(try db.schema() == before)
      #expect(error.kind == .schema(.mismatch(error.message)))
      #expect(error.table == model.tableName)
      #expect(error.message.hasPrefix(CreateTableDriftTests.problem))
      #expect(error.message.hasSuffix(CreateTableDriftTests.remedy))
      message = String(
        error.message.dropFirst(CreateTableDriftTests.problem.count).dropLast(CreateTableDriftTests.remedy.count))
    }
    return message
  }

  @Test func everyDifferenceIsListed() throws {
    #expect(
      try drift("CREATE TABLE t (id INTEGER, color INTEGER)") == """
        t.color: the type is INTEGER, and should be TEXT; t.color: the NOT NULL is not set, and should be set; \
        t: the primary key is missing, and should be PRIMARY KEY (id); \
        t: the UNIQUE constraint is missing: UNIQUE (color, size); t: the CHECK constraint is missing: CHECK (size > 0)
        """)
    #expect(
      try drift("CREATE TABLE owned (id INTEGER PRIMARY KEY, owner INTEGER)", Entry<Owned>.self)
        == "owned: the foreign key is missing: FOREIGN KEY (owner) REFERENCES t (id)")
  }

  @Test func likelyRenameNamesBothColumns() throws {
    #expect(
      try drift(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, paint TEXT NOT NULL DEFAULT 'red', width INTEGER, note BLOB,
          color TEXT NOT NULL, size INTEGER, CHECK (size > 0), UNIQUE (color, size))
        """) == nil)
    #expect(
      try drift("CREATE TABLE owned (id INTEGER PRIMARY KEY, person INTEGER, note TEXT)", Entry<Owned>.self)
        == "column owned.owner is missing, and might be the new name of person")
    #expect(
      try drift("CREATE TABLE t (id INTEGER PRIMARY KEY, paint TEXT NOT NULL, size INTEGER)")?.hasPrefix(
        """
        column t.color can't be added to the existing table: it can't be NULL and has no default for existing rows, \
        and might be the new name of paint; t.paint: the column is not expected; t: the UNIQUE
        """) == true)
  }

  @Test func planAddsAColumnThatIsNoRename() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Painted>.self)
      try db.execute("CREATE TABLE owned (id INTEGER PRIMARY KEY, person INTEGER)")
      let schema = Schema(Entry<Owned>.self)
      try schema.plan(db).apply(db)
      #expect(try db.schema()[table: "owned"]?.columns.map(\.name) == ["id", "person", "owner"])
      #expect(try schema.create(db).map(\.isEmpty) == [true])
    }
  }

  @Test func tableOfANewerReleaseIsAccepted() throws {
    let newer: SQL = """
      CREATE TABLE t (id INTEGER PRIMARY KEY, color TEXT NOT NULL, size INTEGER,
        serial TEXT UNIQUE CHECK (serial <> ''), weight REAL NOT NULL DEFAULT 1, ends INTEGER,
        maker INTEGER REFERENCES t (id), UNIQUE (color, size), CHECK (size > 0), CHECK (ends > size));
      CREATE INDEX t_weight ON t (weight);
      CREATE UNIQUE INDEX t_ends ON t (ends, color);
      """
    #expect(try drift(newer) == nil)
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(newer)
      let schema = Schema(Entry<Painted>.self)
      try db.createTable(Entry<Painted>.self)
      #expect(try schema.plan(db).isEmpty)
      // The older release writes rows.
      for size in [1, 2, 3] as [DatabaseValue] { try Entry<Painted>(nil, "red", size).insert().run(db) }
      #expect(try Entry<Painted>.count().run(db) == 3)
    }
  }

  @Test(arguments: ["CHECK (size > 0 AND ends > size)", "CHECK (legacy < size)", "CHECK (ends IS NOT size)"])
  func aCheckThatRowsOfTheModelCanViolateIsADifference(_ check: String) throws {
    let table = """
      CREATE TABLE t (id INTEGER PRIMARY KEY, color TEXT NOT NULL, size INTEGER, ends INTEGER,
        legacy INTEGER NOT NULL DEFAULT 5, UNIQUE (color, size), CHECK (size > 0), \(check))
      """
    #expect(try drift(SQL(verbatim: table))?.contains("the CHECK constraint is not expected") == true)
  }

  @Test func noTableIsCreatedIfAnotherDiffers() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute("CREATE TABLE owned (id INTEGER PRIMARY KEY, owner TEXT)")
      let error = sqlError { try db.createTables(Entry<Painted>.self, Entry<Owned>.self) }
      #expect(error?.table == "owned")
      #expect(error?.column == "owner")
      #expect(try db.schema().tables.map(\.name) == ["owned"])
    }
  }

  @Test func viewInPlaceOfATableIsRefused() throws {
    #expect(
      try drift("CREATE VIEW t AS SELECT 1 AS id")
        == "t: the table is CREATE VIEW t AS SELECT 1 AS id, and should be a table"
    )
  }
}
