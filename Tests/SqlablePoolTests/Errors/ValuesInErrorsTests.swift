import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Values in errors: no bound or stored value may appear in, or change, an error.
@Suite struct ValuesInErrorsTests {
  private func withTables<Result>(_ body: (SqliteDatabase) throws -> Result) throws -> Result {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.execute(
        """
        CREATE VIRTUAL TABLE ft USING fts5(title, body);
        CREATE VIRTUAL TABLE bare USING fts5(title, content='', detail='none');
        CREATE VIRTUAL TABLE old USING fts4(title, body);
        CREATE VIRTUAL TABLE box USING rtree(id, low, high);
        CREATE TABLE s (i INTEGER, u TEXT UNIQUE, c TEXT CONSTRAINT shorter CHECK (length(c) < 1),
          n TEXT NOT NULL DEFAULT '', p INTEGER REFERENCES person (id)) STRICT;
        CREATE TRIGGER refused BEFORE INSERT ON s WHEN new.i = 13 BEGIN SELECT RAISE(ABORT, 'it''s refused'); END;
        CREATE TABLE stored (path TEXT, query TEXT, value TEXT);
        INSERT INTO ft VALUES ('a', 'b');
        INSERT INTO old VALUES ('a', 'b');
        """)
      return try body(db)
    }
  }

  /// Statements that fail because of a value, or of something computed from the value.
  private static let failing: [@Sendable (String) -> SQL] = [
    { "INSERT INTO s (i) VALUES (\("x" + $0))" },
    { "INSERT INTO s (u) VALUES (\($0)), (\($0))" },
    { "INSERT INTO s (c) VALUES (\($0))" },
    { "INSERT INTO s (i, n) VALUES (13, \($0))" },
    { "INSERT INTO s (n) SELECT nullif(\($0), \($0))" },
    { "INSERT INTO s (u, p) VALUES (\($0), 77)" },
    { "INSERT INTO person (id) VALUES (\("x" + $0))" },
    { "INSERT INTO box VALUES (\($0), 2, 1)" },
    { "SELECT json(\("{" + $0))" },
    { "SELECT json_extract('{}', \($0))" },
    { "SELECT json_set('{}', \($0), 1)" },
    { "SELECT json_remove('{}', \($0))" },
    { "SELECT json_type('[]', \("$[" + $0))" },
    { "SELECT * FROM json_each('{}', \($0))" },
    { "SELECT * FROM json_tree(\("[" + $0))" },
    { "SELECT json_array(x'ff', \($0))" },
    { "SELECT json_object(x'ff', \($0))" },
    { "SELECT * FROM ft WHERE ft MATCH \("\"x\($0).title\" : x")" },
    { "SELECT * FROM ft WHERE ft MATCH \("{a \($0)} : x")" },
    { "SELECT * FROM ft WHERE ft MATCH \("- \($0)x : x")" },
    { "SELECT * FROM ft WHERE ft MATCH \("\"" + $0)" },
    { "SELECT * FROM ft WHERE ft MATCH \("\($0) AND (")" },
    { "SELECT * FROM ft WHERE ft MATCH \("\($0) ' x")" },
    { "SELECT * FROM ft WHERE ft MATCH \("NEAR(a b, \($0))")" },
    { "SELECT * FROM ft WHERE ft MATCH \("*\($0)")" },
    { "SELECT * FROM ft(\("\($0) :"))" },
    { "SELECT * FROM ft WHERE ft MATCH 'a' AND rank MATCH \($0 + "((")" },
    { "SELECT * FROM bare WHERE bare MATCH \("\"\($0) b\"")" },
    { "SELECT * FROM old WHERE old MATCH \("\"" + $0)" },
    { "SELECT * FROM old WHERE old MATCH \("(\($0) OR")" },
    { "SELECT matchinfo(old, \("q" + $0)) FROM old WHERE old MATCH 'a'" },
    { "INSERT INTO ft (ft) VALUES (\("x" + $0))" },
    { "INSERT INTO ft (ft, rank) VALUES ('rank', \($0 + "(("))" },
    { "INSERT INTO ft (ft, rank) VALUES (\("x" + $0), 1)" },
    { "INSERT INTO old (old) VALUES (\("x" + $0))" },
    { "INSERT INTO bare (bare) VALUES (iif(\($0) IS NULL, '', 'rebuild'))" },
    { "ATTACH \("/nosuch/" + $0) AS other" },
    { "ATTACH \("file:x?vfs=" + $0) AS other" },
    { "ATTACH ':memory:' AS \("a b" + $0); ATTACH ':memory:' AS \("a b" + $0)" },
    { "DETACH \("no " + $0)" },
    { "DETACH \($0)" },
    { "VACUUM INTO \("/nosuch/" + $0)" },
    { "SELECT load_extension(\("/nosuch/" + $0))" },
    { "SELECT 'a' LIKE 'b' ESCAPE \("xx" + $0)" },
    { "SELECT ntile(\($0)) OVER () FROM ft" },
    { "SELECT sum(1) OVER (ROWS \($0) PRECEDING) FROM ft" },
    { "SELECT fts3_tokenizer(\($0))" },
    { "SELECT * FROM pragma_table_info('person', \("x" + $0))" },
    { "SELECT title MATCH \($0) FROM ft" },
    { "SELECT * FROM pragma_index_list('person', \("x" + $0))" },
    { "SELECT zeroblob(2000000000) || \($0)" },
    { "SELECT abs(-9223372036854775807 - 1) || \($0)" },
    { "SELECT * FROM ft WHERE body MATCH \("title : \($0) \"")" },
    { "SELECT date(\($0)) + abs(-9223372036854775807 - 1)" },
    { "SELECT value FROM (SELECT \($0) AS value) WHERE json_extract('[]', value)" },
  ]

  /// Messages that occur for some words only.
  private static let ofSome: Set<String> = [
    "cannot detach database", "the database is locked", "no such database", "fts5: syntax error", "no such column",
  ]

  /// A search can't distinguish a value from a name of the statement with the same text. So no word may change the
  /// error.
  @Test(.needs(37, "a STRICT table")) func anErrorDoesNotDependOnTheValue() throws {
    try withTables { db in
      for make in Self.failing {
        func error(_ word: String) -> SqlError? {
          defer { try? db.execute("DETACH \("a b" + word)") }
          return sqlError { try db.execute(make(word)) }
        }
        let text = make("").text
        let first = error("hunter2zq")
        #expect(first != nil, "\(text)")
        guard let reference = first else { continue }
        #expect(!reference.message.isEmpty, "\(reference)")
        #expect(!"\(reference) \(reference.kind)".contains("hunter2zq"), "\(reference)")
        let own = text.split { !$0.isLetter && $0 != "_" }.map(String.init)
        for word in Set(own + ["title", "body", "ft", "main", "temp", "person", "rank", "x", "no", "FAIL", "near"]) {
          guard let error = error(word) else { continue }
          if Self.ofSome.contains(error.message) { continue }
          #expect(
            (error.kind, error.message, error.table, error.column)
              == (reference.kind, reference.message, reference.table, reference.column), "\(word): \(text)")
        }
      }
    }
  }

  @Test(.needs(37, "a STRICT table"), arguments: [1, 20, 300] as [UInt64])
  func noRandomValueIsQuoted(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "\"", "'", "`", "[", "]", "{", "}", "(", ")", "$", ".", ":", " : x", "*", "^", "-", " AND ", " OR ", " NOT ",
      ",", ";", " ", "\n", "\\", "%s", "%", "no such column: ", "is locked", "near ", "syntax error", "\u{301}", "é",
      "😀",
      "?vfs=", "file:", "UNIQUE constraint failed: ", "a function failed with error 1", "malformed JSON", "rank",
      "bm25(", "title", "rebuild",
    ]
    var errors = 0
    try withTables { db in
      for _ in 0..<1_500 {
        let marker = "hunter\(Int.random(in: 1_000_000..<2_000_000, using: &random))"
        var value = marker
        for _ in 0..<Int.random(in: 0..<4, using: &random) {
          let part = random.pick(parts)
          value = random.chance(50) ? value + part : part + value
        }
        let make = random.pick(Self.failing)
        guard let error = sqlError({ try db.execute(make(value)) }) else { continue }
        errors += 1
        #expect(!"\(error) \(error.kind)".contains(marker), "\(value): \(error)")
      }
    }
    #expect(errors > 1_000)
  }

  @Test(.needs(37, "a STRICT table")) func storedValuesAreNotQuoted() throws {
    try withTables { db in
      for word in ["hunter2", "path", "stored", "title"] {
        try db.execute("DELETE FROM stored; INSERT INTO stored VALUES (\(word), \("\"\(word).x\" : y"), \(word))")
        let failures: [(SQL, String)] = [
          ("SELECT json_extract('{}', path) FROM stored", "JSON path error"),
          ("SELECT json(value) FROM stored", "malformed JSON"),
          ("SELECT (SELECT count(*) FROM ft WHERE ft MATCH query) FROM stored", "no such column"),
          ("UPDATE stored SET value = json_extract('{}', path)", "JSON path error"),
          ("CREATE TABLE copy AS SELECT json_extract('{}', path) FROM stored", "JSON path error"),
          ("CREATE INDEX by_path ON stored (json_extract('{}', path))", "JSON path error"),
        ]
        for (sql, message) in failures {
          let error = expectError(.other, "\(sql.text)") { try db.execute(sql) }
          // The message of SQLite 3.45 and later.
          let newer = message == "JSON path error" ? "bad JSON path" : message
          #expect([message, newer].contains(error?.message))
          #expect(error?.table == nil)
          #expect(error?.column == nil)
        }
      }
    }
  }

  // MARK: Messages that are kept

  @Test(.needs(37, "a STRICT table")) func messagesOfSQLiteAboutTheSchemaAreKept() throws {
    try withTables { db in
      try db.execute("INSERT INTO s (u) VALUES ('taken')")
      let kept: [(SQL, SqlError.Kind, String)] = [
        ("INSERT INTO s (u) VALUES (\("taken"))", .constraint(.unique), "UNIQUE constraint failed: s.u"),
        ("INSERT INTO s (c) VALUES (\("xyz"))", .constraint(.check), "CHECK constraint failed: shorter"),
        ("INSERT INTO s (n) VALUES (NULL)", .constraint(.notNull), "NOT NULL constraint failed: s.n"),
        ("INSERT INTO s (p) VALUES (\(9))", .constraint(.foreignKey), "FOREIGN KEY constraint failed"),
        ("INSERT INTO s (i) VALUES (\("x"))", .constraint(.dataType), "cannot store TEXT value in INTEGER column s.i"),
        ("INSERT INTO s (i) VALUES (13)", .constraint(.trigger), "it's refused"),
        ("INSERT INTO box VALUES (1, 2, 1)", .constraint(.other), "rtree constraint failed: box.(low<=high)"),
        (
          "INSERT INTO bare (bare) VALUES ('rebuild')", .other,
          "'rebuild' may not be used with a contentless fts5 table"
        ),
        (
          "INSERT INTO ft (ft) VALUES ('delete-all')", .other,
          "'delete-all' may only be used with a contentless or external content fts5 table"
        ),
        ("SELECT * FROM ft WHERE ft MATCH 'a AND ('", .syntax, "fts5: syntax error"),
        ("SELECT json('{')", .other, "malformed JSON"),
        ("CREATE VIRTUAL TABLE v USING fts5(a, tokenize = 'nosuch')", .other, "no such tokenizer: nosuch"),
        ("ALTER TABLE person ADD COLUMN u UNIQUE", .other, "Cannot add a UNIQUE column"),
        ("INSERT INTO ft (ft) VALUES ('nosuch')", .other, "SQL logic error"),
      ]
      for (sql, kind, message) in kept {
        let error = expectError(kind, "\(sql.text)") { try db.execute(sql) }
        #expect(error?.message == message)
      }
      try db.execute("CREATE VIEW names AS SELECT name FROM person")
      let altered = sqlError { try db.execute("ALTER TABLE person DROP COLUMN name") }
      #expect(altered?.message.contains("error in view names after drop column: no such column: name") == true)
    }
  }

  @Test(arguments: [
    "RAISE(ABORT, /* why */ 'it''s refused')",
    "RAISE(ABORT /* 'no' */, 'it''s refused' -- )\n )",
    "raise -- why\n (/**/ FAIL, 'it''s refused')",
    "iif('RAISE(ABORT, ''no'')' = 1, 0, RAISE(ABORT,'it''s refused'))",
  ])
  func aTriggersLiteralMessageIsKept(raise: String) throws {
    for place in ["", "TEMP "] {
      try withDatabase { db in
        try db.execute("CREATE TABLE t (i INTEGER)")
        try db.execute(
          SQL(verbatim: "CREATE \(place)TRIGGER refused BEFORE INSERT ON t BEGIN SELECT \(raise); END"))
        let error = expectError(.constraint(.trigger)) { try db.execute("INSERT INTO t VALUES (1)") }
        #expect(error?.message == "it's refused")
      }
    }
  }

  @Test(.needs(47, "RAISE with an expression")) func aTriggersComputedMessageIsNotQuoted() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE t (x TEXT);
        CREATE TRIGGER refused BEFORE INSERT ON t BEGIN
          SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed' || new.x);
        END
        """)
      let error = expectError(.constraint(.trigger)) { try db.execute("INSERT INTO t VALUES (\(": hunter2"))") }
      #expect(error?.message == "constraint failed")
    }
  }

  /// SQLite recompiles the statement after the schema change. The error of the run names the missing table or column.
  @Test(.needs(37, "a STRICT table")) func aTableOrColumnRenamedMeanwhileIsNamed() throws {
    try withTables { db in
      let read: SQL = "SELECT name FROM person WHERE name > \("title")"
      _ = try db.query(read, as: String.self)
      let other = try db.createChild()
      try other.execute("ALTER TABLE person RENAME COLUMN name TO title")
      let column = expectError(.schema(.missingColumn("name"))) { _ = try db.query(read, as: String.self) }
      #expect(column?.column == "name")
      #expect(column?.message == "no such column: name")
      try other.execute("ALTER TABLE person RENAME TO people")
      expectError(.schema(.missingTable("person"))) { _ = try db.query(read, as: String.self) }
    }
  }

  // MARK: Codes

  @Test(.needsPlainFiles("with a key no file is another format")) func aFutureFileFormatIsNotADatabase()
    throws
  {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: .delete))
      try db.execute("CREATE TABLE t (x)")
      try db.close()
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      try file.seek(toOffset: 44)
      try file.write(contentsOf: Data([0, 0, 0, 9]))
      try file.close()
      let error = expectError(.notADatabase) {
        let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: .delete))
        _ = try db.query("SELECT x FROM t", as: Int.self)
      }
      #expect(error?.message == "unsupported file format")
    }
  }

  @Test(.needsPlainFiles("ATTACH in SQL gives no key")) func attachErrorsNameTheirReason() throws {
    try withDirectory { directory in
      let pool = try newPool(in: directory)
      let path = directory + "/new.sqlite"
      let error = expectError(.cannotOpen) { try pool.withWriter { try $0.execute("ATTACH \(path) AS new") } }
      #expect(error?.message.contains("can't create a file with ATTACH") == true)
      try SqliteDatabase(filepath: path).close()
      try pool.withWriter { try $0.execute("ATTACH \(path) AS new; DETACH new") }
      // The path exists, but is a directory.
      let found = expectError(.cannotOpen) { try pool.withWriter { try $0.execute("ATTACH \(directory) AS other") } }
      #expect(found?.message.contains("the file can't be opened or does not exist") == true)
      try pool.close()
    }
  }
}
