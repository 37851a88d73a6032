#if SQLCipher
import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableTracing
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Plain files that become encrypted ones under open handles and pools.
@Suite struct FileEncryptionTests {
  private static let bytes = [UInt8](0..<32)

  /// The configuration of a plain file.
  private static func plain(_ journalMode: Configuration.JournalMode = .wal) -> Configuration {
    Configuration(busyTimeout: 5, journalMode: journalMode, key: .unencrypted)
  }

  private func withPlain(
    _ configuration: Configuration = FileEncryptionTests.plain(),
    _ body: (SqliteDatabase, String, EncryptionKey) throws -> Void
  ) throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try db.createTable(Person.self)
      try Person.insert((1...200).map { Person(id: nil, name: "Annabella \($0)") }).run(db)
      try body(db, path, .raw(FileEncryptionTests.bytes))
    }
  }

  private func count(_ path: String, _ key: EncryptionKey, _ cipher: CipherSettings = .init()) throws -> Int {
    try Person.count().run(SqliteDatabase(filepath: path, configuration: .init(key: key, cipher: cipher)))
  }

  @Test(arguments: [Configuration.JournalMode.wal, .delete]) func encryptReplacesAPlainFile(
    _ mode: Configuration.JournalMode
  ) throws {
    try withPlain(FileEncryptionTests.plain(mode)) { db, path, key in
      let before = FileIdentity(path)
      try db.encrypt(with: key)
      #expect(FileIdentity(path) == before)
      #expect(try Person.count().run(db) == 200)
      try Person(id: nil, name: "Bo").insert().run(db)
      #expect(try count(path, key) == 201)
      #expect(sqlError { _ = try count(path, .unencrypted) }?.kind == .notADatabase)
      for name in files(in: path.replacingOccurrences(of: "/a.sqlite", with: "")) {
        #expect(try !file(path.replacingOccurrences(of: "a.sqlite", with: name), contains: "Annabella"))
      }
      #expect(try db.query("PRAGMA journal_mode", as: String.self) == [mode.rawValue])
      try db.rekey(to: .passphrase("horse"))
      #expect(try count(path, .passphrase("horse")) == 201)
      try db.close()
      #expect(files(in: path.replacingOccurrences(of: "/a.sqlite", with: "")) == ["a.sqlite"])
    }
  }

  @Test func everythingInTheFileIsKept() throws {
    try withDirectory { directory in
      let (path, key) = (directory + "/a.sqlite", try EncryptionKey.raw(FileEncryptionTests.bytes))
      let db = try SqliteDatabase(filepath: path, configuration: FileEncryptionTests.plain(.delete))
      try db.execute("PRAGMA auto_vacuum = INCREMENTAL")
      try db.execute(
        """
        CREATE TABLE t (a TEXT, twice TEXT AS (a || a) STORED);
        CREATE TABLE n (id INTEGER PRIMARY KEY AUTOINCREMENT);
        CREATE TABLE keyed (k TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE INDEX t_a ON t (a);
        CREATE VIEW v AS SELECT a FROM t;
        CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO n VALUES (NULL); END;
        CREATE VIRTUAL TABLE ft USING fts5(title);
        INSERT INTO t (rowid, a) VALUES (7, 'Annabella'), (9, 'Bo');
        INSERT INTO keyed VALUES ('k');
        INSERT INTO ft VALUES ('red'), ('blue');
        INSERT INTO n VALUES (41);
        ANALYZE;
        PRAGMA user_version = 12;
        PRAGMA application_id = 77;
        """)
      func contents() throws -> [String] {
        var all: [String] = []
        for sql: SQL in [
          "SELECT rowid || ' ' || a || ' ' || twice FROM t",
          "SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY name",
          "SELECT title FROM ft WHERE ft MATCH 'red'", "SELECT name || seq FROM sqlite_sequence",
          "SELECT tbl || stat FROM sqlite_stat1 ORDER BY 1", "SELECT a FROM v UNION ALL SELECT k FROM keyed",
          "SELECT CAST(id AS TEXT) FROM n",
        ] { all += try db.query(sql, as: String.self) }
        for name in ["user_version", "application_id", "auto_vacuum"] {
          all += try db.locked { try db.openConnection().rows("PRAGMA \(name)").map { $0[0] } }
        }
        return all
      }
      let expected = try contents()
      #expect(expected.suffix(3) == ["12", "77", "2"])
      #expect(expected.contains("n41"))
      try db.encrypt(with: key)
      #expect(try contents() == expected)
      try db.execute("INSERT INTO t (a) VALUES ('Cid')")
      #expect(try db.query("SELECT max(id) FROM n", as: Int.self) == [42])
    }
  }

  @Test func theFileGetsTheCipherSettingsOfTheHandle() throws {
    var configuration = FileEncryptionTests.plain()
    configuration.cipher = CipherSettings(pageSize: 8_192, kdfIterations: 2_000, hmacDigest: .sha256)
    try withPlain(configuration) { db, path, _ in
      let key = try EncryptionKey.passphrase("horse")
      chmod(path, 0o640)
      try db.encrypt(with: key)
      #expect(try count(path, key, configuration.cipher) == 200)
      #expect(sqlError { _ = try count(path, key) }?.kind == .wrongKey)
      #expect(FileIdentity.info(path).map { $0.st_mode & 0o777 } == 0o640)
      try db.createChild().export(to: path + ".plain", key: nil)
      #expect(try count(path + ".plain", .unencrypted) == 200)
    }
  }

  @Test func allHandlesAndPoolsOfTheProcessUseTheKey() throws {
    try withPlain { db, path, key in
      let child = try db.createChild()
      let other = try SqliteDatabase(filepath: path, configuration: FileEncryptionTests.plain())
      let reader = try SqliteDatabase(
        filepath: path, configuration: .init(isReadOnly: true, key: .unencrypted))
      let lazy = try SqliteDatabase(filepath: path, configuration: .init(opensLazily: true, key: .unencrypted))
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: FileEncryptionTests.plain()))
      #expect(try Person.count().run(pool) == 200)
      #expect(try Person.count().run(reader) == 200)
      let prepared = try other.prepare(Person.read().filter(Person.name == Parameter("name")))
      let changes = Collected<Int>()
      let observer = child.observe(.insert, on: Person.self) { _ in changes.append(1) }
      try db.encrypt(with: key)
      for handle in [db, child, other, reader, lazy] { #expect(try Person.count().run(handle) == 200) }
      #expect(try prepared.run(["name": "Annabella 7"]).count == 1)
      try Person(id: nil, name: "Bo").insert().run(child)
      #expect(changes.values.count == 1)
      try Person(id: nil, name: "Cid").insert().run(pool)
      #expect(try Person.count().run(other) == 202)
      #expect(try Person.count().run(other.createChild()) == 202)
      #expect(SqliteDatabase.handles(at: path).count == 5)
      _ = observer
      try pool.rekey(to: .passphrase("horse"))
      for handle in [db, child, other, reader, lazy] { #expect(try Person.count().run(handle) == 202) }
      try pool.close()
    }
  }

  @Test func aPoolContinuesBesideReadersAndWriters() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/a.sqlite"
      let pool = try SqlitePool(
        filepath: path,
        configuration: .init(handles: .init(busyTimeout: 600, key: .unencrypted), readers: 3, waitTimeout: nil))
      try await pool.transaction { db in _ = try db.createTable(Person.self) }
      let (errors, isEncrypted) = (Collected<SqlError>(), LockedValue(false))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<6 {
          group.addTask {
            var (round, after) = (0, 0)
            while after < 20 {
              do {
                if task < 2 {
                  try await Person(id: nil, name: "\(task) \(round)").insert().run(pool)
                  round += 1
                } else {
                  _ = try await pool.read { db in try (Person.count().run(db), Person.read().run(db).count) }
                }
                if isEncrypted.withLock({ $0 }) { after += 1 }
              } catch let error as SqlError {
                errors.append(error)
                after += 1
              }
            }
            if task < 2 {
              let rows = try await Person.count().filter(Person.name.hasPrefix("\(task) ")).run(pool)
              #expect(rows == round)
            }
          }
        }
        try await Task.sleep(for: .milliseconds(50))
        try await pool.encrypt(with: .raw(FileEncryptionTests.bytes))
        isEncrypted.withLock { $0 = true }
        try await group.waitForAll()
      }
      #expect(errors.values.isEmpty, "\(errors.values)")
      let rows = try await Person.count().run(pool)
      try await pool.close()
      #expect(try count(path, .raw(FileEncryptionTests.bytes)) == rows)
    }
  }

  @Test(.needsPreupdateHook) func liveResultsAreReadAgainAndLoopsReceiveMissed() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(
        filepath: directory + "/a.sqlite", configuration: .init(handles: FileEncryptionTests.plain()))
      try await pool.transaction { db in _ = try db.createTable(Member.self) }
      let reads = LockedValue(0)
      let counts = Follower(
        pool.updates { db in
          reads.withLock { $0 += 1 }
          return try Member.count().run(db)
        })
      try await until { counts.values == [0] }
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      try await Member(id: 1, name: "Anna").insert().run(pool)
      try await until { counts.latest == 1 }
      let before = reads.withLock { $0 }
      try await pool.encrypt(with: .raw(FileEncryptionTests.bytes))
      try await until { reads.withLock { $0 } > before }
      try await Member(id: 2, name: "Bo").insert().run(pool)
      try await until { counts.latest == 2 }
      var events: [String] = []
      while events.last != "row 2" {
        switch await changes.next() {
        case .row(let change)?: events.append("row \(change.id)")
        case .missed?: events.append("missed")
        case nil: events.append("row 2")
        }
      }
      #expect(events.contains("missed"), "\(events)")
      try await pool.close()
    }
  }

  @Test func aCancelledEncryptionLeavesThePlainFile() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/a.sqlite"
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: FileEncryptionTests.plain()))
      try await pool.transaction { db in _ = try db.createTable(Person.self) }
      let block = try await pool.block()
      let task = Task { try await pool.encrypt(with: .raw(FileEncryptionTests.bytes)) }
      task.cancel()
      try await Task.sleep(for: .milliseconds(20))
      block.end()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try count(path, .unencrypted) == 0)
      try await pool.close()
    }
  }

  @Test(arguments: [false, true]) func aRunningEncryptionEndsWithItsTaskOrDeadline(_ hasDeadline: Bool) async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/a.sqlite"
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: FileEncryptionTests.plain()))
      try await pool.transaction { db in
        try db.execute("CREATE TABLE big (id INTEGER PRIMARY KEY, bytes BLOB)")
        try db.execute("INSERT INTO big SELECT value, randomblob(2000) FROM json_each(\(json: Array(1...20_000)))")
      }
      let key = try EncryptionKey.raw(FileEncryptionTests.bytes)
      if hasDeadline {
        let error = await #expect(throws: SqlError.self) {
          try await withDeadline(.milliseconds(100)) { try await pool.encrypt(with: key) }
        }
        #expect(error?.kind == .timeout, "\(error as Any)")
      } else {
        let task = Task { try await pool.encrypt(with: key) }
        // On a thread, which does not wait for other tests.
        try await onThread {
          waitUntil { access(path + ".sqlable-partial", F_OK) == 0 }
          task.cancel()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      #expect(try await pool.read { db in try db.query("SELECT count(*) FROM big", as: Int.self) } == [20_000])
      #expect(try file(path, contains: "SQLite format"))
      #expect(!files(in: directory).contains { $0.hasSuffix("partial") || $0.hasSuffix("journal") })
      try await pool.encrypt(with: key)
      #expect(try await pool.read { db in try db.query("SELECT count(*) FROM big", as: Int.self) } == [20_000])
      try await pool.close()
    }
  }

  @Test func rowsThatViolateACheckAreCopied() throws {
    try withPlain { db, path, key in
      // The table has neither an integer key nor an index, so that the copy assigns its rowids again.
      try db.execute(
        """
        CREATE TABLE bike (price INTEGER CHECK (price > 0));
        PRAGMA ignore_check_constraints = ON;
        INSERT INTO bike (rowid, price) VALUES (3, 7), (9, -1);
        PRAGMA ignore_check_constraints = OFF;
        """)
      try db.export(to: path + ".copy", key: key)
      try db.encrypt(with: key)
      let copy = try SqliteDatabase(filepath: path + ".copy", configuration: .init(key: key))
      for file in [db, copy] {
        #expect(try file.query("SELECT rowid || ' ' || price FROM bike", as: String.self) == ["3 7", "9 -1"])
        #expect(sqlError { try file.execute("INSERT INTO bike VALUES (-2)") }?.kind == .constraint(.check))
      }
      try db.backup(to: path + ".backup")
    }
  }

  @Test func nullInANotNullColumnIsNoDamage() throws {
    try withPlain(FileEncryptionTests.plain(.delete)) { first, path, key in
      try first.execute("CREATE TABLE bike (price INTEGER /*    */); INSERT INTO bike VALUES (NULL)")
      try first.close()
      // As by a program that has changed the definition with `PRAGMA writable_schema`.
      var contents = try Data(contentsOf: URL(filePath: path))
      let comment = try #require(contents.range(of: Data("/*    */".utf8)))
      contents.replaceSubrange(comment, with: Data("NOT NULL".utf8))
      try contents.write(to: URL(filePath: path))
      let db = try SqliteDatabase(filepath: path, configuration: FileEncryptionTests.plain(.delete))
      for work in [{ try db.encrypt(with: key) }, { try db.backup(to: path + ".copy") }] {
        let error = expectError(.constraint(.notNull)) { try work() }
        #expect(error?.message.contains("NULL value in bike.price") == true, "\(error as Any)")
      }
      #expect(try count(path, .unencrypted) == 200)
    }
  }

  @Test func attachedFilesStayPlain() throws {
    try withDirectory { directory in
      let paths = [directory + "/a.sqlite", directory + "/b.sqlite"]
      var configuration = FileEncryptionTests.plain()
      configuration.attached = ["other": paths[1]]
      let db = try SqliteDatabase(filepath: paths[0], configuration: configuration)
      try db.execute("CREATE TABLE other.person (id INTEGER PRIMARY KEY, name TEXT)")
      try db.encrypt(with: .raw(FileEncryptionTests.bytes))
      #expect(try db.query("SELECT count(*) FROM other.person", as: Int.self) == [0])
      #expect(try db.createChild().query("SELECT count(*) FROM other.person", as: Int.self) == [0])
      #expect(try count(paths[1], .unencrypted) == 0)
      try db.close()
      // After the restart, the configuration must say that the attached file is plain.
      configuration.key = try .raw(FileEncryptionTests.bytes)
      let error = sqlError { _ = try SqliteDatabase(filepath: paths[0], configuration: configuration) }
      #expect(error?.kind == .wrongKey)
      #expect(error?.message.contains("other is not encrypted; use attachedKeys") == true, "\(error as Any)")
      configuration.attachedKeys = ["other": .unencrypted]
      let again = try SqliteDatabase(filepath: paths[0], configuration: configuration)
      #expect(try again.query("SELECT count(*) FROM other.person", as: Int.self) == [0])
    }
  }

  @Test func theHolderOfABlockCanEncrypt() throws {
    try withPlain { db, path, key in
      let child = try db.createChild()
      let block = try db.block()
      try db.encrypt(with: key)
      #expect(try Person.count().run(block) == 200)
      block.end()
      #expect(try Person.count().run(child) == 200)
      #expect(try count(path, key) == 200)
    }
  }

  @Test func tracesDoNotContainTheKey() throws {
    let seen = Collected<String>()
    let token = SqliteDatabase.traceAll { event in seen.append("\(event)") }
    defer { SqliteDatabase.removeTraceOfAll(token) }
    try withPlain { db, _, _ in
      try db.encrypt(with: .passphrase("correct battery"))
      #expect(try Person.count().run(db) == 200)
    }
    #expect(!seen.values.isEmpty)
    #expect(!seen.values.contains { $0.contains("correct battery") })
  }

  @Test func aPoolInMemoryCanBeEncrypted() throws {
    let pool = try SqlitePool.inMemory(configuration: .init(handles: FileEncryptionTests.plain()))
    try pool.transaction { db in _ = try db.createTable(Person.self) }
    try pool.encrypt(with: .raw(FileEncryptionTests.bytes))
    try Person(id: nil, name: "Bo").insert().run(pool)
    #expect(try Person.count().run(pool) == 1)
    try pool.close()
  }
}
#endif
