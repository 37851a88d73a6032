import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

/// Handles and pools that open their file when they are first used.
@Suite struct LazyOpeningTests {
  private let lazily = Configuration(label: "late", opensLazily: true)

  @Test func theFirstUseOpensTheFile() throws {
    try withDirectory { directory in
      let path = directory + "/not/yet/bikes.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: lazily)
      #expect(db.isOpen)
      #expect(db.transactionLevel == 0)
      #expect(files(in: directory) == [])
      let seen = Collected<Int>()
      let token = db.observe(.insert, on: Bicycle.self) { id in seen.append(id) }
      let trace = db.trace { _ in }
      db.onCorruption { _ in }
      #expect(files(in: directory) == [])
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "one", color: "red").insert().run(db.createChild())
      try Bicycle(name: "two", color: "red").insert().run(db)
      try db.transaction { _ in }
      #expect(try Bicycle.count().run(db) == 2)
      #expect(seen.values.contains(2))
      db.removeObserver(token)
      db.removeTrace(trace)
    }
  }

  @Test func aLazyHandleThrowsOnUseAndRetries() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      try Data("This is no database, but it is longer than a header would be.".utf8).write(to: URL(filePath: path))
      let db = try SqliteDatabase(filepath: path, configuration: lazily)
      let runs = Mutex(0)
      var configuration = lazily
      configuration.onOpen("counted") { _ in
        runs.withLock { $0 += 1 }
        if runs.withLock({ $0 }) == 1 { throw CancellationError() }
      }
      let counted = try SqliteDatabase(filepath: directory + "/other.sqlite", configuration: configuration)
      for _ in 0..<2 {
        let error = expectError(noDatabase) { _ = try Bicycle.count().run(db) }
        #expect(error?.label == "late")
        #expect(db.isOpen)
      }
      try FileManager.default.removeItem(atPath: path)
      try db.createTable(Person.self)
      #expect(try Person.count().run(db) == 0)
      #expect(throws: CancellationError.self) { try counted.execute("SELECT 1") }
      try counted.execute("SELECT 1")
      #expect(runs.withLock { $0 } == 2)
    }
    expectMisuse { _ = try SqliteDatabase(filepath: "x", configuration: .init(opensLazily: true, busyTimeout: -1)) }
  }

  @Test func isConnectedTellsWhetherTheFileIsOpen() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite", configuration: lazily)
      #expect(!db.isConnected)
      try db.createTable(Person.self)
      #expect(db.isConnected)
      try db.withClosed { _ in
        #expect(!db.isConnected)
        #expect(db.isOpen)
      }
      #expect(!db.isConnected)
      #expect(try Person.count().run(db) == 0)
      #expect(db.isConnected)
      // The answer does not wait for a thread that holds the handle.
      let seen = try db.transaction { db in try onThread { db.isConnected } }
      #expect(seen)
      let child = try db.createChild()
      try db.close()
      #expect(!db.isConnected)
      #expect(child.isConnected)
      let broken = try SqliteDatabase(filepath: directory, configuration: lazily)
      expectError(.cannotOpen) { try broken.execute("SELECT 1") }
      #expect(!broken.isConnected)
      #expect(broken.isOpen)
    }
  }

  @Test func aTracedUseOpensOnce() throws {
    try withDirectory { directory in
      let token = SqliteDatabase.traceAll { _ in }
      defer { SqliteDatabase.removeTraceOfAll(token) }
      let runs = Mutex(0)
      var configuration = lazily
      configuration.onOpen("counted") { _ in
        runs.withLock { $0 += 1 }
        if runs.withLock({ $0 }) == 1 { throw CancellationError() }
      }
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite", configuration: configuration)
      #expect(throws: CancellationError.self) { try db.execute("SELECT 1") }
      try db.execute("SELECT 1")
      #expect(runs.withLock { $0 } == 2)
    }
  }

  @Test func aLazyHandleClosedBeforeUseOpensNothing() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite", configuration: lazily)
      try db.close()
      #expect(!db.isOpen)
      expectError(.closed) { try db.execute("SELECT 1") }
      #expect(files(in: directory) == [])
    }
  }

  @Test func aPoolOpensItsFileWithTheFirstCall() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/real/bikes.sqlite"
      try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: directory + "/link.sqlite", withDestinationPath: path)
      let pool = try SqlitePool(
        filepath: directory + "/link.sqlite", configuration: PoolConfiguration(handles: lazily))
      #expect(pool.isOpen)
      #expect(!pool.isConnected)
      #expect(files(in: directory + "/real") == [])
      #expect(try await pool.read { db in try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self) } == [0])
      try await pool.transaction { db in try db.createTables(Person.self, Bicycle.self) }
      // The gate file of the writers lies next to the real file.
      #expect(files(in: directory + "/real").contains("bikes.sqlite-gate"))
      #expect(!files(in: directory).contains { $0.hasSuffix("-gate") })
      #expect(pool.isConnected)
      try await pool.withClosed { _ in #expect(!pool.isConnected) }
      try await Person(id: nil, name: "Ann").insert().run(pool)
      #expect(pool.isConnected)
      try await pool.close()
      #expect(!pool.isConnected)

      let broken = try SqlitePool(filepath: directory, configuration: PoolConfiguration(handles: lazily))
      for _ in 0..<2 {
        await #expect(throws: SqlError.self) { try await broken.query("SELECT 1", as: Int.self) }
      }
      try await broken.close()
      let unused = try SqlitePool(filepath: directory + "/unused", configuration: PoolConfiguration(handles: lazily))
      try await unused.close()
      expectError(.closed) { _ = try unused.query("SELECT 1", as: Int.self) }
    }
  }
}
