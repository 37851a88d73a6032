import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// Statements that SQLite refuses in a transaction, on a pool.
@Suite struct StandaloneStatementTests {
  private func withPool(_ body: (SqlitePool, String) async throws -> Void) async throws {
    let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let pool = try SqlitePool(filepath: directory + "/pool.sqlite", configuration: .init(waitTimeout: nil))
    try await pool.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT)")
    try await body(pool, directory)
    try await pool.close()
  }

  private func freePages(_ pool: SqlitePool) async throws -> Int {
    try await pool.query("SELECT freelist_count FROM pragma_freelist_count", as: Int.self)[0]
  }

  @Test func vacuumRunsOutsideATransaction() async throws {
    try await withPool { pool, directory in
      let filler = String(repeating: "x", count: 100_000)
      for _ in 0..<2 {
        try await pool.execute("INSERT INTO log (text) VALUES (\(filler))")
        try await pool.execute("DELETE FROM log")
        #expect(try await freePages(pool) > 0)
        try await pool.execute("/* free pages */ vacuum;")
        #expect(try await freePages(pool) == 0)
      }
      try await pool.execute("INSERT INTO log (text) VALUES (\(filler))")
      // The statements before VACUUM commit.
      try await pool.execute("DELETE FROM log; VACUUM")
      #expect(try await freePages(pool) == 0)
      try await pool.execute("VACUUM INTO \(directory + "/copy.sqlite")")
      let copy = try SqliteDatabase(filepath: directory + "/copy.sqlite")
      #expect(try copy.query("SELECT count(*) FROM log", as: Int.self) == [0])
    }
  }

  @Test func synchronousCallsVacuumToo() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try pool.execute("CREATE TABLE log (id INTEGER PRIMARY KEY)")
      try pool.execute("VACUUM")
      try pool.run(SQL("VACUUM"))
      #expect(try pool.query("PRAGMA application_id", as: Int.self) == [0])
      #expect(try pool.query("PRAGMA integrity_check") { try $0.get(at: 0) as String } == ["ok"])
      try pool.close()
    }
  }

  @Test(.needsPlainFiles("an encrypted file keeps its page size"))
  func pragmasThatATransactionIgnoresTakeEffect() async throws {
    try await withPool { pool, _ in
      try await pool.execute("PRAGMA page_size = 8192; PRAGMA auto_vacuum = FULL; VACUUM")
      #expect(try await pool.query("PRAGMA auto_vacuum", as: Int.self) == [1])
      try await pool.execute("PRAGMA user_version = 7")
      #expect(try await pool.query("PRAGMA main.user_version", as: Int.self) == [7])
      // The setting ends with the call.
      #expect(try await pool.query("PRAGMA foreign_keys", as: Int.self) == [1])
      try await pool.execute("PRAGMA foreign_keys = OFF")
      #expect(try await pool.query("PRAGMA foreign_keys", as: Int.self) == [1])
    }
  }

  @Test(.needsPlainFiles("ATTACH as SQL text has no key"))
  func oneTextAttachesAndDetaches() async throws {
    try await withPool { pool, directory in
      do {
        let other = try SqliteDatabase(filepath: directory + "/other.sqlite")
        try other.execute("CREATE TABLE old (text); INSERT INTO old VALUES ('a')")
      }
      let path = directory + "/other.sqlite"
      try await pool.execute(
        "ATTACH \(path) AS other; INSERT INTO log (text) SELECT text FROM other.old; DETACH other")
      #expect(try await pool.query("SELECT text FROM log", as: String.self) == ["a"])
      let message =
        "a pool would undo ATTACH after the call; use Configuration.attached, or run all statements in withWriter"
      let error = await #expect(throws: SqlError.self) { try await pool.execute("ATTACH \(path) AS other") }
      #expect(error?.message == message)
    }
  }

  @Test func inATransactionOfThePoolSQLiteDecides() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      let error = sqlError { try pool.transaction { _ in try pool.execute("VACUUM") } }
      #expect(error?.message.contains("cannot VACUUM from within a transaction") == true)
      let version = try pool.transaction { _ in try pool.query("PRAGMA user_version", as: Int.self) }
      #expect(version == [0])
      try pool.withWriter { _ in try pool.execute("VACUUM") }
      try pool.close()
    }
  }

  @Test func otherWritesWaitForAStandaloneStatement() async throws {
    try await withPool { pool, _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<60 {
          group.addTask {
            if number % 6 == 0 {
              try await pool.execute("VACUUM")
            } else {
              try await pool.execute("INSERT INTO log (text) VALUES (\(number))")
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await pool.query("SELECT count(*) FROM log", as: Int.self) == [50])
    }
  }

  /// Only statements count: words in comments, texts and bodies of triggers do not.
  @Test func onlyStatementsOutsideATransactionCommitSeparately() {
    #expect(SQL("VACUUM").runsOutsideTransaction)
    #expect(SQL("DELETE FROM log; vacuum").runsOutsideTransaction)
    #expect(SQL("PRAGMA user_version = 1; PRAGMA application_id = 2").runsOutsideTransaction)
    #expect(SQL("SELECT 1").rows(as: Int.self).runsOutsideTransaction == false)
    #expect(SQL("PRAGMA user_version").rows(as: Int.self).runsOutsideTransaction)
    for text in [
      "", ";", "DELETE FROM log -- VACUUM", "INSERT INTO log VALUES ('; VACUUM')",
      "PRAGMA user_version = 1; DELETE FROM log", "EXPLAIN VACUUM",
      "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; SELECT 1; END",
    ] {
      #expect(!SQL(verbatim: text).runsOutsideTransaction, "\(text)")
    }
  }
}
