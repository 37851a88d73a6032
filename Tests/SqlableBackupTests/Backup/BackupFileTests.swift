import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Backups into a file.
@Suite struct BackupFileTests {
  @Test(
    .needsPlainFiles("it reads the header"), arguments: [BackupOptions.Method.copied, .vacuumed],
    [Configuration.JournalMode.wal, .delete])
  func backupIsCompleteAndNeedsNoOtherFile(_ method: BackupOptions.Method, _ mode: Configuration.JournalMode) throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(journalMode: mode))
      try BackupTrial.prepare(db)
      for number in 1...20 { try db.transaction { db in try BackupTrial.transfer(db, number) } }
      try FileManager.default.createDirectory(atPath: directory + "/b", withIntermediateDirectories: false)
      let copy = directory + "/b/copy.sqlite"
      try db.backup(to: copy, BackupOptions(method: method))
      #expect(files(in: directory + "/b") == ["copy.sqlite"])
      // Bytes 18 and 19 are 1 in a file without WAL mode, which needs no other files.
      let header = try #require(BackupTrial.bytes(copy))
      #expect(header[18] == 1)
      #expect(header[19] == 1)
      #expect(try BackupTrial.contents(of: copy) == BackupTrial.contents(db))
      #expect(files(in: directory + "/b") == ["copy.sqlite"])
      #expect(try BackupTrial.expectOneCommit(SqliteDatabase(filepath: copy)) == 20)
    }
  }

  @Test(.needsSQLiteProgram) func anotherProgramCanReadTheCopy() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      try db.backup(to: db.filepath + ".copy")
      let process = try SQLiteProcess(db.filepath + ".copy")
      #expect(try process.run("SELECT name FROM person; PRAGMA journal_mode;") == "Anna\ndelete")
      process.quit()
    }
  }

  @Test func backupReplacesAnEarlierOneAtomically() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let copy = db.filepath + ".copy"
      for count in 1...3 {
        try Person(id: nil, name: "Anna").insert().run(db)
        let before = BackupTrial.bytes(copy)
        try db.backup(to: copy, BackupOptions(pagesPerStep: 1) { _ in #expect(BackupTrial.bytes(copy) == before) })
        #expect(try Person.count().run(SqliteDatabase(filepath: copy, configuration: .init(isReadOnly: true))) == count)
      }
    }
  }

  @Test func progressReachesTheEnd() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db, accounts: 2_000, padding: 1_000)
      let seen = Mutex<[BackupProgress]>([])
      try db.backup(to: db.filepath + ".copy", BackupOptions(pagesPerStep: 10) { p in seen.withLock { $0.append(p) } })
      let all = seen.withLock { $0 }
      #expect(all.count > 20)
      #expect(all.last?.fraction == 1)
      #expect(all.first?.copiedPages == 10)
      #expect(zip(all, all.dropFirst()).allSatisfy { $0.copiedPages < $1.copiedPages })
      #expect(all.last?.pageSize == 4_096)
    }
  }

  @Test func theRateIsLimited() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db, accounts: 500, padding: 1_000)
      let clock = ContinuousClock()
      let options = BackupOptions(pagesPerStep: 10, bytesPerSecond: 1 << 20)
      let took = try clock.measure { try db.backup(to: db.filepath + ".copy", options) }
      let size = try #require(BackupTrial.bytes(db.filepath + ".copy")?.count)
      let least = Double(size - 40_960) / Double(1 << 20)
      #expect(took >= .seconds(least))
      #expect(size > 400_000)
    }
  }

  @Test func backupHasThePermissionsOfTheSource() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      for mode: mode_t in [0o600, 0o640, 0o664] {
        chmod(db.filepath, mode)
        try db.backup(to: db.filepath + ".copy")
        var info = stat()
        let status = stat(db.filepath + ".copy", &info)
        #expect(status == 0)
        #expect(info.st_mode & 0o777 == mode)
      }
    }
  }

  @Test func emptyDatabaseIsBackedUpAndRestored() throws {
    try withDatabase { db in
      try db.backup(to: db.filepath + ".copy")
      try db.backup(to: db.filepath + ".small", .vacuumed)
      for copy in [".copy", ".small"] {
        let other = try SqliteDatabase(filepath: db.filepath + copy)
        #expect(try other.query("SELECT count(*) FROM sqlite_schema", as: Int.self) == [0])
        try other.close()
        try db.createTable(Person.self)
        try db.restore(from: db.filepath + copy)
        #expect(try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self) == [0])
      }
    }
  }

  @Test func aReadOnlyHandleIsBackedUp() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      let reader = try SqliteDatabase(filepath: db.filepath, configuration: .init(isReadOnly: true))
      try reader.backup(to: db.filepath + ".copy")
      #expect(try Person.count().run(SqliteDatabase(filepath: db.filepath + ".copy")) == 1)
      expectError(.readOnly) { try reader.restore(from: db.filepath + ".copy") }
    }
  }

  @Test func anAttachedDatabaseIsBackedUp() throws {
    try withDirectory { directory in
      let archive = directory + "/archive.sqlite"
      try SqliteDatabase(filepath: archive).createTable(Person.self)
      let db = try SqliteDatabase(
        filepath: directory + "/a.sqlite", configuration: .init(attached: ["old one": archive]))
      try Person(id: nil, name: "Anna").insert().in(database: "old one").run(db)
      for method in [BackupOptions.Method.copied, .vacuumed] {
        try db.backup(to: directory + "/copy", BackupOptions(method: method, database: "old one"))
        #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/copy")) == 1)
        try SqliteDatabase.deleteDatabase(at: directory + "/copy")
      }
      expectMisuse { try db.backup(to: archive, BackupOptions(database: "old one")) }
      expectMisuse { try db.backup(to: directory + "/copy", BackupOptions(database: "other")) }
    }
  }

  @Test(.needsPlainFiles("a database in memory is not encrypted"), .needs(36, "a child of a database in memory"))
  func inMemoryDatabasesAreBackedUpAndRestored() throws {
    try withDirectory { directory in
      let memory = try SqliteDatabase.inMemory()
      try memory.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(memory)
      try memory.backup(to: directory + "/copy.sqlite")
      let other = try SqliteDatabase.inMemory()
      try other.restore(from: directory + "/copy.sqlite")
      #expect(try Person.read().run(other).map(\.name) == ["Anna"])
      try Person(id: nil, name: "Bert").insert().run(other)
      try other.backup(to: memory)
      #expect(try Person.count().run(memory) == 2)
      let file = try SqliteDatabase(filepath: directory + "/file.sqlite")
      try memory.backup(to: file)
      #expect(try Person.count().run(file) == 2)
      try memory.backup(to: directory + "/copy.sqlite", .vacuumed)
      #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/copy.sqlite")) == 2)
    }
  }

  @Test func backupCheckUsesTheCollationsOfTheHandle() throws {
    try withDatabase { db in
      try db.register(Collation("backwards") { $1.compare($0) })
      try db.execute("CREATE TABLE t (a TEXT COLLATE backwards); CREATE INDEX i ON t (a)")
      try db.execute("INSERT INTO t VALUES ('a'), ('b'), ('c')")
      try db.backup(to: db.filepath + ".copy")
      try db.restore(from: db.filepath + ".copy")
      #expect(try db.query("SELECT a FROM t ORDER BY a", as: String.self) == ["c", "b", "a"])
    }
  }

  @Test func symbolicLinkAtTheTargetIsKept() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTable(Person.self)
      try FileManager.default.createDirectory(atPath: directory + "/b", withIntermediateDirectories: false)
      try db.backup(to: directory + "/b/real.sqlite")
      symlink("b/real.sqlite", directory + "/link")
      try Person(id: nil, name: "Anna").insert().run(db)
      try db.backup(to: directory + "/link")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory + "/link") == "b/real.sqlite")
      #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/b/real.sqlite")) == 1)
    }
  }
}
