#if SQLCipher
import Foundation
import Glibc
import SqlableCore
import SqlableBackup
import SqlablePool
import Testing

@testable import SqlableTestSupport

@Suite struct ExportTests {
  private static let key = [UInt8](100..<132)

  private func contents(_ path: String, _ key: EncryptionKey, _ cipher: CipherSettings = .init()) throws -> [String] {
    let db = try SqliteDatabase(filepath: path, configuration: .init(key: key, cipher: cipher))
    return try db.query("SELECT rowid || ' ' || a || ' ' || twice FROM t", as: String.self)
      + db.query("SELECT name FROM sqlite_schema ORDER BY name", as: String.self)
      + db.query("SELECT title FROM ft WHERE ft MATCH 'red'", as: String.self)
      + db.query("SELECT name || seq FROM sqlite_sequence", as: String.self)
      + db.query("PRAGMA user_version", as: Int.self).map(String.init)
      + db.query("PRAGMA application_id", as: Int.self).map(String.init)
  }

  private func fill(_ db: SqliteDatabase) throws {
    try db.execute(
      """
      CREATE TABLE t (a TEXT, twice TEXT AS (a || a) STORED);
      CREATE TABLE n (id INTEGER PRIMARY KEY AUTOINCREMENT);
      CREATE INDEX t_a ON t (a);
      CREATE VIEW v AS SELECT a FROM t;
      CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END;
      CREATE VIRTUAL TABLE ft USING fts5(title);
      INSERT INTO t (rowid, a) VALUES (7, 'Annabella'), (9, 'Bo');
      INSERT INTO ft VALUES ('red'), ('blue');
      INSERT INTO n VALUES (41);
      PRAGMA user_version = 12;
      PRAGMA application_id = 77;
      """)
  }

  @Test func aPlainDatabaseIsEncryptedAndDecryptedAgain() throws {
    try withDirectory { directory in
      let paths = ["plain", "encrypted", "decrypted"].map { directory + "/\($0).sqlite" }
      let db = try SqliteDatabase(filepath: paths[0], configuration: .init(key: .unencrypted))
      try fill(db)
      let key = try EncryptionKey.raw(ExportTests.key)
      try db.export(to: paths[1], key: key)
      #expect(try !file(paths[1], contains: "Annabella"))
      let expected = try contents(paths[0], .unencrypted)
      #expect(expected.contains("7 Annabella AnnabellaAnnabella"))
      #expect(expected.contains("n41"))
      #expect(try contents(paths[1], key) == expected)
      let encrypted = try SqliteDatabase(filepath: paths[1], configuration: .init(key: key))
      try encrypted.export(to: paths[2], key: nil)
      #expect(try contents(paths[2], .unencrypted) == expected)
      #expect(try file(paths[2], contains: "Annabella"))
      #expect(files(in: directory).filter { $0.contains("partial") }.isEmpty)
    }
  }

  @Test func exportHasNewSettingsAndTheSourcePermissions() throws {
    try withDirectory { directory in
      let (path, copy) = (directory + "/a.sqlite", directory + "/b.sqlite")
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: .init(key: .raw(ExportTests.key))))
      try pool.withWriter { db in try fill(db) }
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
      let (key, cipher) = (
        try EncryptionKey.passphrase("horse"), CipherSettings(pageSize: 16_384, kdfIterations: 2_000)
      )
      try pool.export(to: copy, key: key, cipher: cipher)
      #expect(try contents(copy, key, cipher) == contents(path, .raw(ExportTests.key)))
      let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
      #expect(mode == 0o640)
      #expect(sqlError { try pool.export(to: copy, key: key) }?.kindIsMisuse == true)
      #expect(sqlError { try pool.export(to: path, key: key) }?.kindIsMisuse == true)
      try pool.close()
    }
  }

  @Test func asyncCodeAwaitsAnExport() async throws {
    try await withDirectoryAsync { directory in
      let configuration = PoolConfiguration(handles: .init(key: try .raw(ExportTests.key)))
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: configuration)
      try await pool.withWriter { db in try fill(db) }
      try await pool.export(to: directory + "/b.sqlite", key: nil)
      #expect(
        try contents(directory + "/b.sqlite", .unencrypted) == contents(directory + "/a.sqlite", .raw(ExportTests.key)))
      try await pool.close()
    }
  }

  /// SQLite assigns new rowids when it copies all columns of a table with neither an integer key nor an index.
  @Test func everyTableKeepsItsRowidsInBothDirections() throws {
    try withDirectory { directory in
      let paths = ["plain", "encrypted", "decrypted"].map { directory + "/\($0).sqlite" }
      let db = try SqliteDatabase(
        filepath: paths[0], configuration: .init(foreignKeys: false, key: .unencrypted))
      try db.execute(
        """
        CREATE TABLE parent (id INTEGER PRIMARY KEY);
        CREATE TABLE loose (a TEXT, twice TEXT AS (a || a), parent REFERENCES parent (id));
        CREATE TABLE "odd ""name" (rowid TEXT, _rowid_ TEXT);
        CREATE TABLE keyed (k TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE seen (a TEXT);
        CREATE VIRTUAL TABLE ft USING fts5 (a, content = 'loose');
        CREATE TRIGGER g AFTER INSERT ON loose BEGIN INSERT INTO seen VALUES (new.a); END;
        CREATE TRIGGER d AFTER DELETE ON loose BEGIN INSERT INTO seen VALUES (old.a); END;
        INSERT INTO loose (rowid, a, parent) VALUES (-5, 'one', 99), (7, 'red two', NULL), (900, 'three', NULL);
        INSERT INTO "odd ""name" (oid, rowid) VALUES (12, 'x'), (40, 'y');
        INSERT INTO keyed VALUES ('k');
        INSERT INTO ft (ft) VALUES ('rebuild');
        """)
      func contents(_ path: String, _ key: EncryptionKey) throws -> [String] {
        let db = try SqliteDatabase(filepath: path, configuration: .init(foreignKeys: false, key: key))
        return try db.query("SELECT rowid || a || twice FROM loose", as: String.self)
          + db.query("SELECT oid || rowid FROM \"odd \"\"name\"", as: String.self)
          + db.query("SELECT rowid || a FROM seen", as: String.self)
          + db.query("SELECT rowid || a FROM ft WHERE ft MATCH 'red'", as: String.self)
          + db.query("SELECT k FROM keyed", as: String.self)
      }
      let expected = try contents(paths[0], .unencrypted)
      #expect(expected.contains("7red two"))
      #expect(expected.contains("12x"))
      let key = try EncryptionKey.raw(ExportTests.key)
      try db.export(to: paths[1], key: key)
      #expect(try contents(paths[1], key) == expected)
      let encrypted = try SqliteDatabase(filepath: paths[1], configuration: .init(foreignKeys: false, key: key))
      try encrypted.export(to: paths[2], key: nil)
      #expect(try contents(paths[2], .unencrypted) == expected)
      try encrypted.execute("INSERT INTO ft (ft) VALUES ('integrity-check')")
    }
  }

  @Test func failedExportLeavesNoFile() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(key: .raw(ExportTests.key)))
      try fill(db)
      try db.transaction { db in
        #expect(sqlError { try db.export(to: directory + "/b.sqlite", key: nil) }?.kindIsMisuse == true)
      }
      #expect(sqlError { try db.export(to: directory + "/none/b.sqlite", key: nil) }?.kind == .cannotOpen)
      let wrong = CipherSettings(plaintextHeaderSize: 32)
      #expect(sqlError { try db.export(to: directory + "/b.sqlite", key: .passphrase("a"), cipher: wrong) } != nil)
      #expect(files(in: directory).allSatisfy { $0.hasPrefix("a.sqlite") })
      let memory = try SqliteDatabase.inMemory()
      #expect(sqlError { try memory.export(to: directory + "/b.sqlite", key: nil) }?.kindIsMisuse == true)
    }
  }

  @Test(arguments: ["a cancellation", "a closed pool", "a deadline"])
  func anExportEndsBeforeItIsDone(_ way: String) async throws {
    let (isSlow, begun, hasEnded) = (Mutex(false), Mutex(false), Mutex(false))
    var configuration = PoolConfiguration(handles: Configuration(key: try .raw(ExportTests.key)))
    configuration.handles.onOpen("slow") { db in
      try db.register(
        ScalarFunction("slow", isDeterministic: true, isAllowedInSchema: true) { (number: Int) in
          if isSlow.withLock({ $0 }) {
            begun.withLock { $0 = true }
            usleep(1_000)
          }
          return number
        })
    }
    try await withDirectoryAsync { [configuration] directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: configuration)
      try await pool.transaction { db in
        try db.execute(
          """
          CREATE TABLE t (a INTEGER);
          CREATE INDEX slow ON t (slow(a));
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
          INSERT INTO t SELECT i FROM n;
          """)
      }
      isSlow.withLock { $0 = true }
      // The copy takes minutes.
      let export = Task {
        defer { hasEnded.withLock { $0 = true } }
        try await withDeadline(way == "a deadline" ? .milliseconds(300) : .seconds(3_600)) {
          try await pool.export(to: directory + "/b.sqlite", key: nil)
        }
      }
      try await until { begun.withLock { $0 } || hasEnded.withLock { $0 } }
      switch way {
      case "a cancellation": export.cancel()
      // Closing again waits for an export that a busy machine has not ended within a second.
      case "a closed pool": try await until { (try? pool.close(within: .zero)) != nil }
      default: break
      }
      var found: (any Error)?
      do { try await export.value } catch { found = error }
      switch way {
      case "a cancellation": #expect(found is CancellationError)
      case "a closed pool": #expect((found as? SqlError)?.kind == .closed, "\(found as Any)")
      default: #expect((found as? SqlError)?.kind == .timeout, "\(found as Any)")
      }
      isSlow.withLock { $0 = false }
      #expect(files(in: directory).allSatisfy { $0.hasPrefix("a.sqlite") })
      try await pool.close()
    }
  }
}
#endif
