import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// `block` of handles: other handles wait until the block ends.
@Suite struct BlockTests {
  private func withBikes<Result>(
    _ configuration: Configuration = Configuration(), _ body: (SqliteDatabase) throws -> Result
  ) throws -> Result {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite", configuration: configuration)
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "one", color: "red").insert().run(db)
      return try body(db)
    }
  }

  /// Starts a call on another thread, and returns a closure that waits for the value.
  private func started<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) -> (Duration) -> Value? {
    let (value, done) = (Mutex<Value?>(nil), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      let result = try? call()
      value.withLock { $0 = result }
      done.signal()
    }
    return { duration in
      let isDone = done.wait(timeout: .now() + duration.dispatched) == .success
      return isDone ? value.withLock { $0 } : nil
    }
  }

  @Test func callsOfOtherHandlesWaitUntilTheBlockEnds() throws {
    try withBikes(Configuration(busyTimeout: 600)) { db in
      let child = try db.createChild()
      let block = try child.block()
      let counted = started { try Bicycle.count().run(db) }
      let opened = started { try Bicycle.count().run(db.createChild()) }
      #expect(counted(.milliseconds(200)) == nil)
      try Bicycle(name: "two", color: "red").insert().run(block)
      try Bicycle(name: "three", color: "red").insert().run(child)
      _ = try onThread { try Bicycle(name: "four", color: "red").insert().run(block.database) }
      #expect(opened(.milliseconds(50)) == nil)
      #expect(!block.isEnded)
      block.end()
      #expect(counted(.seconds(600)) == 4)
      #expect(opened(.seconds(600)) == 4)
      #expect(block.isEnded)
      // The next block is another handle's.
      let next = try db.block()
      #expect(try Bicycle.count().run(db) == 4)
      next.end()
      #expect(try Bicycle.count().run(child) == 4)
    }
  }

  @Test func aCallThatWaitsForTooLongThrowsBusy() throws {
    try withBikes(Configuration(label: "bikes", busyTimeout: 0.05)) { db in
      let child = try db.createChild()
      let lazy = try SqliteDatabase(filepath: db.filepath, configuration: Configuration(opensLazily: true))
      let block = try db.block()
      let error = expectError(.busy) { _ = try Bicycle.count().run(child) }
      #expect(error?.message.contains("the call at SqlableCoreTests/BlockTests.swift:") == true)
      #expect(error?.message.contains(" has blocked the database for ") == true)
      #expect(error?.label == "bikes")
      for call in [
        { try child.transaction { _ in } }, { try child.execute("SELECT 1") }, { _ = try child.createChild() },
        { _ = try child.beginTransaction() }, { try child.withClosed(within: .milliseconds(50)) { _ in } },
        { _ = try child.block(within: .milliseconds(50)) },
      ] as [() throws -> Void] {
        expectError(.busy, nil, call)
      }
      // A handle of another family is not blocked.
      #expect(try Bicycle.count().run(lazy) == 1)
      block.end()
      #expect(try Bicycle.count().run(child) == 1)
    }
  }

  @Test func connectionsKeepTheirStateInABlock() throws {
    let db = try SqliteDatabase.inMemory()
    try db.createTables(Person.self, Bicycle.self)
    let child = try db.createChild()
    try child.execute("CREATE TEMP TABLE mark AS SELECT 7 AS value")
    let prepared = try child.prepare(Bicycle.count())
    #expect(try prepared.run() == 0)
    let block = try db.block()
    try Bicycle(name: "one", color: "red").insert().run(block)
    try db.register(ScalarFunction("twice") { (value: Int) in 2 * value })
    block.end()
    #expect(try prepared.run() == 1)
    #expect(try child.query("SELECT twice(value) FROM temp.mark", as: Int.self) == [14])
  }

  @Test func theHolderCanCloseTheFile() throws {
    try withBikes(Configuration(busyTimeout: 0.05)) { db in
      let child = try db.createChild()
      _ = try Bicycle.count().run(child)
      let block = try db.block()
      try db.withClosed { files in
        #expect(!openFiles().contains { $0.hasPrefix(files.filepath) })
      }
      try Bicycle(name: "two", color: "red").insert().run(block)
      expectError(.busy) { _ = try Bicycle.count().run(child) }
      block.end()
      #expect(try Bicycle.count().run(child) == 2)
    }
  }

  @Test func blockWaitsForOpenWork() throws {
    try withBikes { db in
      let child = try db.createChild()
      try child.beginTransaction()
      let error = expectError(.busy) { _ = try db.block(within: .milliseconds(50)) }
      #expect(error?.message.contains("can't block the database: handle ") == true)
      #expect(error?.message.hasSuffix(" has an open transaction") == true)
      try child.commitTransaction()
      try whileHeld({ signal in try child.transaction { _ in signal() } }) {
        let error = expectError(.busy) { _ = try db.block(within: .milliseconds(50)) }
        #expect(error?.message.contains(" uses handle ") == true)
        // Nothing stays blocked.
        let count = try Bicycle.count().run(db)
        #expect(count == 1)
      }
      try db.block().end()
    }
  }

  @Test func aBlockIsRefusedInsideATransactionAndTwice() throws {
    try withBikes { db in
      expectMisuse { try db.transaction { db in _ = try db.block() } }
      try db.beginTransaction()
      let open = expectMisuse { _ = try db.block() }
      #expect(open?.message == "can't block the database while the handle has an open transaction")
      try db.rollbackTransaction()
      let block = try db.block()
      let twice = expectMisuse { _ = try db.block() }
      #expect(twice?.message == "the handle already blocks the database")
      block.end()
      block.end()
      let ended = expectMisuse { _ = try Bicycle.count().run(block) }
      #expect(ended?.message == "the block has ended")
      expectMisuse { try block.transaction { _ in } }
      try db.close()
      expectError(.closed) { _ = try db.block() }
    }
  }

  @Test func theLastReferenceEndsTheBlock() throws {
    try withBikes(Configuration(busyTimeout: 0.05)) { db in
      let child = try db.createChild()
      do {
        let block = try db.block()
        expectError(.busy) { _ = try Bicycle.count().run(child) }
        #expect(try block.transaction { db in try Bicycle.count().run(db) } == 1)
      }
      #expect(try Bicycle.count().run(child) == 1)
    }
  }
}
