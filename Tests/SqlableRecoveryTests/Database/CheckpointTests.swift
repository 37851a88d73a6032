import Foundation
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Checkpoints of handles and pools.
@Suite struct CheckpointTests {
  /// The size of the WAL in bytes, or 0 if there is none.
  private func walBytes(_ path: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
    return (attributes?[.size] as? Int) ?? 0
  }

  @Test func aTruncateCheckpointCopiesAllPagesAndEmptiesTheWAL() throws {
    try withBikes { db, directory in
      let path = directory + "/bikes.sqlite"
      #expect(walBytes(path) > 0)
      let passive = try db.checkpoint()
      #expect(passive.isComplete)
      #expect(passive.pages > 0)
      #expect(passive.copiedPages == passive.pages)
      #expect(walBytes(path) > 0)
      #expect(try db.checkpoint(.truncate) == db.checkpoint(.truncate))
      #expect(walBytes(path) == 0)
    }
  }

  @Test func aReaderLeavesACheckpointIncompleteWithoutAnError() throws {
    try withBikes { db, directory in
      let reader = try db.createChild()
      try reader.beginTransaction(.deferred)
      #expect(try Bicycle.count().run(reader) == 1)
      try Bicycle(name: "second", color: "red").insert().run(db)
      for mode in [CheckpointMode.passive, .full, .restart, .truncate] {
        let checkpoint = try db.checkpoint(mode, waitingAtMost: .milliseconds(20))
        #expect(!checkpoint.isComplete, "\(mode)")
        #expect(checkpoint.copiedPages < checkpoint.pages, "\(mode)")
      }
      // The checkpoint has restored the busy timeout.
      #expect(db.connection?.busyTimeout == 5)
      try reader.rollbackTransaction()
      #expect(try db.checkpoint(.truncate, waitingAtMost: .seconds(5)).isComplete)
    }
  }

  @Test func aCheckpointInsideATransactionOrReadIsRefused() throws {
    try withBikes { db, directory in
      try db.transaction { (db: SqliteDatabase) throws -> Void in
        expectMisuse { try db.checkpoint() }
        try Bicycle(name: "second", color: "red").insert().run(db)
      }
      #expect(try Bicycle.count().run(db) == 2)
      let reader = try SqliteDatabase(
        filepath: directory + "/bikes.sqlite", configuration: Configuration(isReadOnly: true))
      expectError(.readOnly) { try reader.checkpoint() }
    }
  }

  @Test func aDatabaseWithoutAWALHasNothingToCopy() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(
        filepath: directory + "/a.sqlite", configuration: Configuration(journalMode: .delete))
      try db.execute("CREATE TABLE t (x)")
      for db in [db, try SqliteDatabase.inMemory()] {
        let checkpoint = try db.checkpoint(.truncate)
        #expect(checkpoint.isComplete)
        #expect(checkpoint.pages == 0)
        #expect(checkpoint.copiedPages == 0)
      }
    }
  }

  @Test(.enabled(if: !isInMemory)) func aPoolsCheckpointCompletesDespiteOverlappingReads() async throws {
    try await withMembers { pool in
      try await Member(id: 1, name: "one").insert().run(pool)
      let isDone = Collected<Bool>()
      defer { isDone.append(true) }
      // The reads overlap, so at least one snapshot is always open.
      let readers = (0..<2).map { _ in
        Task {
          while isDone.values.isEmpty {
            try await pool.read { db in
              _ = try Member.count().run(db)
              usleep(5_000)
            }
          }
        }
      }
      var id = 1
      for _ in 0..<5 {
        id += 1
        try await Member(id: id, name: "next").insert().run(pool)
        let checkpoint = try await pool.checkpoint(.truncate, waitingAtMost: .seconds(600))
        #expect(checkpoint.isComplete)
      }
      isDone.append(true)
      for reader in readers { try await reader.value }
      #expect(pool.statistics.walSize == 0)
      #expect(try await pool.checkpoint().isComplete)
    }
  }

  @Test(.needsPlainFiles("an encrypted database has no archive"))
  func anArchiveLeavesTruncateCheckpointsIncomplete() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try await pool.transaction { db in try db.createTable(Member.self) }
      let archive = try await pool.archive(to: directory + "/archive")
      try await Member(id: 1, name: "one").insert().run(pool)
      for mode in [CheckpointMode.restart, .truncate] {
        let checkpoint = try await pool.checkpoint(mode)
        #expect(!checkpoint.isComplete, "\(mode)")
      }
      try await archive.stop()
      #expect(try await pool.checkpoint(.truncate, waitingAtMost: .seconds(5)).isComplete)
      try await pool.close()
    }
  }
}

private func withBikes(_ body: (SqliteDatabase, String) throws -> Void) throws {
  try withDirectory { directory in
    let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite")
    try db.createTables(of: Schema(Person.self, Bicycle.self))
    try Bicycle(name: "first", color: "red").insert().run(db)
    try body(db, directory)
  }
}
