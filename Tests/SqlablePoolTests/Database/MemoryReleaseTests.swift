import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Memory release: of all handles and pools, and under memory pressure.
///
/// A process-wide release runs in a separate process: other tests count the statements of their handles.
@Suite struct MemoryReleaseTests {
  @Test func releaseMemoryFreesStatementsOfAllHandlesAndPools() async throws {
    await #expect(processExitsWith: .success) {
      try await withDirectoryAsync { directory in
        let db = try SqliteDatabase(filepath: directory + "/one.sqlite")
        let memory = try SqliteDatabase.inMemory()
        let pool = try SqlitePool(filepath: directory + "/two.sqlite", readers: 1)
        for handle in [db, memory] { try handle.createTables(Person.self, Bicycle.self) }
        try await pool.transaction { db in try db.createTables(Person.self, Bicycle.self) }
        _ = try await Bicycle.count().run(pool)
        for handle in [db, memory] { _ = try Bicycle.count().run(handle) }
        func used() throws -> [Int] {
          try [db.statementCacheUse.statements, memory.statementCacheUse.statements]
            + [pool.read { db in try db.statementCacheUse.statements }]
        }
        #expect(try used().allSatisfy { $0 > 0 })
        let (isBusy, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
          try? db.transaction { _ in
            isBusy.signal()
            mayEnd.wait()
          }
        }
        isBusy.wait()
        // A busy handle keeps its memory, and releaseMemory does not wait for it.
        SqliteDatabase.releaseMemory()
        mayEnd.signal()
        let left = try used()
        #expect(left[0] > 0)
        #expect(left[1] == 0)
        #expect(left[2] == 0)
        SqliteDatabase.releaseMemory()
        #expect(try used() == [0, 0, 0])
        #expect(try await Bicycle.count().run(pool) == 0)
        #expect(try Bicycle.count().run(memory) == 0)
        try await pool.close()
        SqliteDatabase.releaseMemory()
      }
    }
  }

  /// Writes a file in the format of /proc/pressure/memory.
  fileprivate static func write(_ total: Int, to path: String) throws {
    let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=\(total)\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
  }

  @Test func memoryIsReleasedUnderPressure() async throws {
    await #expect(processExitsWith: .success) {
      try withDirectory { directory in
        let path = directory + "/memory"
        try MemoryReleaseTests.write(1_000_000, to: path)
        let count = Mutex(0)
        let pressure = MemoryPressure(stall: .milliseconds(100), within: .milliseconds(500), path: path)
        let watch = try SqliteDatabase.releaseMemoryUnderPressure(pressure) { count.withLock { $0 += 1 } }
        usleep(700_000)
        #expect(count.withLock { $0 } == 0)
        try MemoryReleaseTests.write(1_050_000, to: path)
        usleep(700_000)
        #expect(count.withLock { $0 } == 0)
        try MemoryReleaseTests.write(1_200_000, to: path)
        waitUntil { count.withLock { $0 } > 0 }
        usleep(700_000)
        #expect(count.withLock { $0 } == 1)
        watch.end()
        watch.end()
        usleep(200_000)
        try MemoryReleaseTests.write(9_000_000, to: path)
        usleep(1_200_000)
        #expect(count.withLock { $0 } == 1)
      }
    }
  }

  @Test func anEndedPressureWatchLeavesNoFileOpen() async throws {
    await #expect(processExitsWith: .success) {
      try withDirectory { directory in
        let path = directory + "/memory"
        try MemoryReleaseTests.write(0, to: path)
        for _ in 0..<20 {
          _ = try SqliteDatabase.releaseMemoryUnderPressure(MemoryPressure(path: path))
          // Some kernels have no such file.
          _ = try? SqliteDatabase.releaseMemoryUnderPressure()
        }
        let end = Date.now + 300
        while openFiles().contains(where: { $0.contains("pressure") }), Date.now < end { usleep(10_000) }
        #expect(!openFiles().contains { $0.contains("pressure") })
      }
    }
  }

  @Test func aMissingOrInvalidPressureFileThrows() throws {
    let missing = MemoryPressure(path: "/proc/pressure/none")
    expectError(.cannotOpen) { _ = try SqliteDatabase.releaseMemoryUnderPressure(missing) }
    try withDirectory { directory in
      try Data("nothing".utf8).write(to: URL(filePath: directory + "/memory"))
      expectError(.cannotOpen) {
        _ = try SqliteDatabase.releaseMemoryUnderPressure(MemoryPressure(path: directory + "/memory"))
      }
    }
    expectMisuse { _ = try SqliteDatabase.releaseMemoryUnderPressure(MemoryPressure(within: .milliseconds(1))) }
    expectMisuse { _ = try SqliteDatabase.releaseMemoryUnderPressure(MemoryPressure(stall: .seconds(3))) }
  }
}
