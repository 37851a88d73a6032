import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct SqlErrorTests {
  @Test func theDescriptionNamesProblemPlaceAndTransaction() {
    let error = SqlError(
      .constraint(.unique), message: "UNIQUE constraint failed: bicycle.name", code: 19, extendedCode: 2067,
      sql: "INSERT INTO bicycle VALUES (?)", table: "bicycle", column: "name", rowId: 7, transaction: .rolledBack,
      label: "shop")
    #expect(
      error.description == """
        SqlError.constraint(unique) [shop]: UNIQUE constraint failed: bicycle.name (at bicycle.name, row 7) \
        (code 2067); the transaction was rolled back; in: INSERT INTO bicycle VALUES (?)
        """)
    #expect("\(SqlError(.busy, message: "database is locked"))" == "SqlError.busy: database is locked")
    #expect("\(SqlError(.misuse("x"), message: "x"))" == "SqlError.misuse: x")
    #expect(
      "\(SqlError(.io, message: "m", table: "t", transaction: .untouched))"
        == "SqlError.io: m (at t); the transaction is still open")
    #expect("\(SqlError(.other, message: "m", rowId: 7))".contains("row 7"))
  }

  @Test func onlyBusyErrorsAreRetryable() {
    let kinds: [SqlError.Kind] = [
      .constraint(.unique), .readOnly, .full, .io, .cannotOpen, .corrupt, .notADatabase, .interrupted, .timeout,
      .schema(.missingTable("t")), .invalidStatement("x"), .syntax, .tooBig, .outOfMemory, .misuse("x"), .closed,
      .other,
    ]
    for kind in kinds { #expect(!SqlError(kind, message: "").isRetryable) }
    #expect(SqlError(.busy, message: "").isRetryable)
  }

  @Test(.needs(37, "a STRICT table")) func everyConstraintHasItsKindAndPlace() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE p(id INTEGER PRIMARY KEY);
        CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT UNIQUE, n TEXT NOT NULL DEFAULT '', c INTEGER CHECK (c > 0),
          p INTEGER REFERENCES p(id), i INTEGER) STRICT;
        CREATE TABLE w(a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
        CREATE TRIGGER tr BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'kept'); END;
        INSERT INTO t(id, u) VALUES (1, 'x');
        INSERT INTO w VALUES (1, 2);
        """)
      let breaches: [(SQL, SqlError.Constraint, Int, String?, String?)] = [
        ("INSERT INTO t(id) VALUES (1)", .primaryKey, 1555, "t", "id"),
        ("INSERT INTO t(rowid) VALUES (1)", .primaryKey, 1555, "t", "id"),
        ("INSERT INTO w VALUES (1, 2)", .primaryKey, 1555, "w", "a"),
        ("INSERT INTO t(u) VALUES ('x')", .unique, 2067, "t", "u"),
        ("INSERT INTO t(n) VALUES (NULL)", .notNull, 1299, "t", "n"),
        ("INSERT INTO t(c) VALUES (0)", .check, 275, nil, nil),
        ("INSERT INTO t(p) VALUES (9)", .foreignKey, 787, nil, nil),
        ("INSERT INTO t(i) VALUES ('text')", .dataType, 3091, "t", "i"),
        ("DELETE FROM t", .trigger, 1811, nil, nil),
      ]
      for (sql, constraint, code, table, column) in breaches {
        let error = expectError(.constraint(constraint)) { try db.execute(sql) }
        #expect(error?.code == 19)
        #expect(error?.extendedCode == code)
        #expect(error?.table == table)
        #expect(error?.column == column)
        #expect(error?.sql == sql.text)
      }
      expectError(.constraint(.dataType)) { try db.execute("INSERT INTO p VALUES ('text')") }
    }
  }

  @Test func aColumnOfAnUnreadTableIsNamedWithThatTable() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let condition = SqlExpression(sql: "bicycle.price > 1")
      let error = expectError(.schema(.missingColumn("price"))) { _ = try Person.read().filter(condition).run(db) }
      #expect(error?.table == "bicycle")
      #expect(error?.column == "price")
      #expect(
        error?.message
          == "no such column: bicycle.price; the statement does not read bicycle here, or bicycle has no such column")
      let own = SqlExpression(sql: "person.price > 1")
      let missing = expectError(.schema(.missingColumn("price"))) { _ = try Person.read().filter(own).run(db) }
      #expect(missing?.table == "person")
      #expect(missing?.message == "no such column: person.price")
    }
  }

  @Test func otherSQLErrorsHaveTheirKinds() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let cases: [(SQL, SqlError.Kind)] = [
        ("SELECT * FROM nosuch", .schema(.missingTable("nosuch"))),
        ("SELECT * FROM main.nosuch", .schema(.missingTable("nosuch"))),
        ("SELECT nosuch FROM person", .schema(.missingColumn("nosuch"))),
        ("INSERT INTO person(nosuch) VALUES (1)", .schema(.missingColumn("nosuch"))),
        ("UPDATE person SET nosuch = 1", .schema(.missingColumn("nosuch"))),
        ("SELEKT 1", .syntax),
        ("SELECT", .syntax),
        ("SELECT zeroblob(2000000000)", .tooBig),
        ("SELECT abs(-9223372036854775807 - 1)", .other),
        (
          "SELECT nosuch()",
          .misuse(
            """
            no such function: nosuch; if the program defines this function, call register(_:) on the handle or pool \
            before its first use
            """)
        ),
      ]
      for (sql, kind) in cases {
        let error = expectError(kind, "\(sql.text)") { try db.execute(sql) }
        #expect(error?.sql == sql.text)
        #expect(error?.transaction == SqlError.TransactionFate.none)
      }
    }
  }

  @Test func damagedPagesAreCorruption() throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.createTable(Person.self)
      try Person.insert((0..<2_000).map { Person(id: nil, name: "name \($0)") }).run(db)
      try db.close()
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try file.seek(toOffset: 4096)
      try file.write(contentsOf: Data(repeating: 0xA5, count: 8 * 4096))
      try file.close()
      let damaged = try SqliteDatabase(filepath: path)
      let error = expectError(.corrupt) { _ = try Person.read().run(damaged) }
      #expect(error?.code == 11)
      try damaged.close()
    }
  }

  // MARK: No value in a message

  @Test(.needs(37, "a STRICT table"), .needsFullText) func noBoundValueEntersAnError() throws {
    let secret = "hunter2"
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.execute(
        """
        CREATE VIRTUAL TABLE ft USING fts5(body);
        CREATE TABLE s(i INTEGER, u TEXT UNIQUE, c TEXT CHECK (length(c) < 3)) STRICT;
        """)
      try db.execute("INSERT INTO s(u) VALUES (\(secret))")
      try Person(id: nil, name: secret).insert().run(db)
      try Bicycle(name: secret, color: secret).insert().run(db)
      let failures: [() throws -> Void] = [
        { try db.execute("INSERT INTO s(i) VALUES (\(secret))") },
        { try db.execute("INSERT INTO s(u) VALUES (\(secret))") },
        { try db.execute("INSERT INTO s(c) VALUES (\(secret))") },
        { try Bicycle(name: secret, color: secret).insert().run(db) },
        { try Bicycle(name: secret + "x", color: secret, ownerId: 77).insert().run(db) },
        { _ = try db.query("SELECT name FROM person", as: Int.self) },
        { _ = try db.query("SELECT name FROM person", as: UUID.self) },
        { _ = try db.query("SELECT name FROM person", as: Date.self) },
        { _ = try db.query("SELECT name FROM person", as: Decimal.self) },
        { try db.execute("SELECT json_extract('{}', \(secret))") },
        { try db.execute("SELECT json(\(secret))") },
        { try db.execute("SELECT json_remove('{}', \(secret))") },
        { try db.execute("SELECT * FROM ft WHERE ft MATCH \(secret + " : x")") },
        { try db.execute("SELECT * FROM ft WHERE ft MATCH \("\"" + secret)") },
        { try db.execute("SELECT * FROM ft WHERE ft MATCH \(secret + " AND (")") },
        { try db.execute("INSERT INTO ft(ft) VALUES (\(secret))") },
        { try db.execute("ATTACH \("/nosuch/" + secret) AS other") },
        { try db.execute("ATTACH ':memory:' AS \(secret); ATTACH ':memory:' AS \(secret)") },
        { try db.execute("DETACH \(secret + "x")") },
        { try db.execute("VACUUM INTO \("/nosuch/" + secret)") },
        { try db.execute("SELECT load_extension(\(secret))") },
        { try db.execute("SELECT 'a' LIKE 'b' ESCAPE \(secret)") },
      ]
      for (index, failure) in failures.enumerated() {
        let error = expectSqlError(failure)
        #expect(error.map { "\($0)".contains(secret) } == false, "\(index): \(String(describing: error))")
        #expect(error.map { "\($0.kind)".contains(secret) } == false, "\(index)")
      }
    }
  }

  /// After an ALTER on another connection, the same message comes from the run and names the column of the SQL.
  @Test func aColumnRenamedMeanwhileIsNamed() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      _ = try Person.read().run(db)
      try db.createChild().execute("ALTER TABLE person RENAME COLUMN name TO title")
      expectError(.schema(.missingColumn("name"))) { _ = try Person.read().run(db) }
      try db.createChild().execute("ALTER TABLE person RENAME TO people")
      expectError(.schema(.missingTable("person"))) { _ = try Person.count().run(db) }
    }
  }

  @Test func aPrintedStatementIsItsSQLWithoutValues() throws {
    let secret = "hunter2"
    let read = Bicycle.read().filter(Bicycle.color == secret)
    let change = Bicycle.update(Bicycle.color.set(to: secret)).filter(Bicycle.id == 1)
    let insert = Bicycle.insert([Bicycle]())
    let text: SQL = "SELECT \(secret)"
    let any = try AnyStatement(read)
    let printed: [(any Runnable, String)] = [
      (read, read.sql),
      (change, change.sql),
      (insert, insert.sql),
      (text, text.sql),
      (any, any.sql),
      (read.select(Bicycle.color), read.select(Bicycle.color).sql),
    ]
    for (statement, sql) in printed {
      #expect("\(statement)" == sql)
      #expect(String(describing: statement) == sql)
      #expect(!"\([statement])".contains(secret))
    }
    #expect("\(read)" == read.sql)
    #expect("\(text)" == "SELECT ?")
  }

  @Test func aLongStatementIsShortenedInTheDescription() {
    let long = String(repeating: "é + ", count: 10_000)
    for offset in [nil, 0, 999, 1000, 1001, 25_001, 49_999, 50_000, 60_000] {
      let sql = "\(long)"
      let error = SqlError(.syntax, message: "m", sql: sql, offset: offset)
      let text = "\(error)"
      #expect(text.utf8.count < 1200, "\(text)")
      #expect(text.hasSuffix("(50000 bytes of SQL)"), "\(text)")
      #expect(!text.contains("\u{FFFD}"))
      #expect(error.sql == sql)
    }
    let marked = long + "WRONG" + long
    #expect("\(SqlError(.syntax, message: "m", sql: marked, offset: 50_000))".contains("WRONG"))
    #expect("\(SqlError(.syntax, message: "m", sql: "SELECT 1"))".hasSuffix("in: SELECT 1"))
  }
}
