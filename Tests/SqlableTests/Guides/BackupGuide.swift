import Foundation
import Sqlable
import SqlableBackup
import Testing

@testable import SqlableTestSupport

@Suite struct BackupGuide {
  private struct Upload {
    let bytes = Mutex(Data())
    func append(_ chunk: [UInt8]) async throws { bytes.withLock { $0.append(contentsOf: chunk) } }
  }

  @Test func handleBacksUpToAFile() throws {
    try withDirectory { directory in
      let path = directory + "/backup.sqlite"
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try db.backup(to: path)
      let lines = Mutex([String]())
      let log = { @Sendable (line: String) in lines.withLock { $0.append(line) } }
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      bytes.replaceSubrange(4_096..<8_192, with: Data(repeating: 7, count: 4_096))
      try bytes.write(to: URL(fileURLWithPath: path))
      do { try db.restore(from: path) } catch let error as SqlError where error.kind == .corrupt { log(error.message) }
      #expect(lines.withLock { $0.count == 1 && $0[0].hasPrefix("the backup: ") })
    }
  }

  @Test(.needsPlainFiles("two encrypted copies have different bytes")) func poolBacksUpToAFile() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/backup.sqlite"
      let pool = try SqlitePool(filepath: directory + "/bikes.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.createTables(Person.self, Bicycle.self) }
      try await pool.backup(to: path, BackupOptions(bytesPerSecond: 20 << 20, timeLimit: .seconds(600)))
      try await Bicycle(name: "Trek", color: "red").insert().run(pool)
      try await pool.restore(from: path, BackupOptions(schema: Schema(Person.self, Bicycle.self)))
      #expect(try await Bicycle.count().run(pool) == 0)
      try await pool.checkpoint(.truncate, waitingAtMost: .seconds(1))
      #expect(pool.statistics.walSize == 0)
      let upload = Upload()
      for try await chunk in pool.backupBytes(chunkSize: 8 << 20) { try await upload.append(chunk) }
      #expect(try upload.bytes.withLock { $0 } == Data(contentsOf: URL(fileURLWithPath: path)))
      try await pool.close()
    }
  }

  @Test(.needsPlainFiles("a database in memory is not encrypted"), .needs(36, "a child of a database in memory"))
  func backupFillsAnotherHandle() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let copy = try SqliteDatabase.inMemory()
      try db.backup(to: copy)
      #expect(try Person.count().run(copy) == 0)
    }
  }
}
