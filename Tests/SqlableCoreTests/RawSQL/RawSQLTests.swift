import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct RawSQLTests {
  private func people(_ db: SqliteDatabase) throws {
    try db.createTable(Person.self)
    try Person.insert(["Ann", "Bob", "Cid"].map { Person(id: nil, name: $0) }).run(db)
  }

  private func names(_ db: SqliteDatabase) throws -> [String] {
    try Person.read().orderBy(Person.id).run(db).map(\.name)
  }

  // MARK: Reading

  @Test func columnsAreFoundByNameIgnoringCase() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE person (NAME TEXT, Id INTEGER PRIMARY KEY)")
      try Person(id: 1, name: "Anna").insert().run(db)
      let found = try db.query("SELECT * FROM person", as: Person.self)
      #expect(found == [Person(id: 1, name: "Anna")])
    }
  }

  @Test func rowsAreReadAsModelsValuesOrByAClosure() throws {
    try withDatabase { db in
      try people(db)
      let models = try db.query("SELECT name, id, 7 AS extra FROM person WHERE id >= \(2) ORDER BY id", as: Person.self)
      #expect(models == [Person(id: 2, name: "Bob"), Person(id: 3, name: "Cid")])
      #expect(try db.query("SELECT name FROM person ORDER BY id", as: String.self) == ["Ann", "Bob", "Cid"])
      #expect(try db.query("SELECT NULL UNION ALL SELECT 1", as: Int?.self) == [nil, 1])
      let pairs = try db.query("SELECT id, name AS n FROM person ORDER BY id LIMIT 2") { row in
        "\(try row.get(at: 0, as: Int.self)) \(try row.get("n", as: String.self))"
      }
      #expect(pairs == ["1 Ann", "2 Bob"])
      #expect(try db.query("SELECT 1 WHERE 0", as: Int.self) == [])
    }
  }

  @Test func mismatchedValuesAreReported() throws {
    try withDatabase { db in
      try people(db)
      for text: SQL in ["SELECT NULL", "SELECT 'x'", "SELECT 1.5", "SELECT x'00'"] {
        let error = expectSqlError { _ = try db.query(text, as: Int.self) }
        #expect(error?.message.contains("should hold") == true)
        #expect(error?.code == 0)
      }
      let missing = expectError(.schema(.missingColumn("name"))) {
        _ = try db.query("SELECT id FROM person", as: Person.self)
      }
      #expect(missing?.sql == "SELECT id FROM person")
    }
  }

  @Test func useOfARowAfterItsQueryIsMisuse() throws {
    try withDatabase { db in
      try people(db)
      let rows = try db.query("SELECT name FROM person") { $0 }
      for row in rows { expectMisuse { _ = try row.get(at: 0, as: String.self) } }
    }
  }

  // MARK: Binding

  static let hostile = [
    "'; DROP TABLE person; --", "\"", "''", "\\", "?", "?1", ":a", "@a", "$a", "", " ", "\0", "a\0b", "%", "_",
    "ünï©ode 🚲", "\u{FEFF}", "\u{202E}", "e\u{301}", "Robert\"); DROP TABLE person;--", "/*", "--", "\n", "\r\n",
    String(repeating: "x", count: 100_000),
  ]

  @Test(arguments: hostile.indices)
  func interpolatedTextIsBoundUnchanged(index: Int) throws {
    let text = RawSQLTests.hostile[index]
    try withDatabase { db in
      try people(db)
      try db.execute("INSERT INTO person(id, name) VALUES (\(4), \(text))")
      let stored = try db.query("SELECT name FROM person WHERE name = \(text)", as: String.self)
      #expect(stored.map { Array($0.utf8) } == [Array(text.utf8)])
      try db.execute("UPDATE person SET name = \(text) || 'x' WHERE name = \(text)")
      #expect(try db.query("SELECT count(*) FROM person", as: Int.self) == [4])
    }
  }

  @Test func everyStorageClassIsBound() throws {
    try withDatabase { db in
      try people(db)
      let (number, none): (Int, Int?) = (.min, nil)
      let blob = Data([0, 255])
      let classes = try db.query(
        """
        SELECT typeof(\(number)) || typeof(\(1.5)) || typeof(\("t")) || typeof(\(blob)) || typeof(\(none)) \
        || typeof(\(true)) || typeof(\(DatabaseValue.null)) || typeof(\(Data()))
        """, as: String.self)
      #expect(classes == ["integerrealtextblobnullintegernullblob"])
      let table = #"odd "name"; --"#
      try db.execute("CREATE TABLE \(table: table) (\(column: "group") TEXT)")
      try db.execute("INSERT INTO \(table: table) VALUES (\("x"))")
      #expect(try db.query("SELECT \(column: "group") FROM \(table: table)", as: String.self) == ["x"])
    }
  }

  @Test func aValueThatCannotBeStoredIsRefusedBeforeAnythingRuns() throws {
    try withDatabase { db in
      try people(db)
      expectSqlError { try db.execute("DELETE FROM person; SELECT \(Double.nan)") }
      expectSqlError { _ = try db.query("SELECT \(UInt64.max)", as: Int.self) }
      #expect(try Person.count().run(db) == 3)
    }
  }

  /// In quotes, SQLite sees no parameter: `'?'` is a text of one character.
  @Test func aValueInQuotesOrACommentIsRefused() throws {
    try withDatabase { db in
      try people(db)
      let name = "Eve"
      let texts: [SQL] = [
        "UPDATE person SET name = '\(name)'", "UPDATE person SET name = \(name) WHERE name = '\(name)' OR 1",
        "DELETE FROM person -- \(name)", "DELETE FROM person /* \(name) */", "DELETE FROM person /*\(name)",
        "DELETE FROM person WHERE name <> '\(name)';", "DELETE FROM person WHERE name <> 'it''s \(name)'",
        "DELETE FROM person WHERE [\(name)] = 1", "DELETE FROM person WHERE `\(name)` = 1",
        "DELETE FROM person WHERE id <> ? -- \(name)", "DELETE FROM person WHERE name <> '\(name)' OR id = ?",
        "DELETE FROM person WHERE name <> '\(["a", "b"])'", "DELETE FROM person WHERE name <> '\(table: "' OR 1 --")'",
        "DELETE FROM person /* * / \(name) */ WHERE id = ?", "DELETE FROM \"\(column: "person")\"",
        "DELETE FROM person WHERE name <> '\(name)'; SELECT ?", "UPDATE person SET name = '\(name)'; SELECT \(1), ?",
      ]
      for text in texts {
        let error = expectInvalidStatement("\(text.text)") { try db.execute(text) }
        #expect(error?.message.contains("inside quotes or a comment") == true)
        expectInvalidStatement("\(text.text)") { _ = try db.query(text, as: Int.self) }
        #expect(try names(db) == ["Ann", "Bob", "Cid"])
      }
    }
  }

  @Test func aParameterWrittenByHandIsRefused() throws {
    try withDatabase { db in
      try people(db)
      let texts: [SQL] = [
        "DELETE FROM person WHERE id = ?", "DELETE FROM person WHERE id <> \(1) AND id <> ?9",
        "DELETE FROM person WHERE id = \(1) OR id = ?1", "DELETE FROM person WHERE id = $a(\(1))",
        "DELETE FROM person WHERE id = :id", "DELETE FROM person WHERE id = ? OR \(1)",
      ]
      for text in texts {
        expectInvalidStatement("\(text.text)") { try db.execute(text) }
        expectInvalidStatement("\(text.text)") { _ = try db.query(text, as: Int.self) }
        #expect(try names(db) == ["Ann", "Bob", "Cid"])
      }
    }
  }

  /// `?` and `1` would be the parameter `?1`, and `"a"` and `"b"` one name.
  @Test func textNextToAnInterpolationDoesNotMergeWithIt() throws {
    try withDatabase { db in
      try people(db)
      let (none, table): ([Int], String) = ([], "person")
      expectError(.syntax) { _ = try db.query("SELECT \(5)1", as: Int.self) }
      expectError(.syntax) { _ = try db.query("SELECT 1\(5)", as: Int.self) }
      expectError(.syntax) { _ = try db.query("SELECT \(5)\(6)", as: Int.self) }
      expectError(.syntax) { _ = try db.query("SELECT id FROM person WHERE id = \(1)\(none)2", as: Int.self) }
      expectError(.syntax) { _ = try db.query("SELECT 1 /\(none)* 2 */", as: Int.self) }
      let rows = try db.query(
        """
        SELECT\(5)AS n, \(6)six, -\(1), 'a'\(column: "quoted"), 4/\(2), id\(column: "one")FROM \(table: table)"p"
        WHERE\(1)AND id IN(\([2]))AND name <> '--' AND"p".name NOT IN ('/*', \("x"))
        """
      ) { row in
        try row.columnNames + [0, 2, 4].map { "\(try row.get(at: $0, as: Int.self))" }
      }
      #expect(rows == [["n", "six", "-?", "quoted", "4/?", "one", "5", "-1", "2"]])
    }
  }

  @Test func eachStatementOfATextBindsItsValues() throws {
    try withDatabase { db in
      try people(db)
      try db.execute(
        """
        INSERT INTO person VALUES (\(10), \("ü")); -- a comment; with a semicolon
        UPDATE person SET name = \("x") || name WHERE id = \(10);
        DELETE FROM person WHERE id < \(3)
        """)
      #expect(try names(db) == ["Cid", "xü"])
      expectInvalidStatement { try db.execute("DELETE FROM person WHERE id = \(3); -- \(4)") }
    }
  }

  // MARK: Texts

  @Test func textsWithoutAStatementCanBeExecutedButNotQueried() throws {
    try withDatabase { db in
      for text in ["", " ", ";", " ;; ", "-- nothing", "/* nothing */", "/* open", "\n\t"] {
        try db.execute(text)
        expectInvalidStatement { _ = try db.query(SQL(verbatim: text), as: Int.self) }
      }
    }
  }

  @Test func emptyStatementsAndCommentsAreSkipped() throws {
    try withDatabase { db in
      try people(db)
      try db.execute(";; ; DELETE FROM person WHERE id = 1;; -- c\n ; /* d */ ; DELETE FROM person WHERE id = 2 -- e")
      #expect(try names(db) == ["Cid"])
      #expect(try db.query("-- first\n SELECT /* in */ 1 ; -- last", as: Int.self) == [1])
    }
  }

  /// SQLite would take NUL for the end of the text and ignore the rest silently.
  @Test func aNULInTheTextIsRefused() throws {
    try withDatabase { db in
      try people(db)
      expectInvalidStatement { try db.execute("DELETE FROM person WHERE id = 1;\0 DELETE FROM person") }
      expectInvalidStatement { _ = try db.query("SELECT 1\0", as: Int.self) }
      expectInvalidStatement { _ = try db.query("SELECT 1;\0", as: Int.self) }
      #expect(try Person.count().run(db) == 3)
    }
  }

  @Test(.needs(35, "RETURNING")) func twoStatementsInAQueryAreRefusedBeforeAnyRuns() throws {
    try withDatabase { db in
      try people(db)
      for text: SQL in [
        "DELETE FROM person; SELECT 1", "DELETE FROM person RETURNING id; SELECT 1", "SELECT 1; SELECT 2",
      ] {
        expectInvalidStatement { _ = try db.query(text, as: Int.self) }
      }
      #expect(try Person.count().run(db) == 3)
    }
  }

  @Test(arguments: ["SELEKT 1", "SELECT", "SELECT (", "INSERT INTO person VALUES", "SELECT 1 FROM person WHERE", "'"])
  func aTextThatIsNoSQLIsASyntaxError(text: String) throws {
    try withDatabase { db in
      try people(db)
      for error in [
        expectSqlError { try db.execute(text) }, expectSqlError { _ = try db.query(SQL(verbatim: text), as: Int.self) },
      ] {
        #expect(error?.kind == .syntax)
        #expect(error?.sql == text)
        #expect(error?.code == 1)
      }
    }
  }

  @Test func anErrorKeepsEarlierChangesAndSkipsLaterStatements() throws {
    try withDatabase { db in
      try people(db)
      let text: SQL = "DELETE FROM person WHERE id = 1; DELETE FROM nosuch; DELETE FROM person"
      expectError(.schema(.missingTable("nosuch"))) { try db.execute(text) }
      #expect(try names(db) == ["Bob", "Cid"])
      expectError(.constraint(.primaryKey)) {
        try db.execute("DELETE FROM person WHERE id = 2; INSERT INTO person VALUES (3, 'x'); DELETE FROM person")
      }
      #expect(try names(db) == ["Cid"])
      expectError(.syntax) { try db.transaction { db in try db.execute("DELETE FROM person; SELEKT") } }
      #expect(try names(db) == ["Cid"])
    }
  }

  // MARK: Other statements

  @Test(.needs(35, "RETURNING")) func returningReadsRowsAndCompletesTheChange() throws {
    try withDatabase { db in
      try people(db)
      #expect(
        try db.query("INSERT INTO person(name) VALUES (\("Dan")), (\("Eve")) RETURNING id", as: Int.self) == [4, 5])
      #expect(
        try db.query("DELETE FROM person WHERE id > 3 RETURNING *", as: Person.self).map(\.name) == ["Dan", "Eve"])
      // An error thrown in the closure rolls the statement back.
      expectError(.timeout) {
        try db.query("DELETE FROM person RETURNING id") { _ in throw SqlError(.timeout, message: "enough") }
      }
      #expect(try Person.count().run(db) == 3)
      try db.transaction { db in
        try db.query("UPDATE person SET name = name || '!' RETURNING id") { _ in }
        expectError(.timeout) {
          try db.query("DELETE FROM person RETURNING id") { _ in throw SqlError(.timeout, message: "enough") }
        }
      }
      #expect(try names(db) == ["Ann!", "Bob!", "Cid!"])
    }
  }

  /// SQLite counts the EXPLAIN of a write as a write until the statement is reset.
  @Test func explainOfAWriteCanBeReadInATransaction() throws {
    try withDatabase { db in
      try people(db)
      let opcodes = try db.transaction { db in
        try db.query("EXPLAIN DELETE FROM person WHERE id = 1") { row in try row.get("opcode", as: String.self) }
      }
      #expect(opcodes.contains("OpenWrite"))
      let plan = try db.transaction { db in
        try db.query("EXPLAIN QUERY PLAN DELETE FROM person WHERE id = 1") { row in
          try row.get("detail", as: String.self)
        }
      }
      #expect(plan == ["SEARCH person USING INTEGER PRIMARY KEY (rowid=?)"])
      #expect(try names(db) == ["Ann", "Bob", "Cid"])
    }
  }

  /// A column that nothing reads is a mistake in most cases.
  @Test func columnsThatAreNotReadAreRefused() throws {
    try withDatabase { db in
      try people(db)
      let one = expectMisuse { _ = try db.query("SELECT name, id FROM person", as: String.self) }
      #expect(one?.message == "the result has 2 columns, but 1 is read")
      #expect(one?.sql == "SELECT name, id FROM person")
      let two = expectMisuse { _ = try db.query("SELECT name, id, 1 FROM person", as: String.self, Int.self) }
      #expect(two?.message == "the result has 3 columns, but 2 are read")
      expectMisuse { _ = try SQL("SELECT name, id FROM person").rows(as: String.self).run(db) }
      expectMisuse { _ = try db.prepare("SELECT name, id FROM person", as: String.self) }
      expectMisuse { _ = try db.prepare("SELECT name, id, 1 FROM person", as: String.self, Int.self) }
      // A dynamic row takes all remaining columns.
      let rest = try db.query("SELECT name, id, 1 FROM person WHERE id = 1", as: String.self, DynamicRow.self)
      #expect(rest.map(\.1.columns) == [["id", "1"]])
      #expect(try db.query("SELECT name FROM person WHERE 0", as: String.self) == [])
      #expect(try db.query("SELECT name, id FROM person WHERE id = 1", as: String.self, Int.self).map(\.1) == [1])
    }
  }

  @Test func dynamicRowsShowTheirColumns() throws {
    try withDatabase { db in
      try people(db)
      let rows = try db.query("SELECT id, name AS who, NULL, x'0102' AS data FROM person LIMIT 2", as: DynamicRow.self)
      #expect(
        rows.map(\.description) == [
          "id: 1, who: Ann, NULL: NULL, data: 2 bytes",
          "id: 2, who: Bob, NULL: NULL, data: 2 bytes",
        ])
      #expect(try rows[1].get("who", as: String.self) == "Bob")
      #expect(try rows[1].get("id") == 2)
      expectError(.schema(.missingColumn("name"))) { _ = try rows[0].get("name", as: String.self) }
      let renamed = try db.query("SELECT id AS a, name, NULL, x'0102' FROM person WHERE id = 1", as: DynamicRow.self)
      #expect(renamed == [rows[0]])
      #expect(renamed[0].columns != rows[0].columns)
      let selected = try Person.select(Person.name, Person.id.count()).groupBy(Person.name).orderBy(Person.name).run(db)
      #expect(selected.first?.columns == ["name", #"count("id")"#])
      // The names must follow a column that another handle renames between two runs.
      let all: SQL = "SELECT * FROM person WHERE id = 1"
      #expect(try db.query(all, as: DynamicRow.self)[0].columns == ["id", "name"])
      let child = try db.createChild()
      try child.execute("ALTER TABLE person RENAME COLUMN name TO who")
      #expect(try db.query(all, as: DynamicRow.self)[0].columns == ["id", "who"])
    }
  }

  @Test func maintenanceRunsOutsideTransactionsAndWithObservers() throws {
    try withDatabase { db in
      try people(db)
      let token = db.observe(on: Person.self) { _ in }
      try db.execute("VACUUM")
      try db.execute("/* c */ vacuum; ANALYZE; REINDEX; PRAGMA optimize; PRAGMA user_version = 3")
      #expect(try db.query("PRAGMA user_version", as: Int.self) == [3])
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      let copy = db.filepath + ".copy"
      try db.execute("VACUUM INTO \(copy)")
      try db.execute("ATTACH \(copy) AS other")
      #expect(try db.query("SELECT count(*) FROM other.person", as: Int.self) == [3])
      try db.execute("DETACH other")
      let busy = try db.query("PRAGMA wal_checkpoint(TRUNCATE)") { try $0.get(at: 0, as: Int.self) }
      #expect(busy == [0])
      expectSqlError { try db.transaction { db in try db.execute("VACUUM") } }
      try db.query("VACUUM") { _ in }
      db.removeObserver(token)
      #expect(try names(db) == ["Ann", "Bob", "Cid"])
    }
  }

  /// SQLite executes some pragmas when it compiles them.
  @Test func aRefusedSecondStatementHasNoEffect() throws {
    try withDatabase { db in
      let before = try db.query("PRAGMA foreign_keys", as: Int.self)
      #expect(before == [1])
      for text in ["; PRAGMA foreign_keys = OFF", ";; /* a */ -- b\n PRAGMA foreign_keys = OFF", "; nonsense"] {
        expectInvalidStatement { _ = try db.query(SQL(verbatim: "SELECT 1" + text), as: Int.self) }
      }
      #expect(try db.query("PRAGMA foreign_keys", as: Int.self) == before)
    }
  }

  @Test func blanksCommentsAndSemicolonsAreNoSecondStatement() throws {
    try withDatabase { db in
      for text in [";", " ; ;\n\t", "; -- PRAGMA", "; /* ; SELECT 2 */ ;", "; /* open", "; -- a\n-- b", ";\u{FEFF}"] {
        let found = try db.query(SQL(verbatim: "SELECT 1" + text), as: Int.self)
        #expect(found == [1], "\(text)")
      }
    }
  }
}
