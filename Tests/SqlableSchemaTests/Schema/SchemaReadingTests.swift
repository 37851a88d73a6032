import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests that the parsed schema agrees with SQLite's pragmas.
@Suite struct SchemaReadingTests {
  /// Table definitions in foreign styles.
  private static let tables = [
    "CREATE TABLE plain (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT NOT NULL, c)",
    """
    CREATE TABLE "o'd""d name" \
    ([select] VARCHAR(10, 2) DEFAULT 'it''s', `b c` DOUBLE PRECISION, 'd' -- a comment, with )
    , e NUMERIC /* and, another ( */ CHECK (e > 0 AND "b c" <> ')') )
    """,
    "CREATE TABLE keys (a TEXT, b INT, c BLOB, PRIMARY KEY (b DESC, a COLLATE NOCASE), UNIQUE (c) ON CONFLICT REPLACE)",
    "CREATE TABLE rows (a TEXT PRIMARY KEY ON CONFLICT IGNORE, b ANY) WITHOUT ROWID, STRICT",
    """
    CREATE TABLE defaults (a DEFAULT -1, b DEFAULT (1 + (2)), c DEFAULT CURRENT_TIMESTAMP, d DEFAULT x'00', \
    e DEFAULT NULL, f DEFAULT 'a,b)', g DEFAULT 1.5e-3, h TEXT DEFAULT "b" NOT NULL)
    """,
    "CREATE TABLE made (a INT, b INT AS (a + 1) UNIQUE, c TEXT GENERATED ALWAYS AS (a || ')') STORED)",
    """
    CREATE TABLE refers \
    (a INT CONSTRAINT own REFERENCES plain ON DELETE CASCADE ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED, \
    b INT REFERENCES plain (a) MATCH FULL NOT DEFERRABLE NOT NULL, \
    c, \
    d, \
    e REFERENCES plain NOT NULL DEFERRABLE INITIALLY DEFERRED, \
    f NOT DEFERRABLE, \
    CONSTRAINT two FOREIGN KEY (c, d) REFERENCES keys (b, a) ON DELETE SET DEFAULT CHECK (c) \
    CONSTRAINT last UNIQUE (d))
    """,
    "CREATE TABLE copied AS SELECT 1 AS x, 'y' AS \"y z\"",
  ]

  private func withTables(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      for table in SchemaReadingTests.tables {
        try db.execute(SQL(verbatim: table.replacing(#"DEFAULT "b""#, with: "DEFAULT 'b'")))
      }
      try body(db)
    }
  }

  @Test func schemaStatementsRecreateTheSchema() throws {
    try withTables { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        """
        CREATE INDEX plain_b ON plain (b) WHERE c IS NOT NULL;
        CREATE VIEW seen AS SELECT a, b FROM plain;
        CREATE TRIGGER on_seen INSTEAD OF INSERT ON seen BEGIN INSERT INTO plain (b) VALUES (new.b); END;
        CREATE TRIGGER on_plain AFTER DELETE ON plain BEGIN DELETE FROM rows WHERE a = old.b; END
        """)
      let schema = try db.schema()
      try withDatabase { (copy: SqliteDatabase) throws -> Void in
        for statement in schema.statements { try copy.execute(SQL(verbatim: statement)) }
        #expect(try copy.schema() == schema)
      }
    }
  }

  @Test func columnsMatchThePragma() throws {
    try withTables { (db: SqliteDatabase) throws -> Void in
      try db.execute("ALTER TABLE plain ADD COLUMN added TEXT COLLATE NOCASE DEFAULT 'x' REFERENCES keys (b)")
      try db.execute("ALTER TABLE defaults RENAME COLUMN a TO \"new name\"")
      let schema = try db.schema()
      #expect(schema.tables.count == SchemaReadingTests.tables.count)
      for table in schema.tables {
        let rows = try db.query("PRAGMA table_xinfo(\(table: table.name))") { row in
          (
            name: try row.get("name", as: String.self), type: try row.get("type", as: String.self),
            notNull: try row.get("notnull", as: Bool.self), value: try row.get("dflt_value", as: String?.self),
            key: try row.get("pk", as: Int.self), hidden: try row.get("hidden", as: Int.self)
          )
        }
        #expect(table.columns.map(\.name) == rows.map(\.name))
        for (column, row) in zip(table.columns, rows) {
          #expect(column.type == SchemaText(row.type), "\(table.name).\(column.name)")
          #expect(column.isNotNull == row.notNull || table.isWithoutRowid, "\(table.name).\(column.name)")
          #expect(column.defaultValue == row.value.map { SchemaText($0) }, "\(table.name).\(column.name)")
          #expect((column.generated != nil) == (row.hidden > 1))
        }
        let key = rows.filter { $0.key > 0 }.sorted { $0.key < $1.key }.map { SchemaText($0.name) }
        #expect(table.primaryKey?.columns.map(\.expression) ?? [] == key)
      }
    }
  }

  @Test func constraintsAreRead() throws {
    try withTables { (db: SqliteDatabase) throws -> Void in
      let schema = try db.schema()
      let keys = try #require(schema[table: "KEYS"])
      #expect(keys.primaryKey?.columns.map(\.isDescending) == [true, false])
      #expect(keys.primaryKey?.columns.map(\.collation) == [nil, "nocase"])
      #expect(keys.uniques.map(\.onConflict) == ["replace"])
      let rows = try #require(schema[table: "rows"])
      #expect(rows.isStrict)
      #expect(rows.isWithoutRowid)
      #expect(rows.primaryKey?.onConflict == "ignore")
      let refers = try #require(schema[table: "refers"])
      #expect(refers.foreignKeys.map(\.table) == ["plain", "plain", "plain", "keys"])
      #expect(refers.foreignKeys.map(\.references) == [[], ["a"], [], ["b", "a"]])
      #expect(refers.foreignKeys.map(\.onDelete) == [.cascade, .noAction, .noAction, .setDefault])
      #expect(refers.foreignKeys.map(\.onUpdate) == [.setNull, .noAction, .noAction, .noAction])
      #expect(refers.foreignKeys.map(\.isDeferred) == [true, false, false, false])
      #expect(refers.foreignKeys.map(\.name) == ["own", nil, nil, "two"])
      #expect(refers.checks.map(\.expression) == ["c"])
      #expect(refers.uniques.map(\.name) == ["last"])
      #expect(refers[column: "B"]?.isNotNull == true)
      try db.execute("CREATE TABLE late (a REFERENCES plain NOT NULL DEFERRABLE INITIALLY DEFERRED UNIQUE)")
      #expect(try db.schema()[table: "late"]?.foreignKeys.map(\.isDeferred) == [true])
      let made = try #require(schema[table: "made"])
      #expect(made[column: "b"]?.generated?.expression == "A+1")
      #expect(made[column: "b"]?.generated?.isStored == false)
      #expect(made[column: "c"]?.generated?.expression == "a || ')'")
      #expect(made[column: "c"]?.generated?.isStored == true)
      #expect(schema[table: "plain"]?.primaryKey?.isAutoincrement == true)
      #expect(schema[table: "o'd\"d name"]?.checks.map(\.expression) == [#"e > 0 and [b c] <> ')'"#])
    }
  }

  @Test func indexesViewsAndTriggersAreRead() throws {
    try withTables { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        """
        CREATE UNIQUE INDEX "an index" ON plain (b COLLATE NOCASE DESC, length(c), c) WHERE c IS NOT NULL;
        CREATE VIEW shown AS SELECT b FROM plain;
        CREATE TRIGGER kept AFTER INSERT ON plain BEGIN DELETE FROM plain WHERE b = 'x'; END;
        CREATE TRIGGER written INSTEAD OF INSERT ON shown BEGIN SELECT 1; END;
        CREATE VIRTUAL TABLE words USING fts5(text);
        """)
      let schema = try db.schema()
      let index = try #require(schema[table: "plain"]?.indexes.first)
      #expect(index.name == "an index")
      #expect(index.isUnique)
      #expect(index.condition == "c IS NOT NULL")
      #expect(index.terms.map(\.expression) == ["b", "length(c)", "c"])
      try #require(index.terms.map(\.isDescending) == [true, false, false])
      #expect(index.terms[0].collation == "NOCASE")
      #expect(schema[table: "plain"]?.triggers.map(\.name) == ["kept"])
      try #require(schema.views.map(\.name) == ["shown"])
      #expect(schema.views[0].triggers.map(\.name) == ["written"])
      // The shadow tables of FTS5 are excluded.
      #expect(schema[table: "words"]?.module == "fts5(text)")
      #expect(schema[table: "words_data"] == nil)
      #expect(try db.tableExists("PLAIN"))
      #expect(try db.tableExists("words"))
      #expect(try !db.tableExists("shown"))
      let data = try JSONEncoder().encode(schema)
      #expect(try JSONDecoder().decode(DatabaseSchema.self, from: data) == schema)
    }
  }

  @Test func anEmptyDatabaseHasAnEmptySchema() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      #expect(try db.schema() == DatabaseSchema())
      #expect(try !db.tableExists(Bicycle.self))
      try db.createTable(Bicycle.self)
      #expect(try db.tableExists(Bicycle.self))
    }
  }

  @Test func blanksCommentsCaseAndQuotesOfNamesMakeNoDifference() {
    #expect(SchemaText("price >= 0 AND \"Name\" <> 'X'") == "PRICE>=0 and -- why\n [name]<>'X'")
    #expect(SchemaText("'X'") != "'x'")
    #expect(SchemaText("a b") != "ab")
    #expect(SchemaText("1e5") != "1e+5")
    #expect(SchemaText("a->>'$.x'") != "a->'$.x'")
  }
}
