import Foundation
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Checks that can't run: they neither find damage nor prove that there is none.
@Suite(.needsPlainFiles("it damages pages by their contents")) struct CorruptionCheckTests {
  /// Returns a handle on a damaged file, which has detected the damage. The file has a rollback journal.
  private func damaged(_ path: String) throws -> SqliteDatabase {
    let damaged = try DamagedDatabase(path) { try DamagedDatabase.bicycles($0, 3_000) }
    let leaves = try damaged.pages(ofType: 13)
    try damaged.zero(page: leaves[leaves.count / 2])
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(journalMode: .delete))
    #expect(sqlError { _ = try db.query("SELECT count(name) FROM bicycle", as: Int.self) }?.kind == .corrupt)
    return db
  }

  /// Returns the report of `onCorruption` on a handle that has already detected the damage.
  private func notification(_ db: SqliteDatabase, exclusively: Bool = false) throws -> CorruptionReport {
    let (report, semaphore) = (Mutex<CorruptionReport?>(nil), DispatchSemaphore(value: 0))
    db.onCorruption(exclusively: exclusively) { received in
      report.withLock { $0 = received }
      semaphore.signal()
    }
    #expect(semaphore.wait(timeout: .now() + 600) == .success)
    return try #require(report.withLock { $0 })
  }

  private func expectUnchecked(_ report: CorruptionReport, _ kind: SqlError.Kind) {
    #expect(report.error?.kind == .corrupt)
    #expect(report.checkError?.kind == kind)
    #expect(!report.isSound)
    #expect(!report.isMendedByReindex)
    #expect(!report.isExclusive)
    #expect(report.messages.isEmpty)
    #expect(report.tables.isEmpty)
    #expect(!report.isSchemaDamaged)
  }

  @Test func aFileThatCantBeOpenedIsNotSound() throws {
    try withDirectory { directory in
      let db = try damaged(directory + "/a.sqlite")
      try FileManager.default.moveItem(atPath: directory + "/a.sqlite", toPath: directory + "/b.sqlite")
      let error = sqlError { _ = try db.checkForCorruption() }
      #expect(error?.kind == .cannotOpen)
      #expect(error?.message == "can't check the file: unable to open database file")
      // The mark remains, although no index is left to rebuild.
      expectError(.cannotOpen) { try db.reindex(CorruptionReport()) }
      #expect(db.corruption?.kind == .corrupt)
      expectUnchecked(try notification(db), .cannotOpen)
      expectUnchecked(try notification(db, exclusively: true), .cannotOpen)
    }
  }

  @Test func aLockedFileWithoutWALIsNeitherSoundNorDamaged() throws {
    try withDirectory { directory in
      let db = try damaged(directory + "/a.sqlite")
      let other = try SqliteDatabase(
        filepath: directory + "/a.sqlite", configuration: Configuration(journalMode: .delete))
      try whileHeld({ held in try other.transaction(.exclusive) { _ in held() } }) {
        let report = Mutex<CorruptionReport?>(nil)
        db.onCorruption { received in report.withLock { $0 = received } }
        let error = sqlError { _ = try db.checkForCorruption() }
        #expect(error?.kind == .busy)
        #expect(error?.message == "can't check the file: database is locked")
        #expect(error?.transaction == SqlError.TransactionFate.none)
        waitUntil(within: .seconds(600)) { report.withLock { $0 != nil } }
        expectUnchecked(try #require(report.withLock { $0 }), .busy)
      }
      #expect(try db.checkForCorruption().tables == ["bicycle"])
    }
  }

  @Test func anUnknownFunctionOfAnIndexIsNotDamage() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path)
      let twice = ScalarFunction("twice", isDeterministic: true, isAllowedInSchema: true) { (number: Int) in number * 2
      }
      try db.register(twice)
      try db.execute("CREATE TABLE t(a); CREATE INDEX by_twice ON t(twice(a)); INSERT INTO t VALUES (1)")
      #expect(try db.checkForCorruption().isSound)
      let error = sqlError { _ = try SqliteDatabase(filepath: path).checkForCorruption() }
      #expect(error?.message.hasPrefix("can't check the file: unknown function: twice()") == true)
    }
  }

  @Test func anInMemoryDatabaseHasNoFileToCheck() throws {
    let db = try SqliteDatabase.inMemory()
    let error = sqlError { _ = try db.checkForCorruption() }
    #expect(error?.message == "an in-memory database has no file to check")
  }
}
