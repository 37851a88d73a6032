import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// `withClosed` of pools.
@Suite struct ClosedPoolTests {
  @Test func withClosedClosesEveryConnectionOfThePool() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", readers: 2)
      try await pool.transaction { db in try db.createTable(Member.self) }
      for try await _ in Member.count().updates(in: pool) { break }
      _ = try await Member.count().run(pool)
      let names = try await pool.withClosed { found in
        #expect(!openFiles().contains { $0.hasPrefix(directory + "/pool.sqlite") && !$0.hasSuffix("-gate") })
        #expect(found.size > 0)
        return files(in: directory)
      }
      #expect(names.contains("pool.sqlite"))
      #expect(!names.contains { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") })
      try await Member(id: 1, name: "one").insert().run(pool)
      #expect(try await Member.count().run(pool) == 1)
      try await pool.close()
      expectError(.closed) { try pool.withClosed { _ in } }
    }
  }

  @Test(.needsSQLiteProgram, .disabled(if: isInMemory))
  func callsContinueWhileAnotherProcessKeepsTheFileOpen() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.createTable(Member.self) }
      let process = try SQLiteProcess(directory + "/pool.sqlite")
      try process.run("SELECT count(*) FROM member;")
      let closing = Task { try await pool.withClosed(within: .seconds(900)) { _ in } }
      var longest = Duration.zero
      for id in 1...40 {
        let begin = ContinuousClock.now
        try await Member(id: id, name: "x").insert().run(pool)
        longest = max(longest, begin.duration(to: .now))
        try await Task.sleep(for: .milliseconds(5))
      }
      // The calls ran while withClosed waited.
      #expect(longest < .seconds(300))
      process.quit()
      try await closing.value
      #expect(try await Member.count().run(pool) == 40)
      try await pool.close()
    }
  }

  @Test func callsWaitUntilTheFileIsOpenAgain() async throws {
    try await withMembers(PoolConfiguration(readers: 2)) { pool in
      let order = Collected<String>()
      try await withThrowingTaskGroup(of: Void.self) { group in
        let isInside = DispatchSemaphore(value: 0)
        let goesOn = DispatchSemaphore(value: 0)
        group.addTask {
          try await pool.withClosed { _ in
            isInside.signal()
            goesOn.wait()
            order.append("closed")
          }
        }
        try await onThread { isInside.wait() }
        for id in 1...8 {
          group.addTask {
            if id % 2 == 0 {
              try await Member(id: id, name: "m").insert().run(pool)
            } else {
              _ = try await Member.count().run(pool)
            }
            order.append("call")
          }
        }
        try await until { pool.statistics.waitingReads + pool.statistics.waitingWrites >= 8 }
        #expect(order.values == [])
        goesOn.signal()
        try await group.waitForAll()
      }
      #expect(order.values == ["closed"] + Array(repeating: "call", count: 8))
      #expect(try await Member.count().run(pool) == 4)
    }
  }

  @Test func withClosedRefusesNestedCalls() throws {
    try withMembers { (pool: SqlitePool) throws -> Void in
      try pool.withClosed { _ in
        let error = expectMisuse { _ = try Member.count().run(pool) }
        #expect(error?.message.contains("the file is closed until") == true)
        expectMisuse { try pool.transaction { _ in } }
        expectMisuse { try pool.withClosed { _ in } }
        expectMisuse { try pool.close() }
        expectMisuse { try pool.releaseMemory() }
      }
      try pool.read { db in
        _ = expectMisuse { try pool.withClosed { _ in } }
        _ = expectMisuse { try db.withClosed { _ in } }
      }
      #expect(try Member.count().run(pool) == 0)
    }
  }

  @Test func withClosedErrorNamesALongCall() async throws {
    // On a busy machine, a call whose handle is free can also wait for its thread.
    try await withMembers(PoolConfiguration(readers: 1, waitTimeout: .seconds(4))) { pool in
      let (begun, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      async let reading: Void = pool.read { _ in
        begun.signal()
        goesOn.wait()
      }
      defer { goesOn.signal() }
      try await onThread { begun.wait() }
      let error = try await onThread { sqlError { try pool.withClosed(within: .milliseconds(100)) { _ in } } }
      #expect(error?.kind == .busy)
      #expect(error?.message.contains("ClosedPoolTests.swift:") == true)
      // The pool serves calls after the error.
      try await Member(id: 1, name: "one").insert().run(pool)
      let late = await Task { try await withDeadline(.milliseconds(50)) { try await pool.withClosed { _ in } } }.result
      #expect((late.failure as? SqlError)?.kind == .busy)
      let cancelled = Task { try await pool.withClosed(within: .seconds(900)) { _ in } }
      try await Task.sleep(for: .milliseconds(50))
      cancelled.cancel()
      #expect(await cancelled.result.failure is CancellationError)
      goesOn.signal()
      try await reading

      // The timeout of a call that waits for the file names the cause.
      let inside = DispatchSemaphore(value: 0)
      let over = DispatchSemaphore(value: 0)
      async let closed: Void = pool.withClosed { _ in
        inside.signal()
        over.wait()
      }
      defer { over.signal() }
      try await onThread { inside.wait() }
      for isWriting in [false, true] {
        let result = await Task {
          if isWriting {
            try await Member(id: 2, name: "two").insert().run(pool)
          } else {
            _ = try await Member.count().run(pool)
          }
        }.result
        let error = result.failure as? SqlError
        #expect(error?.kind == .timeout)
        #expect(error?.message.contains("began to close the files") == true)
      }
      over.signal()
      try await closed
      #expect(try await Member.count().run(pool) == 1)
    }
  }

  @Test func closeWaitsForTheBodyOfWithClosed() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", readers: 2)
      try await pool.transaction { db in try db.createTable(Member.self) }
      let (inside, over) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      async let closed: Void = pool.withClosed { _ in
        inside.signal()
        over.wait()
      }
      defer { over.signal() }
      try await onThread { inside.wait() }
      let error = try await onThread { sqlError { try pool.close(within: .milliseconds(50)) } }
      #expect(error?.kind == .busy)
      #expect(error?.message.contains("ClosedPoolTests.swift:") == true)
      over.signal()
      try await closed
      try await pool.close()
      #expect(files(in: directory).allSatisfy { !$0.hasSuffix("-wal") })
    }
  }

  @Test func readersUseTheReplacedFileAfterWithClosed() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", readers: 2)
      try await pool.transaction { db in try db.createTable(Member.self) }
      try await Member(id: 1, name: "old").insert().run(pool)
      let other = directory + "/other.sqlite"
      try await pool.backup(to: other)
      try SqliteDatabase(filepath: other).transaction { db in
        try Member(id: 2, name: "new").insert().run(db)
      }
      var names: [[String]] = []
      for try await members in Member.read().orderBy(Member.id).updates(in: pool) {
        names.append(members.map(\.name))
        if names.count > 1 { break }
        try await pool.withClosed { files in
          try files.remove()
          try DatabaseFiles(of: other).move(to: files.filepath)
        }
      }
      #expect(names == [["old"], ["old", "new"]])
      try await pool.withClosed { files in try files.remove() }
      // The pool creates a missing file.
      #expect(try await pool.read { db in try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self) } == [0])
      try await pool.close()
    }
  }

  @Test(.needsSQLiteProgram) func externalCommitAfterWithClosedIsDetected() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/pool.sqlite"
      let pool = try SqlitePool(filepath: path, readers: 2)
      try await pool.transaction { db in try db.createTable(Member.self) }
      var counts: [Int] = []
      for try await count in Member.count().updates(in: pool) {
        counts.append(count)
        if count > 0 { break }
        try await pool.withClosed { _ in }
        let process = try SQLiteProcess(path)
        try process.run("INSERT INTO member (id, name) VALUES (1, 'other');")
        process.quit()
      }
      #expect(counts.last == 1)
      try await pool.close()
    }
  }

  @Test(.needsPlainFiles("an encrypted database has no archive"))
  func archiveContinuesAfterWithClosed() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", readers: 2)
      try await pool.transaction { db in try db.createTable(Member.self) }
      let archive = try await pool.archive(to: directory + "/archive", ArchiveOptions(interval: .milliseconds(20)))
      let seen = DatabaseArchive(at: directory + "/archive")
      var commits: [Int] = []
      for id in 1...3 {
        try await Member(id: id, name: "m").insert().run(pool)
        try await pool.withClosed { files in
          #expect(!files.paths.contains { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") })
          expectError(.busy) { _ = try archive.flush() }
        }
        commits.append(try await archive.flush())
      }
      // withClosed archives the last commits before the file closes.
      #expect(try seen.ranges().count == 4)
      #expect(archive.status.error == nil)
      #expect(archive.status.gaps == 0)
      for (index, commit) in commits.enumerated() {
        try await seen.restore(to: directory + "/\(index).sqlite", at: .commit(commit))
        #expect(try Member.count().run(SqliteDatabase(filepath: directory + "/\(index).sqlite")) == index + 1)
      }
      try await seen.restore(to: directory + "/before.sqlite", at: .commit(seen.ranges()[0].last.commit))
      #expect(try Member.count().run(SqliteDatabase(filepath: directory + "/before.sqlite")) == 1)
      try await archive.stop()
      try await pool.close()
    }
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
