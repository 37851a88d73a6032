import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Syncs and reads that fail. `Tests/Faults/files.c` is preloaded into a separate process.
@Suite struct FailedCallTests {
  private static let source = Repository.root.appending(path: "Tests/Faults/files.c").path
  private static let hasCompiler = Administrator.run("cc", "--version")

  @Test(
    .enabled(
      if: TestProgram.isAvailable && !isSanitized && hasCompiler,
      "there is no C compiler, or the tests are no program of their own here"),
    arguments: [("sync", "FailedSyncProcess"), ("read", "FailedReadProcess")])
  func theErrorOfAFailedCallSaysWhatHappened(_ order: String, _ process: String) throws {
    try withDirectory { directory in
      let library = directory + "/files.so"
      let arguments = ["cc", "-shared", "-fPIC", "-o", library, FailedCallTests.source, "-ldl", "-lpthread"]
      try #require(try ChildProcess(arguments[0], Array(arguments.dropFirst()), errors: .dropped).end())
      let files = order == "sync" ? ".sqlite-wal" : "/"
      let report = try FaultProcess.run(
        order, filter: process, environment: ["LD_PRELOAD": library, "FAULT_FILES": files])
      #expect(report.violations == [])
      #expect(report.isDone)
    }
  }
}

private typealias Arm = @convention(c) (Int, Int, Int, Int32, Int) -> Void

/// Commits whose sync fails.
@Suite(.enabled(if: FaultProcess.order == "sync", "a process of its own"))
struct FailedSyncProcess {
  @Test func failedSyncsAreReported() throws {
    guard let arm = dlsym(nil, "faults_arm").map({ unsafeBitCast($0, to: Arm.self) }) else {
      return FaultProcess.say("VIOLATION the library is not preloaded")
    }
    func check(_ name: String, _ body: () throws -> Void) {
      // The next sync fails.
      arm(8, 1, 1, EIO, 0)
      let error = sqlError(body)
      if error?.kind != .io || error?.transaction != .unknown {
        FaultProcess.say("VIOLATION \(name): \(error.map { "\($0)" } ?? "no error")")
      }
    }
    try withDirectory { directory in
      let configuration = Configuration(synchronous: .full)
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
      try db.createTable(Member.self)
      check("a statement") { try Member(id: 1, name: "a").insert().run(db) }
      check("SQL text") { try db.execute("INSERT INTO member VALUES (2, 'b')") }
      check("a transaction") { try db.transaction { db in _ = try Member(id: 3, name: "c").insert().run(db) } }
      check("a transaction by hand") {
        try db.beginTransaction()
        try Member(id: 4, name: "d").insert().run(db)
        defer { if db.transactionLevel > 0 { try? db.rollbackTransaction(1) } }
        try db.commitTransaction()
      }
      let token = db.observe(on: Member.self) { (_: RowChange) in FaultProcess.say("VIOLATION an event") }
      check("an observed statement") { try Member(id: 5, name: "e").insert().run(db) }
      db.queue.sync {}
      db.removeObserver(token)
      // The handle works, and none of these rows is visible.
      try Member(id: 9, name: "z").insert().run(db)
      if try Member.select(Member.id).run(db) != [9] { FaultProcess.say("VIOLATION other rows") }
      try db.close()
      let pool = try SqlitePool(
        filepath: directory + "/b.sqlite", configuration: PoolConfiguration(handles: configuration, pollInterval: nil))
      try pool.transaction { db in try db.createTable(Member.self) }
      let runs = Mutex(0)
      check("a pool") {
        try pool.transaction { db in
          runs.withLock { $0 += 1 }
          try Member(id: 1, name: "a").insert().run(db)
        }
      }
      if runs.withLock({ $0 }) != 1 { FaultProcess.say("VIOLATION the pool ran the closure again") }
      try pool.close()
    }
    FaultProcess.say("DONE")
  }
}

/// Reads that fail for a while. For such a statement, SQLite's code is that of a damaged file.
@Suite(.enabled(if: FaultProcess.order == "read", "a process of its own"))
struct FailedReadProcess {
  @Test func failedReadsAreNoDamage() throws {
    guard let arm = dlsym(nil, "faults_arm").map({ unsafeBitCast($0, to: Arm.self) }) else {
      return FaultProcess.say("VIOLATION the library is not preloaded")
    }
    let reads = 2
    try withDirectory { directory in
      for (number, journalMode) in [Configuration.JournalMode.wal, .delete].enumerated() {
        let path = "\(directory)/\(number).sqlite"
        let configuration = Configuration(journalMode: journalMode, cacheSize: 10, stopsWritesWhenDamaged: true)
        let db = try SqliteDatabase(filepath: path, configuration: configuration)
        try db.createTable(Member.self)
        try Member.insert((1...2_000).map { Member(id: $0, name: "name \($0)") }).run(db)
        func check(_ name: String, _ db: SqliteDatabase, _ body: () throws -> Void) {
          arm(reads, 1, .max / 2, EIO, 0)
          let error = sqlError(body)
          arm(0, 1, 0, 0, 0)
          if error?.kind != .io { FaultProcess.say("VIOLATION \(name): \(error.map { "\($0)" } ?? "no error")") }
          if db.transactionLevel > 0 { try? db.rollbackTransaction(1) }
        }
        check("a statement", db) { _ = try Member.count().run(db) }
        check("a write", db) { _ = try Member.deleteAll().run(db) }
        check("a transaction", db) { try db.transaction { db in _ = try Member.deleteAll().run(db) } }
        let other = try SqliteDatabase(filepath: path, configuration: configuration)
        check("a new handle's transaction", other) {
          try other.transaction { db in _ = try Member.deleteAll().run(db) }
        }
        // The files are intact, and writes are not stopped.
        try Member(id: 0, name: "later").insert().run(db)
        if try Member.count().run(db) != 2_001 { FaultProcess.say("VIOLATION other rows") }
        try other.close()
        try db.close()
        // A page that is overwritten is damage, also after a read that failed on this handle and thread.
        let damaged = try SqliteDatabase(filepath: path, configuration: configuration)
        check("a read", damaged) { _ = try Member.read().run(damaged) }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: 4_096)
        try file.write(contentsOf: Data(repeating: 7, count: 4_096))
        try file.close()
        let error = sqlError { _ = try Member.read().run(damaged) }
        if error?.kind != .corrupt { FaultProcess.say("VIOLATION damage: \(error.map { "\($0)" } ?? "no error")") }
        try damaged.close()
      }
    }
    FaultProcess.say("DONE")
  }
}
