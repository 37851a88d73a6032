import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Restores into a database in use.
@Suite struct RestoreTests {
  @Test(.needsSQLiteProgram)
  func errorForABackupWithAHotJournalNamesTheRemedy() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db)
      let path = db.filepath + ".backup"
      try db.backup(to: path)
      let before = try BackupTrial.contents(of: path)
      let process = try SQLiteProcess(path)
      try process.run("PRAGMA cache_size = 1; BEGIN; UPDATE account SET padding = randomblob(3000);")
      process.kill()
      let error = expectError(.readOnly) { try db.restore(from: path) }
      #expect(error?.message.contains("open the file once with a writable handle") == true)
      try SqliteDatabase(filepath: path, configuration: Configuration(journalMode: .delete)).close()
      try db.restore(from: path)
      #expect(try BackupTrial.contents(db) == before)
    }
  }

  @Test(.needsPlainFiles("the file is made without the library")) func aBackupOfAnotherTextEncodingIsRefused() throws {
    try withDirectory { directory in
      let other = directory + "/other.sqlite"
      var made = Configuration(journalMode: .delete)
      made.onOpen("encoding") { db in try db.execute("PRAGMA encoding = 'UTF-16le'") }
      let source = try SqliteDatabase(filepath: other, configuration: made)
      try source.execute("CREATE TABLE t (a); INSERT INTO t VALUES ('x')")
      try source.close()
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try pool.execute("CREATE TABLE t (a)")
      let error = expectMisuse { try pool.restore(from: other) }
      #expect(error?.message.contains("text encoding UTF-8, but the backup has UTF-16le") == true)
      #expect(try pool.query("SELECT count(*) FROM t", as: Int.self) == [0])
      try pool.execute("INSERT INTO t VALUES (1)")
      try pool.close()
    }
  }

  @Test(arguments: [Configuration.JournalMode.wal, .delete])
  func otherConnectionsSeeTheOldRowsOrTheNew(_ mode: Configuration.JournalMode) throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(journalMode: mode))
      try BackupTrial.prepare(db)
      try db.transaction { db in try BackupTrial.transfer(db, 1) }
      try db.backup(to: directory + "/backup")
      try db.transaction { db in try BackupTrial.transfer(db, 2) }
      try db.execute("CREATE TABLE later (a)")
      let child = try db.createChild()
      let other = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(journalMode: mode))
      #expect(try BackupTrial.expectOneCommit(child) == 2)
      try other.transaction(.deferred) { other in
        guard mode == .wal else { return }
        #expect(try BackupTrial.expectOneCommit(other) == 2)
        try db.restore(from: directory + "/backup")
        #expect(try BackupTrial.expectOneCommit(other) == 2)
      }
      if mode != .wal { try db.restore(from: directory + "/backup") }
      for handle in [db, child, other] {
        #expect(try BackupTrial.expectOneCommit(handle) == 1)
        expectSqlError { try handle.execute("SELECT * FROM later") }
        #expect(try handle.query("PRAGMA journal_mode", as: String.self) == [mode.rawValue])
      }
      // All handles can write after the restore.
      for (number, handle) in [db, child, other].enumerated() {
        try handle.transaction { db in try BackupTrial.transfer(db, number + 5) }
      }
      #expect(try BackupTrial.expectOneCommit(db) == 4)
    }
  }

  @Test(.needsSQLiteProgram) func restoreReachesAProcessWithAnOpenFile() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      try db.backup(to: db.filepath + ".copy")
      try Person(id: nil, name: "Bert").insert().run(db)
      let process = try SQLiteProcess(db.filepath)
      #expect(try process.run("SELECT count(*) FROM person;") == "2")
      try db.restore(from: db.filepath + ".copy")
      #expect(try process.run("SELECT count(*) FROM person;") == "1")
      try process.run("INSERT INTO person (name) VALUES ('Carl');")
      #expect(try Person.read().run(db).map(\.name) == ["Anna", "Carl"])
      process.quit()
    }
  }

  @Test(.needsPreupdateHook) func restoreWakesLoops() async throws {
    try await withMembers { pool in
      let path = pool.filepath + ".backup"
      try await Member(id: 1, name: "Ann").insert().run(pool)
      try await pool.backup(to: path)
      try await Member(id: 2, name: "Bea").insert().run(pool)
      var updates = Member.read().orderBy(Member.id).updates(in: pool).makeAsyncIterator()
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      #expect(try await updates.next()?.map(\.name) == ["Ann", "Bea"])
      try await pool.restore(from: path)
      #expect(try await updates.next()?.map(\.name) == ["Ann"])
      guard case .missed = await changes.next() else {
        Issue.record("the restore was not reported")
        return
      }
      try await Member(id: 3, name: "Cleo").insert().run(pool)
      guard case .row(let row) = await changes.next() else {
        Issue.record("no row")
        return
      }
      #expect(row.id == 3)
      #expect(try await updates.next()?.map(\.name) == ["Ann", "Cleo"])
      // A restore by another handle is an external commit.
      let other = try SqliteDatabase(filepath: pool.filepath)
      try other.restore(from: path)
      #expect(try await updates.next()?.map(\.name) == ["Ann"])
    }
  }

  @Test func poolServesCallsDuringARestore() async throws {
    try await withDirectoryAsync { directory in
      let configuration = PoolConfiguration(handles: .init(busyTimeout: 600), waitTimeout: nil)
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: configuration)
      try await pool.withWriter { db in try BackupTrial.prepare(db) }
      try await pool.backup(to: directory + "/backup")
      try await withThrowingTaskGroup(of: Void.self) { group in
        let isDone = Mutex(false)
        for _ in 0..<2 {
          group.addTask {
            while !isDone.withLock({ $0 }) {
              try await pool.read { db in _ = try BackupTrial.expectOneCommit(db) }
            }
          }
        }
        group.addTask {
          var number = 1
          while !isDone.withLock({ $0 }) {
            let next = number
            try await pool.transaction { db in try BackupTrial.transfer(db, next) }
            number += 1
          }
        }
        for _ in 0..<times(30) { try await pool.restore(from: directory + "/backup", BackupOptions(pagesPerStep: 3)) }
        isDone.withLock { $0 = true }
        try await group.waitForAll()
      }
      try await pool.close()
    }
  }

  @Test(.needsPlainFiles("the cipher settings say the size of a page"), arguments: [512, 1_024, 65_536])
  func pagesOfAnotherSizeAreConverted(_ size: Int) throws {
    try withDirectory { directory in
      let old = try SqliteDatabase(
        filepath: directory + "/old.sqlite", configuration: .init(journalMode: .delete))
      try old.execute(SQL(verbatim: "PRAGMA page_size = \(size); VACUUM"))
      try BackupTrial.prepare(old, accounts: 500)
      try old.execute("CREATE TABLE plain (a); INSERT INTO plain VALUES (1), (2), (3); DELETE FROM plain WHERE a = 2")
      try old.backup(to: directory + "/backup")
      #expect(try old.query("PRAGMA page_size", as: Int.self) == [size])
      let expected = try BackupTrial.contents(old)
      for mode in [Configuration.JournalMode.wal, .delete] {
        let db = try SqliteDatabase(filepath: directory + "/\(mode).sqlite", configuration: .init(journalMode: mode))
        try db.createTable(Person.self)
        let child = try db.createChild()
        try db.restore(from: directory + "/backup")
        for handle in [db, child] { #expect(try BackupTrial.contents(handle) == expected) }
        #expect(try db.query("SELECT rowid FROM plain", as: Int.self) == [1, 3])
      }
      #expect(files(in: directory).filter { $0.contains("partial") }.isEmpty)
    }
  }

  @Test(.needsPlainFiles("a database in memory is not encrypted"), .needs(36, "a child of a database in memory"))
  func pagesOfAnotherSizeAreRefusedInMemory() throws {
    try withDirectory { directory in
      let old = try SqliteDatabase(filepath: directory + "/old.sqlite", configuration: .init(journalMode: .delete))
      try old.execute("PRAGMA page_size = 1024; VACUUM")
      try old.createTable(Person.self)
      let memory = try SqliteDatabase.inMemory()
      try memory.createTable(Car.self)
      expectMisuse { try memory.restore(from: directory + "/old.sqlite") }
      #expect(try Car.count().run(memory) == 0)
      try SqliteDatabase.inMemory().restore(from: directory + "/old.sqlite")
    }
  }

  @Test(.needsPlainFiles("with a key no file is another format")) func nonDatabaseFilesAreRefused() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db)
      let path = db.filepath + ".other"
      func expect(_ kind: SqlError.Kind, _ bytes: Data) throws {
        try bytes.write(to: URL(fileURLWithPath: path))
        expectError(kind) { try db.restore(from: path) }
        #expect(BackupTrial.bytes(path) == bytes)
      }
      try expect(.notADatabase, Data())
      try expect(.notADatabase, Data(repeating: 65, count: 10_000))
      try expect(.notADatabase, Data("short".utf8))
      unlink(path)
      expectError(.cannotOpen) { try db.restore(from: path) }
      expectError(.cannotOpen) { try db.restore(from: (path as NSString).deletingLastPathComponent) }
      expectError(.cannotOpen) { try db.restore(from: "/dev/zero") }
      #expect(try BackupTrial.expectOneCommit(db) == 0)
    }
  }

  @Test func damagedBackupIsRefused() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db, accounts: 500)
      let path = db.filepath + ".copy"
      try db.backup(to: path)
      let sound = try #require(BackupTrial.bytes(path))
      var random = SeededGenerator(seed: 7)
      var refused = 0
      for _ in 0..<times(60) {
        var damaged = sound
        let page = Int.random(in: 1..<(sound.count / 4_096), using: &random)
        let bytes = (0..<512).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        damaged.replaceSubrange(page * 4_096..<page * 4_096 + 512, with: bytes)
        try damaged.write(to: URL(fileURLWithPath: path))
        let error = expectError(.corrupt) { try db.restore(from: path) }
        #expect(error?.message.hasPrefix("the backup: ") == true)
        refused += error == nil ? 0 : 1
        #expect(try BackupTrial.expectOneCommit(db) == 0)
      }
      #expect(refused == times(60))
      // The file is cut off in the middle.
      try sound.prefix(sound.count / 2).write(to: URL(fileURLWithPath: path))
      expectError(.corrupt) { try db.restore(from: path) }
      #expect(try BackupTrial.expectOneCommit(db) == 0)
    }
  }

  @Test(.needsPlainFiles("it damages pages by their contents")) func damagedSourceIsNotBackedUp() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let made = try SqliteDatabase(filepath: path)
      try BackupTrial.prepare(made, accounts: 500)
      try made.backup(to: directory + "/backup")
      try made.close()
      let before = BackupTrial.bytes(directory + "/backup")
      var bytes = try #require(BackupTrial.bytes(path))
      bytes.replaceSubrange(4_096 * 5..<4_096 * 6, with: Data(repeating: 9, count: 4_096))
      try bytes.write(to: URL(fileURLWithPath: path))
      let db = try SqliteDatabase(filepath: path)
      for options in [BackupOptions(), .vacuumed] {
        expectError(.corrupt) { try db.backup(to: directory + "/backup", options) }
      }
      #expect(BackupTrial.bytes(directory + "/backup") == before)
      #expect(files(in: directory).filter { $0.contains("partial") }.isEmpty)
      // Without checks, a backup can still save the rest.
      try db.backup(to: directory + "/rest", BackupOptions(checks: []))
      #expect(BackupTrial.bytes(directory + "/rest")?.count == bytes.count)
    }
  }

  /// A check for orphaned rows would refuse every backup of such a database.
  @Test func orphanedRowsAreBackedUpAndRestored() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      let shell = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(foreignKeys: false))
      try Bicycle(name: "Trek", color: "red", ownerId: 7).insert().run(shell)
      try db.backup(to: directory + "/backup")
      try Bicycle.deleteAll().run(db)
      try db.restore(from: directory + "/backup")
      #expect(try Bicycle.count().filter(Bicycle.ownerId == 7).run(db) == 1)
    }
  }

  @Test func checkedForeignKeysAndOtherSchemasAreRefused() throws {
    try withDirectory { directory in
      let loose = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(foreignKeys: false))
      try loose.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "Trek", color: "red", ownerId: 7).insert().run(loose)
      try loose.backup(to: directory + "/loose")
      let db = try SqliteDatabase(filepath: directory + "/b.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      let error = expectError(.constraint(.foreignKey)) {
        try db.restore(from: directory + "/loose", BackupOptions(checks: .all))
      }
      #expect(error?.message == "the backup: 1 rows of bicycle reference missing rows of person")
      #expect(try Bicycle.count().run(db) == 0)
      let schema = Schema(Person.self, Bicycle.self)
      try db.restore(from: directory + "/loose", BackupOptions(schema: schema))
      #expect(try Bicycle.count().run(db) == 1)
      let other = BackupOptions(checks: [], schema: Schema(Car.self))
      let missing = expectSqlError { try db.restore(from: directory + "/loose", other) }
      guard case .schema = missing?.kind else {
        Issue.record("\(String(describing: missing))")
        return
      }
    }
  }

  @Test(.needsSQLiteProgram) func restoreReadsTheWALOfABackup() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let path = db.filepath + ".other"
      try db.backup(to: path)
      let process = try SQLiteProcess(path)
      try process.run("PRAGMA journal_mode = WAL; INSERT INTO person (name) VALUES ('Anna');")
      try db.restore(from: path)
      #expect(try Person.read().run(db).map(\.name) == ["Anna"])
      process.quit()
      // A backup in WAL mode without a WAL: the restore leaves no other file.
      let names = files(in: (path as NSString).deletingLastPathComponent)
      try db.restore(from: path)
      #expect(files(in: (path as NSString).deletingLastPathComponent) == names)
    }
  }

  @Test(
    .needsPlainFiles("a database in memory is not encrypted"),
    arguments: [Configuration.JournalMode.wal, .delete, nil], [Configuration.JournalMode.wal, .persist, nil])
  func backupKeepsTheTargetsJournalMode(_ from: Configuration.JournalMode?, _ to: Configuration.JournalMode?) throws {
    guard SQLiteLibrary.isAtLeast(36) || from != nil && to != nil else { return }
    try withDirectory { directory in
      func open(_ name: String, _ mode: Configuration.JournalMode?) throws -> SqliteDatabase {
        guard let mode else { return try .inMemory() }
        return try SqliteDatabase(filepath: directory + name, configuration: .init(journalMode: mode))
      }
      let (db, other) = (try open("/a", from), try open("/b", to))
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      let before = try other.query("PRAGMA journal_mode", as: String.self)
      try db.backup(to: other)
      for handle in [other, try other.createChild()] {
        #expect(try Person.read().run(handle).map(\.name) == ["Anna"])
        #expect(try handle.query("PRAGMA journal_mode", as: String.self) == before)
        try Person(id: nil, name: "Bert").insert().run(handle)
        try Person.delete(Person.name == "Bert").run(handle)
      }
      #expect(files(in: directory).filter { $0.contains("partial") }.isEmpty)
    }
  }

  @Test func restoreDuringARowLoopIsRefused() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert([Person(id: nil, name: "Anna"), Person(id: nil, name: "Bert")]).run(db)
      try db.backup(to: db.filepath + ".copy")
      try Person.read().forEach(db) { _ in expectMisuse { try db.restore(from: db.filepath + ".copy") } }
      #expect(try Person.count().run(db) == 2)
    }
  }
}
