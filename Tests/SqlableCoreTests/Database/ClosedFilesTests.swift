import Foundation
import Glibc
import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

/// `withClosed` of handles: exclusive access to the files, and the state of the handles afterwards.
@Suite struct ClosedFilesTests {
  private func withBikes<Result>(
    _ configuration: Configuration = Configuration(), _ body: (SqliteDatabase, _ directory: String) throws -> Result
  ) throws -> Result {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite", configuration: configuration)
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "one", color: "red").insert().run(db)
      return try body(db, directory)
    }
  }

  @Test func withClosedClosesEveryConnectionOfTheFamily() throws {
    try withBikes { db, directory in
      let (child, grandchild) = (try db.createChild(), try db.createChild().createChild())
      #expect(try Bicycle.count().run(child) + Bicycle.count().run(grandchild) == 2)
      let names = try child.withClosed { found in
        #expect(found.filepath.hasSuffix("/bikes.sqlite"))
        #expect(!openFiles().contains { $0.contains(directory) })
        return files(in: directory)
      }
      // The close has copied the WAL into the file.
      #expect(names == ["bikes.sqlite"])
      for handle in [db, child, grandchild] {
        #expect(handle.isOpen)
        try Bicycle(name: UUID().uuidString, color: "red").insert().run(handle)
      }
      #expect(try Bicycle.count().run(child) == 4)
    }
  }

  @Test func handlesKeepTheirSetupAfterWithClosed() throws {
    try withDirectory { directory in
      var configuration = Configuration(attached: ["other": directory + "/other.sqlite"])
      configuration.onOpen("mark") { db in try db.execute("CREATE TEMP TABLE mark AS SELECT 7 AS value") }
      try withBikes(configuration) { db, _ in
        let child = try db.createChild()
        try db.register(ScalarFunction("twice") { (value: Int) in 2 * value })
        try db.register(Collation("backwards") { $1.compare($0) })
        let prepared = try child.prepare(Bicycle.count())
        #expect(try prepared.run() == 1)
        let seen = Collected<Int>()
        let traced = Collected<Int>()
        let token = db.observe(.insert, on: Bicycle.self) { id in seen.append(id) }
        let trace = db.trace { event in traced.append(event.handle) }
        _ = try Bicycle.count().run(child)
        let number = traced.take().last
        try db.execute("CREATE TEMP TABLE lost (x)")
        for _ in 0..<3 {
          try db.withClosed { _ in }
          #expect(try db.query("SELECT twice(21)", as: Int.self) == [42])
          #expect(try child.query("SELECT 'a' < 'b' COLLATE backwards", as: Bool.self) == [false])
          #expect(try child.query("SELECT value FROM temp.mark", as: Int.self) == [7])
          #expect(try db.query("SELECT count(*) FROM other.sqlite_schema", as: Int.self) == [0])
          let count = try Bicycle.count().run(db)
          try Bicycle(name: UUID().uuidString, color: "red").insert().run(db)
          #expect(try prepared.run() == count + 1)
        }
        #expect(seen.values == [2, 3, 4])
        #expect(number != nil)
        #expect(traced.values.contains(number ?? 0))
        expectSqlError { try db.execute("SELECT * FROM temp.lost") }
        db.removeObserver(token)
        db.removeTrace(trace)
        // A statement that is not finalized would keep the file open.
        try db.withClosed { _ in #expect(!openFiles().contains { $0.contains(directory) }) }
      }
    }
  }

  @Test func callsInsideWithClosedAreRefusedAndOthersWait() throws {
    try withBikes { db, _ in
      let child = try db.createChild()
      let count = Mutex<Int?>(nil)
      let done = DispatchSemaphore(value: 0)
      try db.withClosed { _ in
        for handle in [db, child] {
          let error = expectMisuse { _ = try Bicycle.count().run(handle) }
          #expect(error?.message.contains("the file is closed until") == true)
          expectMisuse { try handle.withClosed { _ in } }
          expectMisuse { try handle.close() }
          expectMisuse { _ = try handle.createChild() }
        }
        Thread.detachNewThread {
          let found = try? Bicycle.count().run(child)
          count.withLock { $0 = found }
          done.signal()
        }
        #expect(done.wait(timeout: .now() + .milliseconds(200)) == .timedOut)
      }
      done.wait()
      #expect(count.withLock { $0 } == 1)
    }
  }

  @Test func withClosedReopensTheFileAfterAnError() throws {
    struct Stop: Error {}
    try withBikes { (db, _) throws -> Void in
      #expect(throws: Stop.self) { try db.withClosed { _ in throw Stop() } }
      #expect(try Bicycle.count().run(db) == 1)
    }
  }

  @Test func withClosedWaitsForOpenWorkAndNamesTheHolder() throws {
    try withBikes { db, _ in
      let child = try db.createChild()
      let (isBusy, mayEnd, done) = (
        DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
      )
      Thread.detachNewThread {
        try? child.transaction { child in
          isBusy.signal()
          mayEnd.wait()
          // The transaction needs a second handle of the family.
          _ = try Bicycle.count().run(db)
          try Bicycle(name: "two", color: "red").insert().run(child)
        }
        done.signal()
      }
      isBusy.wait()
      let error = expectError(.busy) { try db.withClosed(within: .milliseconds(300)) { _ in } }
      #expect(error?.message.contains("can't close the file: thread ") == true)
      #expect(error?.message.contains(" uses handle ") == true)
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(200)) { mayEnd.signal() }
      try db.withClosed(within: .seconds(600)) { _ in }
      done.wait()
      #expect(try Bicycle.count().run(db) == 2)

      try child.beginTransaction()
      let transaction = expectError(.busy) { try db.withClosed(within: .milliseconds(50)) { _ in } }
      #expect(transaction?.message.contains("has an open transaction") == true)
      expectMisuse { try child.withClosed { _ in } }
      try child.rollbackTransaction()
      try db.transaction { db in _ = expectMisuse { try child.withClosed { _ in } } }

      var cursor: Cursor<Bicycle>? = try Bicycle.read().cursor(child)
      _ = try cursor?.next()
      let rows = expectError(.busy) { try db.withClosed(within: .milliseconds(50)) { _ in } }
      #expect(rows?.message.contains("is reading rows") == true)
      cursor = nil
      try db.withClosed { _ in }
    }
  }

  @Test func withClosedIsNotStarvedByBusyThreads() throws {
    try withBikes { db, _ in
      let handles = try (0..<4).map { _ in try db.createChild() }
      let isOver = Mutex(false)
      let group = DispatchGroup()
      for handle in handles {
        group.enter()
        Thread.detachNewThread {
          while !isOver.withLock({ $0 }) { _ = try? Bicycle.count().run(handle) }
          group.leave()
        }
      }
      for _ in 0..<times(20) {
        try db.withClosed(within: .seconds(600)) { files in #expect(files.paths.count == 1) }
      }
      isOver.withLock { $0 = true }
      group.wait()
    }
  }

  @Test func concurrentWithClosedCallsRunOneByOne() throws {
    try withBikes { db, _ in
      let child = try db.createChild()
      let inside = Counter()
      onThreads(4) { index in
        for _ in 0..<5 {
          try? (index % 2 == 0 ? db : child).withClosed { _ in
            inside.enter()
            usleep(1_000)
            inside.leave()
          }
        }
      }
      #expect(inside.most == 1)
      let other = DispatchSemaphore(value: 0)
      try db.withClosed { _ in
        Thread.detachNewThread {
          let error = expectError(.busy) { try child.withClosed(within: .milliseconds(50)) { _ in } }
          #expect(error?.message.contains("ClosedFilesTests.swift:") == true)
          other.signal()
        }
        other.wait()
      }
    }
  }

  @Test(.needsSQLiteProgram) func withClosedRefusesAFileThatIsOpenElsewhere() throws {
    try withBikes { db, directory in
      let path = directory + "/bikes.sqlite"
      let other = try SqliteDatabase(filepath: path)
      let here = expectError(.busy) { try db.withClosed(within: .milliseconds(100)) { _ in } }
      #expect(here?.message.contains("handle of this process") == true)
      try other.close()
      let process = try SQLiteProcess(path)
      try process.run("SELECT count(*) FROM bicycle;")
      let there = expectError(.busy) { try db.withClosed(within: .milliseconds(100)) { _ in } }
      #expect(there?.message.contains("another process") == true)
      #expect(try Bicycle.count().run(db) == 1)
      process.quit()
      try db.withClosed { _ in }
    }
  }

  @Test func handlesReopenTheFileThatIsNowAtThePath() throws {
    try withBikes { db, directory in
      let child = try db.createChild()
      let (path, moved) = (directory + "/bikes.sqlite", directory + "/moved.sqlite")
      try db.withClosed { files in try files.move(to: moved) }
      // The path is empty. Only the root handle creates a file.
      expectError(.cannotOpen) { _ = try child.query("SELECT 1", as: Int.self) }
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self) == [0])
      #expect(try child.query("SELECT count(*) FROM sqlite_schema", as: Int.self) == [0])
      // The file at the path is another one.
      try db.withClosed { files in
        try files.remove()
        try DatabaseFiles(of: moved).copy(to: path)
      }
      #expect(try Bicycle.count().run(child) == 1)
      try Bicycle(name: "two", color: "red").insert().run(db)
      // The file is not a database. Every use throws until the file is replaced.
      try db.withClosed { files in
        try files.remove()
        try Data("This is no database, but it is longer than a header would be.".utf8).write(to: URL(filePath: path))
      }
      for _ in 0..<2 { expectError(noDatabase) { _ = try Bicycle.count().run(db) } }
      try FileManager.default.removeItem(atPath: path)
      try DatabaseFiles(of: moved).move(to: path)
      #expect(try Bicycle.count().run(db) == 1)
    }
  }

  @Test func copyingAClosedFileReplacesNothing() throws {
    try withBikes { db, directory in
      let copy = directory + "/copy.sqlite"
      expectError(.busy) { try db.files.copy(to: copy) }
      try db.withClosed { files in
        try files.copy(to: copy)
        expectMisuse { try files.copy(to: copy) }
        expectError(.cannotOpen) { try files.copy(to: directory + "/no/such/place") }
      }
      #expect(files(in: directory).filter { $0.contains("copy") } == ["copy.sqlite"])
      #expect(try Bicycle.count().run(SqliteDatabase(filepath: copy)) == 1)
    }
  }

  @Test func aHandleWithoutAFileOrAConnectionIsRefused() throws {
    expectMisuse { try SqliteDatabase.inMemory().withClosed { _ in } }
    try withBikes { db, _ in
      try db.close()
      expectError(.closed) { try db.withClosed { _ in } }
    }
  }

  @Test func aReadOnlyHandleClosesItsFileToo() throws {
    try withBikes { db, directory in
      try db.close()
      let reading = try SqliteDatabase(
        filepath: directory + "/bikes.sqlite", configuration: Configuration(isReadOnly: true))
      try reading.withClosed { _ in #expect(!openFiles().contains { $0.contains(directory) }) }
      #expect(try Bicycle.count().run(reading) == 1)
    }
  }
}
