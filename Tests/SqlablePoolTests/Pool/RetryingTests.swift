import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Retries after an error that another connection's lock has caused.
@Suite struct RetryingTests {
  private func withLockedFile(_ body: (_ writer: SqliteDatabase, _ db: SqliteDatabase) throws -> Void) throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      let writer = try SqliteDatabase(filepath: path)
      try writer.createTables(Person.self, Bicycle.self)
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 0))
      try writer.beginTransaction()
      try body(writer, db)
    }
  }

  private let bike = Bicycle(name: "Trek", color: "red")

  @Test func retryingSucceedsOnceTheLockIsReleased() throws {
    try withLockedFile { writer, db in
      var count = 0
      let id = try retrying {
        count += 1
        if count == 3 { try writer.commitTransaction() }
        return try bike.insert().run(db)
      }
      #expect(id == 1)
      #expect(count == 3)
      #expect(try Bicycle.count().run(writer) == 1)
    }
  }

  @Test func wholeTransactionsAreRepeated() throws {
    try withLockedFile { writer, db in
      var count = 0
      try retrying(attempts: 2) {
        count += 1
        try db.transaction(.deferred) { db in
          _ = try Bicycle.count().run(db)
          // Another connection writes after this one has read: SQLite returns 517, SQLITE_BUSY_SNAPSHOT.
          if count == 1 {
            try Bicycle(name: "other", color: "blue").insert().run(writer)
            try writer.commitTransaction()
          }
          try bike.insert().run(db)
        }
      }
      #expect(count == 2)
      #expect(try Bicycle.count().run(db) == 2)
    }
  }

  @Test func theLastErrorIsThrownAfterTheLastAttempt() async throws {
    try withLockedFile { _, db in
      var count = 0
      func insert() throws {
        count += 1
        try bike.insert().run(db)
      }
      expectError(.busy) { try retrying(attempts: 4) { try insert() } }
      #expect(count == 4)
      expectError(.busy) { try retrying(attempts: 1) { try insert() } }
      #expect(count == 5)
      expectMisuse { try retrying(attempts: 0) { try insert() } }
      expectMisuse { try retrying(within: .seconds(-1)) { try insert() } }
      #expect(count == 5)
      // The time limits are shorter than the pauses of 1,000 attempts.
      expectError(.busy) { try retrying(attempts: 1_000, within: .milliseconds(20)) { try insert() } }
      #expect(count < 50)
      count = 0
      expectError(.busy) { try withDeadline(.milliseconds(20)) { try retrying(attempts: 1_000) { try insert() } } }
      #expect(count < 50)
    }
  }

  @Test func otherErrorsAreNotRetried() async throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      var count = 0
      expectError(.schema(.missingTable("bicycle"))) {
        try retrying {
          count += 1
          try bike.insert().run(db)
        }
      }
      struct Other: Error {}
      #expect(throws: Other.self) {
        try retrying {
          count += 1
          throw Other()
        }
      }
      #expect(count == 2)
    }
  }

  @Test func asyncRetryingRetriesAndCanBeCancelled() async throws {
    let busy = SqlError(.busy, message: "busy")
    let count = Mutex(0)
    let value = try await retrying(attempts: 3) { () async throws in
      let attempt = count.withLock { count in
        count += 1
        return count
      }
      guard attempt == 3 else { throw busy }
      return attempt
    }
    #expect(value == 3)
    let task = Task {
      try await retrying(attempts: 1_000_000) { () async throws in throw busy }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
