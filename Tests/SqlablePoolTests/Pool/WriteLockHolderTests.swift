import Foundation
import Glibc
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlablePool
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The holder of the write lock, as reported by pools, handles and errors.
@Suite(.timeLimit(.minutes(60))) struct WriteLockHolderTests {
  private static let file = "SqlablePoolTests/WriteLockHolderTests.swift"

  @Test func holderNamesTheWritingHandleItsCallAndAge() throws {
    try withDatabase(Configuration(label: "importer")) { db in
      try db.createTable(Member.self)
      let other = try SqliteDatabase(filepath: db.filepath, configuration: .init(label: "other", busyTimeout: 0.1))
      #expect(db.writeLockHolder == nil)
      #expect(other.writeLockHolder == nil)
      let line: UInt = #line + 2
      try whileHeld({ held in
        try db.transaction { db in
          try Member(id: 1, name: "secret").insert().run(db)
          held()
        }
      }) {
        usleep(20_000)
        let holder = try #require(other.writeLockHolder)
        #expect(holder.process == Int(getpid()))
        #expect(holder.label == "importer")
        #expect(holder.handle != nil)
        #expect(holder.callSite == "\(WriteLockHolderTests.file):\(line)")
        let age = try #require(holder.age)
        #expect(age >= .milliseconds(10))
        #expect(age < .seconds(600))
        let error = expectError(.busy) { try other.transaction { _ in } }
        #expect(error?.message.contains("the call at \(WriteLockHolderTests.file):\(line) of handle ") == true)
        #expect(error?.message.contains("(\"importer\") has held the write lock for") == true)
        let write = expectError(.busy) { try Member(id: 2, name: "x").insert().run(other) }
        #expect(write?.message.contains("importer") == true)
        #expect(!"\(String(describing: error))\(String(describing: write))\(holder)".contains("secret"))
      }
      #expect(db.writeLockHolder == nil)
      // The holder's record ends with the transaction, also with a failed one.
      _ = try? db.transaction { _ in throw CancellationError() }
      #expect(db.writeLockHolder == nil)
      try db.beginTransaction(.immediate)
      #expect(db.writeLockHolder?.label == "importer")
      try db.rollbackTransaction()
      #expect(db.writeLockHolder == nil)
    }
  }

  @Test func aDeferredTransactionHoldsTheLockFromItsFirstWriteOn() throws {
    try withDatabase { db in
      try db.createTable(Member.self)
      try db.transaction(.deferred) { db in
        _ = try Member.count().run(db)
        #expect(db.writeLockHolder == nil)
        try Member(id: 1, name: "x").insert().run(db)
        #expect(db.writeLockHolder != nil)
      }
      #expect(db.writeLockHolder == nil)
    }
  }

  @Test func aPoolNamesTheCallThatWrites() throws {
    let configuration = PoolConfiguration(
      handles: .init(label: "bikes", busyTimeout: 0.2), waitTimeout: .milliseconds(200))
    try withMembers(configuration) { pool in
      try whileHeld({ held in
        try pool.transaction { db in
          held()
          _ = try db.query(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2) SELECT i FROM n", as: Int.self)
        }
      }) {
        let holder = try #require(pool.writeLockHolder)
        #expect(holder.callSite?.hasPrefix(WriteLockHolderTests.file) == true)
        #expect(holder.label == "bikes")
        // This pool names its call that has the writer. Another pool and a handle name the holder.
        let waited = expectError(.timeout) { try Member(id: 1, name: "x").insert().run(pool) }
        let place = try #require(holder.callSite)
        #expect(waited?.message.components(separatedBy: place).count == 2, "\(waited?.message ?? "")")
        let other = try SqlitePool(
          filepath: pool.filepath, configuration: .init(handles: .init(busyTimeout: 0.1), waitTimeout: .seconds(5)))
        let refused = expectError(.busy) { try Member(id: 1, name: "x").insert().run(other) }
        #expect(refused?.message.contains("the call at \(place) of handle") == true, "\(refused?.message ?? "")")
        try other.close()
      }
      #expect(pool.writeLockHolder == nil)
    }
  }

  /// The test blocks no thread of Swift: there are as many as cores, and the write needs one to start.
  @Test func holderShowsTheSQLOfALongWriteWithoutValues() async throws {
    try await withMembers { pool in
      let isBegun = DispatchSemaphore(value: 0)
      let write = Task.detached {
        try await pool.transaction { db in
          isBegun.signal()
          try db.execute(
            """
            INSERT INTO member WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
            SELECT i, 'secret' FROM n WHERE i < 0
            """)
        }
      }
      try await onThread { isBegun.wait() }
      defer { write.cancel() }
      var sql: String?
      for _ in 0..<30_000 where sql == nil {
        try await Task.sleep(for: .milliseconds(10))
        sql = pool.writeLockHolder?.sql
      }
      #expect(sql?.hasPrefix("INSERT INTO member WITH RECURSIVE") == true)
      #expect(sql?.contains("secret") == false)
    }
  }

  @Test(.enabled(if: TestProgram.isAvailable)) func holderNamesAnotherProcessAfterALongWrite() async throws {
    try await withMembers(PoolConfiguration(handles: .init(busyTimeout: 0.1))) { pool in
      let patient = try SqlitePool(
        filepath: pool.filepath, configuration: .init(handles: .init(busyTimeout: 600)))
      let process = try PoolProcess(.holding, pool.filepath, id: 7)
      #expect(process.answer() == "ready")
      try process.goOn()
      _ = process.answer()
      var holder: WriteLockHolder?
      for _ in 0..<30_000 where holder?.callSite == nil {
        try await Task.sleep(for: .milliseconds(10))
        holder = pool.writeLockHolder
      }
      let found = try #require(holder)
      #expect(found.process != Int(getpid()))
      #expect(found.handle == nil)
      #expect(found.callSite?.hasPrefix("SqlablePoolTests/PoolProcess.swift:") == true)
      let age = try #require(found.age)
      #expect(age >= .milliseconds(250))
      #expect(age < .seconds(600))
      let error = await #expect(throws: SqlError.self) { try await Member(id: 1, name: "x").insert().run(pool) }
      #expect(error?.kind == .busy)
      #expect(error?.message.contains("process \(found.process)") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("PoolProcess.swift") == true, "\(error?.message ?? "")")
      // On a busy machine the deadline can pass before the call waits for the lock.
      var late: SqlError?
      for _ in 0..<10 where late?.message.contains("PoolProcess.swift") != true {
        late = await #expect(throws: SqlError.self) {
          _ = try await withDeadline(.seconds(1)) { try await Member(id: 1, name: "x").insert().run(patient) }
        }
        #expect(late?.kind == .timeout)
      }
      #expect(late?.message.contains("PoolProcess.swift") == true, "\(late?.message ?? "")")
      let record = try String(contentsOfFile: pool.filepath + "-gate", encoding: .utf8)
      #expect(record.contains("\n\(found.process)\n"))
      #expect(!record.contains("'x'"))
      try process.goOn()
      #expect(process.answer() == "done")
      #expect(process.end())
      try await patient.close()
      #expect(pool.writeLockHolder == nil)
      #expect(try Data(contentsOf: URL(filePath: pool.filepath + "-gate")).isEmpty)
    }
  }

  @Test func aRecordIsReadableWhileItIsWrittenAgain() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path)
      defer { try? db.close() }
      try db.createTable(Member.self)
      let file = try #require(GateFile(besideFileAt: path))
      // A pool writes the same record again, with another time.
      let records = ["x", "y"].map {
        GateRecord(label: nil, callSite: $0, age: .zero, sql: $0).bytes
      }
      file.write(records[0])
      let isDone = LockedValue(false)
      defer { isDone.withLock { $0 = true } }
      Thread.detachNewThread { while !isDone.withLock({ $0 }) { for bytes in records { file.write(bytes) } } }
      for _ in 0..<10_000 { try #require(GateRecord(besideFileAt: path) != nil) }
    }
  }

  @Test(.enabled(if: TestProgram.isAvailable)) func holderIgnoresTheRecordOfAKilledProcess() async throws {
    try await withMembers { pool in
      let process = try PoolProcess(.holding, pool.filepath, id: 7)
      #expect(process.answer() == "ready")
      try process.goOn()
      _ = process.answer()
      for _ in 0..<30_000 where pool.writeLockHolder?.callSite == nil {
        try await Task.sleep(for: .milliseconds(10))
      }
      process.kill()
      #expect(pool.writeLockHolder == nil)
      try await pool.transaction { _ in
        #expect(pool.writeLockHolder?.process == Int(getpid()))
        #expect(pool.writeLockHolder?.callSite?.hasPrefix(WriteLockHolderTests.file) == true)
      }
    }
  }

  @Test(.needsSQLiteProgram) func holderNamesTheProcessOfAnotherProgram() throws {
    try withDatabase(Configuration(busyTimeout: 0.1)) { db in
      try db.createTable(Member.self)
      let process = try SQLiteProcess(db.filepath)
      defer { process.quit() }
      try process.run("BEGIN IMMEDIATE;")
      let holder = try #require(db.writeLockHolder)
      #expect(holder.process != Int(getpid()))
      #expect(holder.callSite == nil)
      #expect(holder.age == nil)
      let error = expectError(.busy) { try db.transaction { _ in } }
      #expect(error?.message.hasSuffix("process \(holder.process) holds the write lock") == true)
      try process.run("COMMIT;")
      #expect(db.writeLockHolder == nil)
    }
  }

  @Test(.needsSQLiteProgram)
  func holderRejectsReusedProcessIDsAndControlCharacters() throws {
    try withMembers { pool in
      let process = try SQLiteProcess(pool.filepath)
      defer { process.quit() }
      try process.run("BEGIN IMMEDIATE;")
      let holder = try #require(pool.writeLockHolder)
      #expect(holder.callSite == nil)
      func write(since: Int64) throws {
        let record = "sqlable 1\n\(holder.process)\n\(since)\nla\u{1B}bel\nA.swift:1\nSELECT\r1\n"
        try Data(record.utf8).write(to: URL(filePath: pool.filepath + "-gate"))
      }
      try write(since: 1)
      #expect(pool.writeLockHolder == holder, "the process began later")
      try write(since: .max)
      let named = try #require(pool.writeLockHolder)
      #expect(named.callSite == "A.swift:1")
      #expect(named.label == "la bel")
      #expect(named.sql == "SELECT 1")
    }
  }

  @Test(.needsSQLiteProgram)
  func deadlineErrorNamesTheWriteLockHolder() throws {
    try withMembers { pool in
      let process = try SQLiteProcess(pool.filepath)
      defer { process.quit() }
      try process.run("BEGIN IMMEDIATE;")
      let holder = try #require(pool.writeLockHolder)
      let error = expectError(.timeout) {
        _ = try withDeadline(.seconds(2)) { try Member(id: 1, name: "x").insert().run(pool) }
      }
      #expect(error?.message.hasSuffix("; process \(holder.process) holds the write lock") == true)
      try process.run("COMMIT;")
    }
  }

  @Test func malformedGateFileNamesNoHolder() throws {
    try withMembers { pool in
      for text in ["", "x", "sqlable 1\n\n\n\n\n\n", "sqlable 1\n1\nx\n\n\n\n", String(repeating: "\n", count: 9_000)] {
        try Data(text.utf8).write(to: URL(filePath: pool.filepath + "-gate"))
        #expect(pool.writeLockHolder == nil)
        try Member(id: text.count, name: "x").insert().run(pool)
      }
    }
  }

  /// Any user with write access to the database can write the gate file.
  @Test func gateRecordAcceptsAnyTime() throws {
    try withDatabase { db in
      let process = 2_000_000_000
      for since in [Int64.min, -1, 0, .max] {
        let text = "sqlable 1\n\(process)\n\(since)\nlabel\na.swift:1\nSELECT 1\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: GateRecord.path(besideFileAt: db.filepath)))
        let record = try #require(GateRecord(besideFileAt: db.filepath))
        let holder = try #require(record.holder(in: process))
        #expect(try #require(holder.age) >= .zero)
        #expect("\(holder)".contains("has held the write lock for"))
      }
    }
  }
}
