import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Commits whose sync fails. `Tests/Faults/files.c` is preloaded into a separate process.
@Suite struct FailedSyncTests {
  private static let source = Repository.root.appending(path: "Tests/Faults/files.c").path
  private static let hasCompiler = Administrator.run("cc", "--version")

  @Test(
    .enabled(
      if: TestProgram.isAvailable && !isSanitized && hasCompiler,
      "there is no C compiler, or the tests are no program of their own here"))
  func aCommitWhoseSyncFailsHasAnUnknownOutcome() throws {
    try withDirectory { directory in
      let library = directory + "/files.so"
      let arguments = ["cc", "-shared", "-fPIC", "-o", library, FailedSyncTests.source, "-ldl", "-lpthread"]
      try #require(try ChildProcess(arguments[0], Array(arguments.dropFirst()), errors: .dropped).end())
      let report = try FaultProcess.run(
        "sync", filter: "FailedSyncProcess", environment: ["LD_PRELOAD": library, "FAULT_FILES": ".sqlite-wal"])
      #expect(report.violations == [])
      #expect(report.isDone)
    }
  }
}

/// The test of the separate process.
@Suite(.enabled(if: FaultProcess.order == "sync", "a process of its own"))
struct FailedSyncProcess {
  private typealias Arm = @convention(c) (Int, Int, Int, Int32, Int) -> Void

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
