import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Long texts of many statements.
@Suite struct ScriptTests {
  @Test func aScriptRunsInLinearTime() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a)")
      let statement = "DELETE FROM t WHERE a = 1;" + String(repeating: " ", count: 2_000)
      let scripts = [250: String(repeating: statement, count: 250), 2_000: String(repeating: statement, count: 2_000)]
      let time = try growth(from: 250) { count in try db.transaction { try $0.execute(scripts[count] ?? "") } }
      #expect(time < 28)
    }
  }

  @Test(arguments: ["SELECT 1; INSERT INTO t VALUES (1);\0", "INSERT INTO t VALUES (1);\0 INSERT INTO t VALUES (2)"])
  func aScriptWithANulRunsNoStatement(_ script: String) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a)")
      #expect(sqlError { try db.execute(script) }?.message.contains("NUL") == true)
      #expect(try db.query("SELECT count(*) FROM t", as: Int.self) == [0])
    }
  }

  @Test(arguments: [
    "ROLLBACK TO a", "ROLLBACK TRANSACTION b TO a", "ROLLBACK TRANSACTION \"b\" TO SAVEPOINT a", "\u{FEFF}SAVEPOINT a",
  ])
  func aScriptCannotUseSavepoints(_ script: String) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a); BEGIN; INSERT INTO t VALUES (1)")
      let savepoint = SQL(verbatim: script)
      // SQLite compiles the statement although no such savepoint exists.
      #expect(sqlError { try db.execute(savepoint) }?.message.contains("savepoints") == true)
      try db.execute("\u{FEFF}COMMIT")
      #expect(try db.query("SELECT count(*) FROM t", as: Int.self) == [1])
    }
  }

  @Test(arguments: ["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1);", "; INSERT INTO t VALUES (1) ;\n-- end"])
  func aScriptEndsWithOrWithoutASemicolon(_ script: String) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a)")
      try db.execute(script)
      try db.execute("INSERT INTO t VALUES (\(2)); INSERT INTO t VALUES (\(3))")
      #expect(try db.query("SELECT sum(a) FROM t", as: Int.self) == [6])
    }
  }
}
