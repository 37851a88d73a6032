import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Invoice: Sqlable {
  let id: Int?
  var number: String

  static let id = Column("id", .integer, PrimaryKey())
  static let number = Column("number", .text)
  static let tableLayout = [id, number]
  static let tableIndexes = [Index(number, unique: true, name: "by_number")]

  func write(to row: inout RowWriter) throws {
    row.set(Invoice.id, id)
    row.set(Invoice.number, number)
  }

  init(row: ReadRow) throws {
    id = try row.get(Invoice.id)
    number = try row.get(Invoice.number)
  }
}

/// The examples of Docs/Schema.md on existing tables.
@Suite struct SchemaChangesGuide {
  @Test func newColumnsOfAModelAreAdded() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, weight REAL,
          color TEXT NOT NULL DEFAULT 'black', UNIQUE (name, color))
        """)
      let change = try db.createTable(Bicycle.self)
      // SchemaChange(table: "bicycle", createdTable: false, addedColumns: ["owner_id"],
      //   addedIndexes: ["bicycle_color"], addedTriggers: [], builtFullText: false)
      #expect(
        "\(change)".hasSuffix(
          """
          addedColumns: ["owner_id"], addedIndexes: ["bicycle_color"], addedTriggers: [], builtFullText: false)
          """))
      #expect(change.addedColumns == ["owner_id"])
      #expect(change.addedIndexes == ["bicycle_color"])
      #expect(try db.createTable(Bicycle.self).isEmpty)
      let columns = try db.query("SELECT name FROM pragma_table_info('bicycle')", as: String.self)
      #expect(columns == ["id", "name", "weight", "color", "owner_id"])
    }
  }

  @Test func aModelHasSeveralTables() throws {
    try withDatabase { db in
      try db.createTable(Invoice.self, named: "archive")
      let schema = Schema(Invoice.self).adding(Invoice.self, named: "archive")
      try schema.plan(db).apply(db)
      let indexes = try db.query(
        "SELECT sql FROM sqlite_schema WHERE type = 'index' ORDER BY name DESC", as: String.self)
      #expect(
        indexes == [
          #"CREATE UNIQUE INDEX "by_number" ON "invoice" ("number")"#,
          #"CREATE UNIQUE INDEX "archive_by_number" ON "archive" ("number")"#,
        ])
      try schema.verify(db)
      #expect(try Invoice.read().in("archive").run(db).isEmpty)
    }
  }

  @Test func aTableThatDiffersIsRefused() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
          color TEXT NOT NULL DEFAULT 'black', owner_id INTEGER REFERENCES person (id) ON DELETE SET NULL)
        """)
      let message = """
        createTable can't bring existing tables up to date: bicycle: the UNIQUE constraint is missing: \
        UNIQUE (name, color); change the tables with a plan or a migration
        """
      #expect(sqlError { try db.createTable(Bicycle.self) }?.message == message)
      let schema = Schema(Bicycle.self)
      try schema.plan(db).apply(db)
      #expect(try db.createTable(Bicycle.self).isEmpty)
    }
  }

  @Test func aServiceOpensItsPoolWithItsSchema() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/bikes.sqlite"
      let schema = Schema(Person.self, Bicycle.self)
      let pool = try await SqlitePool(filepath: path, schema: schema)  // as schema.create(pool)
      let count = try await Bicycle.count().run(pool)
      #expect(count == 0)
      try await pool.close(within: .seconds(5))
    }
  }

  @Test func aVersionInTheFileDrivesMigrations() throws {
    func migrate(_ db: SqliteDatabase) throws {
      try db.transaction { db in
        let version = try db.userVersion()  // 0 in a new file, which createTable fills
        if version == 1 { try db.execute("ALTER TABLE bicycle RENAME COLUMN colour TO color") }
        if (1...2).contains(version) { try db.execute("UPDATE bicycle SET color = lower(color)") }
        try db.createTable(Bicycle.self)
        try db.setUserVersion(3)
      }
    }
    for version in 0...3 {
      try withDatabase { db in
        if version > 0 {
          let color = version == 1 ? "colour" : "color"
          try db.execute(
            SQL(
              verbatim: """
                CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
                  \(color) TEXT NOT NULL DEFAULT 'black', UNIQUE (name, \(color)));
                INSERT INTO bicycle VALUES (1, 'Norco', 'Red')
                """))
          try db.setUserVersion(version)
        }
        try migrate(db)
        try migrate(db)
        #expect(try db.userVersion() == 3)
        let colors = [[], ["red"], ["red"], ["Red"]][version]
        #expect(try Bicycle.read().run(db).map(\.color) == colors)
      }
    }
  }

  @Test func impossibleAdditionsThrow() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
      let error = sqlError { try db.createTable(Person.self) }
      let message = """
        createTable can't bring existing tables up to date: column person.name can't be added to the existing table: \
        it can't be NULL and has no default for existing rows; person: the primary key is PRIMARY KEY (id), and should \
        be PRIMARY KEY (id) AUTOINCREMENT; change the tables with a plan or a migration
        """
      #expect(error?.kind == .schema(.mismatch(message)))
      #expect(error?.table == "person")
      #expect(error?.column == "name")
    }
  }
}
