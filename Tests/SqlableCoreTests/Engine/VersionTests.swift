import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct VersionTests {
  /// `.ci/versions` sets the version that it has built. A run with another version would prove nothing.
  @Test func theSQLiteVersionIsTheRequestedOne() throws {
    _ = try SqliteDatabase.inMemory()
    if let version = ProcessInfo.processInfo.environment["SQLABLE_SQLITE_VERSION"] {
      #expect(SqliteDatabase.sqliteVersion == version)
    }
    #expect(SQLiteLibrary.isAtLeast(34))
  }

  @Test(
    arguments: [
      (35, "UPDATE t SET a = 2 RETURNING a"),
      (35, "INSERT INTO t SELECT * FROM t RETURNING a"),
      (35, "WITH c AS MATERIALIZED (SELECT 1) SELECT * FROM c"),
      (35, "WITH c AS NOT MATERIALIZED (SELECT 1) SELECT * FROM c"),
      (35, "ALTER TABLE t DROP COLUMN b"),
      (35, "SELECT sign(1)"),
      (37, "CREATE TABLE u (a TEXT) STRICT"),
      (37, "CREATE TABLE u (a TEXT PRIMARY KEY) WITHOUT ROWID, strict"),
      (38, "SELECT '{}' -> '$'"),
      (38, "SELECT '{}' ->> '$.a'"),
      (38, "SELECT unixepoch('now')"),
      (38, "SELECT format('%d', 1)"),
      (39, "SELECT * FROM t RIGHT JOIN t AS o ON t.a = o.a"),
      (39, "SELECT * FROM t FULL JOIN t AS o ON t.a = o.a"),
      (39, "SELECT 1 IS DISTINCT FROM 2"),
      (39, "SELECT 1 IS NOT DISTINCT FROM 2"),
      (41, "SELECT unhex('00')"),
      (43, "SELECT octet_length('a')"),
      (44, "SELECT concat('a', 'b')"),
      (44, "SELECT string_agg(a, '-') FROM t"),
      (45, "SELECT jsonb('{}')"),
      (46, "SELECT json_pretty('{}')"),
    ] as [(Int, String)])
  func anUnsupportedFeatureNamesTheRequiredVersion(minor: Int, sql: String) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x')")
      let error = sqlError { try db.execute(SQL(verbatim: sql)) }
      guard !SQLiteLibrary.isAtLeast(minor) else {
        // A build without JSON has no JSON functions.
        #expect(error?.message.hasPrefix("JSON functions need ") != false, "\(String(describing: error))")
        return
      }
      #expect(
        error?.message.contains(" needs SQLite 3.\(minor) or later; this is ") == true, "\(String(describing: error))")
      guard let error, case .misuse(error.message) = error.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(error.sql == sql)
      #expect(error.transaction == SqlError.TransactionFate.none)
    }
  }

  @Test(arguments: [
    ("SELECT sqrt(4.0)", "SQLITE_ENABLE_MATH_FUNCTIONS"),
    ("SELECT json('{}')", "JSON"),
    ("SELECT * FROM json_each('[1]')", "JSON"),
    ("CREATE VIRTUAL TABLE f USING fts5(a)", "SQLITE_ENABLE_FTS5"),
    ("DELETE FROM t LIMIT 1", "SQLITE_ENABLE_UPDATE_DELETE_LIMIT"),
    ("UPDATE t SET a = 2 ORDER BY a LIMIT 1", "SQLITE_ENABLE_UPDATE_DELETE_LIMIT"),
  ])
  func anUnsupportedFeatureNamesTheBuildOption(sql: String, option: String) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a INTEGER)")
      guard let error = sqlError({ try db.execute(SQL(verbatim: sql)) }) else { return }
      #expect(error.kind == .misuse(error.message), "\(error)")
      #expect(error.message.contains(option), "\(error)")
    }
  }

  @Test(.needsSQLiteProgram) func aFileOfANewerSQLiteNamesTheRequiredVersion() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let process = try SQLiteProcess(path)
      try process.run("CREATE TABLE t (a TEXT) STRICT; INSERT INTO t VALUES ('x');")
      process.quit()
      let error = sqlError {
        let db = try SqliteDatabase(filepath: path)
        #expect(try db.query("SELECT a FROM t", as: String.self) == ["x"])
      }
      guard !SQLiteLibrary.isAtLeast(37) else {
        #expect(error == nil)
        return
      }
      let need = "a STRICT table needs SQLite 3.37 or later; this is \(SqliteDatabase.sqliteVersion)"
      #expect(error?.message == "the schema of this file: " + need)
    }
  }

  @Test func aSyntaxErrorIsNotBlamedOnTheVersion() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a INTEGER)")
      for sql: SQL in [
        "SELECT RETURNING",
        "DROP DROP",
        "SELECT a > > 1 FROM t",
        "SELECT DISTINCT DISTINCT a FROM t",
        "CREATE TABLE STRICT (",
      ] {
        let error = sqlError { try db.execute(sql) }
        if SQLiteLibrary.isAtLeast(39) { #expect(error?.kind == .syntax, "\(String(describing: error))") }
      }
      let unknown = expectMisuse { _ = try db.query("SELECT json_nosuch(1)", as: Int.self) }
      #expect(
        unknown?.message.hasPrefix("no such function: json_nosuch; if the program defines this function, ") == true)
    }
  }

  /// SQLite 3.46 and later add a hint to the message: the quoted name may be meant as a text.
  @Test func aMissingQuotedColumnIsNamedWithoutSQLitesHint() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a INTEGER)")
      for name in ["b", "b \" c", "b - should this be", ""] {
        let error = sqlError {
          _ = try db.query(SQL(verbatim: "SELECT \"\(name.replacing("\"", with: "\"\""))\" FROM t")) { _ in }
        }
        #expect(error?.kind == .schema(.missingColumn(name)))
        #expect(error?.column == name)
        #expect(error?.message == "no such column: \(name)")
      }
    }
  }

  @Test func aRenamedQuotedColumnIsNamedWithoutSQLitesHint() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let read: SQL = #"SELECT "name" FROM person"#
      _ = try db.query(read, as: String.self)
      // SQLite recompiles the cached statement when it runs.
      try db.createChild().execute("ALTER TABLE person RENAME COLUMN name TO title")
      let error = expectError(.schema(.missingColumn("name"))) { _ = try db.query(read, as: String.self) }
      #expect(error?.column == "name")
      #expect(error?.message == "no such column: name")
    }
  }

  /// Before 3.37, SQLite counts changes with another function.
  @Test func changedRowsAreCounted() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert((1...3).map { Person(id: $0, name: "a") }).run(db)
      #expect(try Person.updateAll(Person.name.set(to: "b")).run(db) == 3)
      #expect(try Person.deleteAll().run(db) == 3)
    }
  }
}
