import Foundation
import Glibc
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// The replacement of a file's bytes, and the recovery of the old pages by SQLite.
@Suite struct FileReplacementTests {
  private static let plain = Configuration(journalMode: .delete, key: .unencrypted)

  private func create(_ path: String, pageSize: Int, rows: Int) throws {
    let db = try SqliteDatabase(filepath: path, configuration: FileReplacementTests.plain)
    try db.locked { _ = try db.openConnection().pragma("PRAGMA page_size = \(pageSize)") }
    try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
    try db.execute(
      "INSERT INTO t SELECT value, hex(randomblob(300)) FROM json_each(\(json: Array(1...rows)))")
    try db.close()
  }

  private func bytes(_ path: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }

  /// Calls `steps` with a replacement by random bytes, and returns these bytes.
  private func replace(
    _ path: String, count: Int, _ steps: (FileReplacement, PartialFile) throws -> Void
  ) throws -> [UInt8] {
    let new = (0..<count).map { _ in UInt8.random(in: 0...255) }
    let source = try PartialFile.make(at: path + ".source", mode: 0o600, for: "test")
    try new.withUnsafeBytes { try writeAll($0, to: source.descriptor, at: 0, source.path) }
    let db = try SqliteDatabase(filepath: path, configuration: FileReplacementTests.plain)
    try db.locked {
      try db.openConnection().lockExclusively()
      try steps(FileReplacement(db.openConnection()), source)
    }
    try db.close()
    return new
  }

  @Test(arguments: [512, 4_096, 65_536], [0.5, 1.5]) func interruptedReplacementIsUndoneByTheNextConnection(
    pageSize: Int, growth: Double
  ) throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      try create(path, pageSize: pageSize, rows: 400)
      let old = try bytes(path)
      let new = try replace(path, count: Int(Double(old.count) * growth) + 7) { replacement, source in
        try replacement.writeJournal()
        try replacement.overwrite(with: source)
      }
      #expect(try bytes(path) == new)
      let db = try SqliteDatabase(filepath: path, configuration: FileReplacementTests.plain)
      #expect(try db.query("SELECT count(*) FROM t", as: Int.self) == [400])
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      #expect(try bytes(path) == old)
      #expect(files(in: directory) == ["a.sqlite"])
    }
  }

  @Test func committedReplacementLeavesOnlyTheNewBytes() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      try create(path, pageSize: 4_096, rows: 400)
      chmod(path, 0o640)
      // The journal of a program with the journal mode PERSIST.
      try Data(count: 1_000).write(to: URL(fileURLWithPath: path + "-journal"))
      let before = FileIdentity(path)
      let new = try replace(path, count: 300_000) { replacement, source in
        try replacement.writeJournal()
        #expect(FileIdentity.info(path + "-journal").map { $0.st_mode & 0o777 } == 0o640)
        try replacement.overwrite(with: source)
        try replacement.commit()
      }
      #expect(try bytes(path) == new)
      #expect(FileIdentity(path) == before)
      #expect(files(in: directory) == ["a.sqlite"])
    }
  }

  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all", "writes several gigabytes")
  ) func theJournalOmitsThePageWithTheLockBytes() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      try create(path, pageSize: 4_096, rows: 1)
      var db = try SqliteDatabase(filepath: path, configuration: FileReplacementTests.plain)
      try db.execute("CREATE TABLE big (blob BLOB)")
      for _ in 0..<11 { try db.execute("INSERT INTO big VALUES (zeroblob(100000000))") }
      try db.close()
      _ = try replace(path, count: 1_000_000) { replacement, source in
        try replacement.writeJournal()
        try replacement.overwrite(with: source)
      }
      db = try SqliteDatabase(filepath: path, configuration: FileReplacementTests.plain)
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      #expect(try db.query("SELECT sum(length(blob)) FROM big", as: Int.self) == [1_100_000_000])
    }
  }

  @Test func aConnectionInAnotherTransactionPreventsTheLock() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      try create(path, pageSize: 4_096, rows: 1)
      let reader = try SqliteDatabase(filepath: path, configuration: FileReplacementTests.plain)
      try reader.beginTransaction(.deferred)
      #expect(try reader.query("SELECT count(*) FROM t", as: Int.self) == [1])
      var configuration = FileReplacementTests.plain
      configuration.busyTimeout = 0
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      expectError(.busy) { try db.locked { try db.openConnection().lockExclusively() } }
      try reader.rollbackTransaction()
    }
  }
}
