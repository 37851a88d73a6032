import Foundation
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The limit of the WAL's size under overlapping reads.
@Suite struct LogLimitTests {
  /// Writes `count` rows of two kilobytes one by one, while at least one read is open at any time.
  ///
  /// Returns the largest size of the WAL. Above `slow` bytes, this method writes slowly: on a busy machine, the threads
  /// that read or that reset the WAL can stand still.
  private func largestLog(
    _ pool: SqlitePool, writes count: Int, reading: Duration = .milliseconds(20), slow: Int
  ) async throws -> Int {
    let isDone = Collected<Bool>()
    defer { isDone.append(true) }
    let readers = (0..<2).map { number in
      Task {
        // The two readers start half a read apart.
        try await Task.sleep(for: reading / 2 * number)
        while isDone.values.isEmpty {
          try await pool.read { db in
            let first = try Member.count().run(db)
            usleep(UInt32(reading / .microseconds(1)))
            // A read keeps one snapshot while the pool holds other reads back.
            let second = try Member.count().run(db)
            #expect(first == second)
          }
        }
      }
    }
    var largest = 0
    for id in 1...count {
      try await Member(id: id, name: String(repeating: "x", count: 2_000)).insert().run(pool)
      let size = pool.statistics.walSize
      largest = max(largest, size)
      if size > slow { try await Task.sleep(for: .milliseconds(20)) }
    }
    isDone.append(true)
    for reader in readers { try await reader.value }
    let stored = try await Member.count().run(pool)
    #expect(stored == count)
    return largest
  }

  @Test func walStaysSmallDespiteOverlappingReads() async throws {
    let limit = 1 << 20
    try await withMembers(
      .init(handles: .init(busyTimeout: 600, walAutocheckpoint: 50), waitTimeout: nil, maximumWalSize: limit)
    ) { pool in
      let largest = try await largestLog(pool, writes: times(2_000), slow: 4 * limit)
      #expect(largest < 8 * limit)
    }
    try await withMembers(
      .init(handles: .init(busyTimeout: 600, walAutocheckpoint: 50), waitTimeout: nil, maximumWalSize: nil)
    ) { pool in
      let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      defer { mayEnd.signal() }
      Thread.detachNewThread {
        defer { isHeld.signal() }
        try? pool.read { db in
          _ = try Member.count().run(db)
          isHeld.signal()
          mayEnd.wait()
        }
      }
      try await onThread { isHeld.wait() }
      for id in 1...times(2_000) {
        try await Member(id: id, name: String(repeating: "x", count: 2_000)).insert().run(pool)
      }
      // The WAL with all writes exceeds the limit: a read that does not end keeps it.
      #expect(pool.statistics.walSize > 8 * limit || times(10) == 1)
    }
  }

  @Test func walBehindASymbolicLinkStaysSmall() async throws {
    try await withDirectoryAsync { directory in
      let limit = 1 << 20
      try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: directory + "/pool.sqlite", withDestinationPath: "real/pool.sqlite")
      let pool = try SqlitePool(
        filepath: directory + "/pool.sqlite",
        configuration: .init(
          handles: .init(busyTimeout: 600, walAutocheckpoint: 50), waitTimeout: nil, maximumWalSize: limit))
      try await pool.transaction { db in try db.createTable(Member.self) }
      // SQLite places the WAL beside the file, not beside the link.
      #expect(pool.statistics.walSize > 0)
      let largest = try await largestLog(pool, writes: times(2_000), slow: 4 * limit)
      #expect(largest > 0)
      #expect(largest < 8 * limit)
      try await pool.close()
    }
  }

  @Test(.needsPlainFiles("an encrypted database has no archive"))
  func archiveKeepsTheWALSmall() async throws {
    try await withDirectoryAsync { directory in
      let limit = 1 << 20
      let pool = try SqlitePool(
        filepath: directory + "/pool.sqlite",
        configuration: .init(
          handles: .init(busyTimeout: 600, walAutocheckpoint: 50), waitTimeout: nil, maximumWalSize: limit))
      try await pool.transaction { db in try db.createTable(Member.self) }
      let archive = try await pool.archive(to: directory + "/archive", .init(interval: .milliseconds(50)))
      let largest = try await largestLog(pool, writes: times(4_000), slow: 12 << 20)
      // An archive checks the WAL once an interval and resets it above a thousand frames.
      #expect(largest < 24 << 20)
      try await archive.stop()
      try await pool.close()
    }
  }

  @Test func readThatBlocksTheWALResetIsReported() async throws {
    try await withMembers(.init(readers: 2, waitTimeout: nil, maximumWalSize: 65_536)) { pool in
      let errors = Collected<SqlError>()
      pool.didFail = { if let error = $0 as? SqlError { errors.append(error) } }
      let gate = DispatchSemaphore(value: 0)
      let hasSnapshot = LockedValue(false)
      let read = Task {
        try await pool.read { db in
          _ = try Member.count().run(db)
          hasSnapshot.withLock { $0 = true }
          gate.wait()
        }
      }
      try await until { hasSnapshot.withLock { $0 } }
      for id in 1...200 { try await Member(id: id, name: String(repeating: "x", count: 2_000)).insert().run(pool) }
      let begin = ContinuousClock.now
      let count = try await Member.count().run(pool)
      #expect(count == 200)
      #expect(begin.duration(to: .now) < .seconds(300))
      // On a busy machine, the long read is reported first.
      try await until { errors.values.contains { $0.kind == .busy } }
      let error = errors.values.first { $0.kind == .busy }
      #expect(error?.message.contains("LogLimitTests.swift") == true)
      #expect(error?.message.contains("can't reset the WAL") == true)
      gate.signal()
      try await read.value
    }
  }

  /// The pool holds the inner read back until the outer read ends, and the outer read waits for the inner one.
  @Test func mutuallyWaitingReadsDoNotDeadlock() async throws {
    try await withMembers(.init(readers: 2, waitTimeout: nil, maximumWalSize: 65_536)) { pool in
      let written = DispatchSemaphore(value: 0)
      let read = Task {
        try await pool.read { db in
          _ = try Member.count().run(db)
          written.wait()
          let done = DispatchSemaphore(value: 0)
          DispatchQueue.global().async {
            #expect(throws: Never.self) { try pool.read { db in try Member.count().run(db) } }
            done.signal()
          }
          done.wait()
        }
      }
      try await until { pool.statistics.oldestRead != nil }
      for id in 1...100 { try await Member(id: id, name: String(repeating: "x", count: 2_000)).insert().run(pool) }
      written.signal()
      try await read.value
      expectMisuse { _ = try SqlitePool(filepath: pool.filepath, configuration: .init(maximumWalSize: 1)) }
    }
  }
}
