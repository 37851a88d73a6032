import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// Databases made by other programs, and the limits of an untrusted schema.
@Suite struct TrustedSchemaTests {
  private static let schema: SQL = """
    CREATE TABLE checked (doc TEXT CHECK (json_valid(doc) AND json_extract(doc, '$.a') > 0));
    CREATE TABLE generated (doc TEXT, a AS (json_extract(doc, '$.a')) STORED, b AS (doc ->> '$.b'));
    CREATE TABLE plain (id INTEGER PRIMARY KEY, doc TEXT);
    CREATE INDEX by_a ON plain (json_extract(doc, '$.a'));
    CREATE VIEW parts AS SELECT plain.id, json_each.value FROM plain, json_each(plain.doc, '$.list');
    CREATE TABLE tags (plain INTEGER, tag TEXT);
    CREATE VIRTUAL TABLE place USING rtree(id, low, high);
    CREATE TRIGGER tagged AFTER INSERT ON plain BEGIN
      INSERT INTO tags SELECT new.id, value FROM json_each(new.doc, '$.list');
      INSERT INTO place VALUES (new.id, 0, 1);
    END
    """

  /// Calls `body` with the path of a database with this schema.
  private func withForeignDatabase(_ body: (String) throws -> Void) throws {
    try withDirectory { directory in
      let path = directory + "/foreign.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.execute(Self.schema)
      try db.close()
      try body(path)
    }
  }

  private static let uses: [SQL] = [
    "INSERT INTO checked VALUES ('{\"a\": 1}')",
    "SELECT * FROM checked",
    "INSERT INTO generated (doc) VALUES ('{\"a\": 1, \"b\": 2}')",
    "SELECT a, b FROM generated",
    "INSERT INTO plain (doc) VALUES ('{\"a\": 1, \"list\": [1, 2]}')",
    "SELECT id FROM plain WHERE json_extract(doc, '$.a') = 1",
    "SELECT * FROM parts",
    "SELECT * FROM tags",
  ]

  @Test(.needs(38, "->>")) func foreignSchemasWorkByDefault() throws {
    try withForeignDatabase { path in
      let db = try SqliteDatabase(filepath: path)
      for use in Self.uses { try db.execute(use) }
      #expect(try db.query("SELECT a + b FROM generated", as: Int.self) == [3])
      #expect(try db.query("SELECT value FROM parts ORDER BY value", as: Int.self) == [1, 2])
      #expect(try db.query("SELECT tag FROM tags ORDER BY tag", as: String.self) == ["1", "2"])
      expectError(.constraint(.check)) { try db.execute("INSERT INTO checked VALUES ('{\"a\": 0}')") }
      let pool = try SqlitePool(filepath: path)
      #expect(try pool.read { try $0.query("SELECT count(*) FROM parts", as: Int.self) } == [2])
      try pool.close()
    }
  }

  /// True for versions that always refuse JSON functions and R*Tree tables. Newer versions mark them as innocuous, and
  /// 3.34 does not check every place.
  private static let isCertain = SQLiteLibrary.isAtLeast(40) && !SQLiteLibrary.isAtLeast(46)

  private func expectRefusal(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
    guard let error = sqlError(body) else {
      #expect(!Self.isCertain, sourceLocation: sourceLocation)
      return
    }
    #expect(error.message.hasPrefix("unsafe use of "))
    #expect(error.message.contains("trustsSchema: true"))
    #expect(error.kind == .schema(.mismatch(error.message)), "\(error)")
  }

  private static let strict = Configuration(trustsSchema: false)

  /// SQLite compiles checks, indexes and generated columns with the schema, so the first statement after opening fails.
  @Test(.needs(38, "->>")) func aRefusedTableNamesTheSettingAndIsNotCorruption() throws {
    try withForeignDatabase { path in
      expectRefusal {
        let db = try SqliteDatabase(filepath: path, configuration: Self.strict)
        _ = try db.query("SELECT * FROM checked", as: String.self)
      }
      expectRefusal { _ = try SqlitePool(filepath: path, configuration: .init(handles: Self.strict)) }
    }
  }

  @Test func refusedViewsAndTriggersLeaveOtherTablesUsable() throws {
    try withDirectory { directory in
      let path = directory + "/foreign.sqlite"
      try SqliteDatabase(filepath: path).execute(
        """
        CREATE TABLE plain (id INTEGER PRIMARY KEY, doc TEXT);
        INSERT INTO plain VALUES (1, '{"list": [1, 2]}');
        CREATE VIEW parts AS SELECT plain.id, json_each.value FROM plain, json_each(plain.doc, '$.list');
        CREATE VIEW lengths AS SELECT json_array_length(doc, '$.list') AS count FROM plain;
        CREATE VIRTUAL TABLE place USING rtree(id, low, high);
        CREATE TRIGGER placed AFTER INSERT ON plain BEGIN INSERT INTO place VALUES (new.id, 0, 1); END;
        """)
      let (view, trigger): (SQL, SQL) = ("SELECT * FROM lengths", "INSERT INTO plain (doc) VALUES ('{}')")
      let db = try SqliteDatabase(filepath: path, configuration: Self.strict)
      expectRefusal { try db.execute(view) }
      expectRefusal { try db.execute(trigger) }
      #expect(try db.query("SELECT value FROM parts WHERE id = 1", as: Int.self) == [1, 2])
      #expect(try db.query("PRAGMA trusted_schema", as: Bool.self) == [false])
      #expect(try db.createChild().query("PRAGMA trusted_schema", as: Bool.self) == [false])
      // A reader stays usable after a refusal.
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: Self.strict, readers: 1))
      expectRefusal { try pool.read { try $0.execute(view) } }
      expectRefusal { try pool.transaction { try $0.execute(trigger) } }
      #expect(try pool.read { try $0.query("SELECT id FROM plain", as: Int.self) }.first == 1)
      try pool.close()
    }
  }

  /// Trust covers only SQLite's functions. A program's function sets `isAllowedInSchema` to be callable from a schema.
  @Test(arguments: [true, false])
  func aSchemaCannotCallAFunctionNotAllowedInSchema(isTrusted: Bool) throws {
    try withDatabase(Configuration(trustsSchema: isTrusted)) { db in
      let calls = Mutex(0)
      func make(_ name: String, isAllowed: Bool) -> ScalarFunction<Int, Int> {
        ScalarFunction(name, isDeterministic: true, isAllowedInSchema: isAllowed) { (value: Int) in
          calls.withLock { $0 += 1 }
          return value
        }
      }
      try db.register(make("secret", isAllowed: false))
      try db.register(make("open", isAllowed: true))
      try db.execute(
        """
        CREATE TABLE a (x INTEGER);
        CREATE VIEW calling AS SELECT secret(x) FROM a;
        CREATE VIEW allowed AS SELECT open(x) FROM a;
        CREATE TRIGGER sends AFTER DELETE ON a BEGIN SELECT secret(old.x); END;
        INSERT INTO a VALUES (1);
        """)
      for sql in ["SELECT * FROM calling", "DELETE FROM a", "CREATE TABLE b (x CHECK (secret(x)))"] as [SQL] {
        let error = expectSqlError { try db.execute(sql) }
        #expect(error?.kind != .corrupt, "\(String(describing: error))")
        #expect(error?.message.contains("secret") == true, "\(String(describing: error))")
      }
      let viewed = sqlError { try db.execute("SELECT * FROM calling") }
      #expect(viewed?.message.contains("isAllowedInSchema: true") == true)
      #expect(calls.withLock { $0 } == 0)
      #expect(try db.query("SELECT * FROM allowed", as: Int.self) == [1])
    }
  }
}
