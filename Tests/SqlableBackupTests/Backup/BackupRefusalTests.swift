import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Targets and sources that a backup refuses before it writes anything.
@Suite struct BackupRefusalTests {
  @Test func backupOntoTheDatabaseItselfIsRefused() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try BackupTrial.prepare(db)
      symlink("a.sqlite", directory + "/soft")
      link(path, directory + "/hard")
      let before = (BackupTrial.bytes(path), BackupTrial.bytes(path + "-wal"), files(in: directory))
      let spellings = [
        path, directory + "/./a.sqlite", directory + "/../" + (directory as NSString).lastPathComponent + "/a.sqlite",
        directory + "//a.sqlite", directory + "/soft", directory + "/hard", path + "-wal", path + "-shm",
        path + "-journal", path + "-gate", "file:" + path, "file://\(path)?mode=rwc",
      ]
      for spelling in spellings {
        for options in [BackupOptions(), .vacuumed] {
          expectMisuse("\(spelling)") { try db.backup(to: spelling, options) }
        }
      }
      for spelling in [path, directory + "/soft", directory + "/hard", "file:" + path] {
        expectMisuse("\(spelling)") { try db.restore(from: spelling) }
      }
      expectMisuse { try db.backup(to: db) }
      expectMisuse { try db.backup(to: db.createChild()) }
      expectMisuse { try db.backup(to: SqliteDatabase(filepath: directory + "/soft")) }
      #expect(BackupTrial.bytes(path) == before.0)
      #expect(BackupTrial.bytes(path + "-wal") == before.1)
      #expect(files(in: directory) == before.2)
      #expect(try BackupTrial.expectOneCommit(db) == 0)
    }
  }

  @Test func aDatabaseNamedLikeTheTemporaryFileIsNotOverwritten() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlable-partial"
      let db = try SqliteDatabase(filepath: path)
      try BackupTrial.prepare(db)
      expectMisuse { try db.backup(to: directory + "/a") }
      #expect(try BackupTrial.expectOneCommit(db) == 0)
    }
  }

  @Test func invalidTargetPathsAreRefused() throws {
    try withDatabase { db in
      for path in ["", "a\0b", ":memory:"] { expectMisuse("\(path)") { try db.backup(to: path) } }
      let directory = (db.filepath as NSString).deletingLastPathComponent
      for path in [
        directory, directory + "/", directory + "/.", directory + "/missing/a", db.filepath + "/a", "/dev/null",
      ] {
        expectError(.cannotOpen, "\(path)") { try db.backup(to: path) }
      }
      #expect(!FileManager.default.fileExists(atPath: directory + "/missing"))
    }
  }

  @Test func anUnwritableDirectoryIsRefused() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let directory = (db.filepath as NSString).deletingLastPathComponent + "/b"
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
      let isDone = withUnwritable(directory) { expectError(.readOnly) { try db.backup(to: directory + "/a") } }
      chmod(directory, 0o755)
      if isDone { #expect(files(in: directory).isEmpty) }
    }
  }

  @Test(.needsPlainFiles("with a key no file is another format")) func fileOfAnotherFormatIsNotReplaced() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let path = db.filepath + ".txt"
      try Data("a letter that is longer than the header of a database, by some hundred bytes".utf8).write(
        to: URL(fileURLWithPath: path))
      let before = BackupTrial.bytes(path)
      expectError(.notADatabase) { try db.backup(to: path) }
      #expect(BackupTrial.bytes(path) == before)
      try Data().write(to: URL(fileURLWithPath: path))
      try db.backup(to: path)
      #expect(try SqliteDatabase(filepath: path).schema().tables.count == 1)
    }
  }

  @Test(.needsSQLiteProgram, arguments: [true, false])
  func openTargetIsRefused(_ isOtherProcess: Bool) throws {
    try withDatabase { db in
      try BackupTrial.prepare(db)
      let path = db.filepath + ".other"
      let other = try SqliteDatabase(filepath: path)
      try other.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(other)
      var process: SQLiteProcess?
      if isOtherProcess {
        process = try SQLiteProcess(path)
        try process?.run("INSERT INTO person (name) VALUES ('Bert');")
        try other.close()
      }
      expectError(.busy) { try db.backup(to: path) }
      #expect(!FileManager.default.fileExists(atPath: path + ".sqlable-partial"))
      if let process {
        #expect(try process.run("SELECT count(*) FROM person;") == "2")
        process.quit()
      } else {
        #expect(try Person.count().run(other) == 1)
        try other.close()
      }
      try db.backup(to: path)
      #expect(try BackupTrial.contents(of: path) == BackupTrial.contents(db))
    }
  }

  @Test(
    .needsSQLiteProgram,
    arguments: [
      ("-wal", "PRAGMA journal_mode = WAL; DELETE FROM account; CREATE TABLE intruder (a);"),
      ("-journal", "PRAGMA cache_size = 1; BEGIN; UPDATE account SET padding = randomblob(3000);"),
    ])
  func walOrHotJournalDoesNotEnterTheBackup(_ suffix: String, _ sql: String) throws {
    try withDatabase { db in
      try BackupTrial.prepare(db)
      let path = db.filepath + ".other"
      try db.backup(to: path)
      let process = try SQLiteProcess(path)
      try process.run(sql)
      process.kill()
      #expect(FileManager.default.fileExists(atPath: path + suffix))
      try db.backup(to: path)
      #expect(!FileManager.default.fileExists(atPath: path + suffix))
      #expect(try BackupTrial.contents(SqliteDatabase(filepath: path)) == BackupTrial.contents(db))
    }
  }

  @Test(arguments: ["-wal", "-journal"]) func walOrJournalWithoutADatabaseIsRefused(_ suffix: String) throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let path = db.filepath + ".other"
      try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + suffix))
      expectMisuse { try db.backup(to: path) }
      #expect(BackupTrial.bytes(path + suffix) == Data([1, 2, 3]))
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func aBackupInsideATransactionIsRefused() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.backup(to: db.filepath + ".copy")
      try db.transaction { db in
        expectMisuse { try db.backup(to: db.filepath + ".copy") }
        expectMisuse { try db.restore(from: db.filepath + ".copy") }
      }
      let pool = try SqlitePool(filepath: db.filepath)
      _ = try pool.read { db in expectMisuse { try db.backup(to: db.filepath + ".copy") } }
      _ = try pool.transaction { _ in expectMisuse { try pool.restore(from: db.filepath + ".copy") } }
      try pool.withWriter { db in try db.backup(to: db.filepath + ".copy") }
      try pool.close()
    }
  }

  @Test func replacedSourceIsDetected() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db, accounts: 500, padding: 1_000)
      let copy = db.filepath + ".copy"
      let path = db.filepath
      expectError(.io) {
        try db.backup(to: copy, BackupOptions(pagesPerStep: 10) { _ in rename(path, path + ".moved") })
      }
      #expect(!FileManager.default.fileExists(atPath: copy))
      expectError(.io) { try db.backup(to: copy) }
    }
  }

  @Test func invalidOptionsAreRefused() throws {
    try withDatabase { db in
      for options in [
        BackupOptions(pagesPerStep: 0), BackupOptions(pagesPerStep: -1), BackupOptions(pagesPerStep: .max),
        BackupOptions(bytesPerSecond: 0), BackupOptions(database: ""), BackupOptions(database: "a\0"),
      ] {
        expectMisuse { try db.backup(to: db.filepath + ".copy", options) }
        expectMisuse { try db.restore(from: db.filepath + ".copy", options) }
      }
    }
  }
}
