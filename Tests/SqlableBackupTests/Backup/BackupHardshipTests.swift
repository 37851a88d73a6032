import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// Backups and restores that end early or run during writes.
@Suite struct BackupHardshipTests {
  @Test(.enabled(if: Administrator.canMount, "a file system can't be mounted here"))
  func fullDiskLeavesTheEarlierBackupUnchanged() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db)
      try withSmallDisk(size: "1m") { disk in
        try db.backup(to: disk + "/backup")
        let before = BackupTrial.bytes(disk + "/backup")
        try db.execute("UPDATE account SET padding = randomblob(40000)")
        for options in [BackupOptions(), .vacuumed] {
          expectError(.full) { try db.backup(to: disk + "/backup", options) }
          #expect(BackupTrial.bytes(disk + "/backup") == before)
          #expect(files(in: disk) == ["backup"])
        }
        #expect(try BackupTrial.expectOneCommit(SqliteDatabase(filepath: disk + "/backup")) == 0)
      }
    }
  }

  @Test(.enabled(if: Administrator.canMount, "a file system can't be mounted here"))
  func fullDiskLeavesTheDatabaseUnchanged() throws {
    try withDatabase { big in
      try BackupTrial.prepare(big, padding: 40_000)
      try withSmallDisk(size: "1m") { disk in
        let db = try SqliteDatabase(filepath: disk + "/a.sqlite")
        try BackupTrial.prepare(db)
        try db.transaction { db in try BackupTrial.transfer(db, 1) }
        try big.backup(to: big.filepath + ".copy")
        expectError(.full) { try db.restore(from: big.filepath + ".copy") }
        expectError(.full) { try big.backup(to: db) }
        #expect(try BackupTrial.expectOneCommit(db) == 1)
        try db.transaction { db in try BackupTrial.transfer(db, 2) }
        #expect(try BackupTrial.expectOneCommit(db.createChild()) == 2)
      }
    }
  }

  @Test func progressErrorEndsBackupAndRestore() throws {
    struct Enough: Error {}
    try withDatabase { db in
      try BackupTrial.prepare(db, accounts: 500, padding: 1_000)
      let copy = db.filepath + ".copy"
      let options = BackupOptions(pagesPerStep: 10) { if $0.fraction > 0.5 { throw Enough() } }
      #expect(throws: Enough.self) { try db.backup(to: copy, options) }
      #expect(!FileManager.default.fileExists(atPath: copy + ".sqlable-partial"))
      try db.backup(to: copy)
      try db.transaction { db in try BackupTrial.transfer(db, 1) }
      #expect(throws: Enough.self) { try db.restore(from: copy, options) }
      #expect(try BackupTrial.expectOneCommit(db) == 1)
    }
  }

  @Test func timeLimitEndsBackupAndRestore() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db, accounts: 500, padding: 1_000)
      let copy = db.filepath + ".copy"
      let options = BackupOptions(pagesPerStep: 1, bytesPerSecond: 4_096, timeLimit: .milliseconds(100))
      expectError(.timeout) { try db.backup(to: copy, options) }
      #expect(!FileManager.default.fileExists(atPath: copy))
      try db.backup(to: copy)
      try db.transaction { db in try BackupTrial.transfer(db, 1) }
      expectError(.timeout) { try db.restore(from: copy, options) }
      #expect(try BackupTrial.expectOneCommit(db) == 1)
      let pool = try SqlitePool(filepath: db.filepath)
      let slow = BackupOptions(pagesPerStep: 1, bytesPerSecond: 4_096)
      expectError(.timeout) { try withDeadline(.milliseconds(100)) { try pool.backup(to: copy, slow) } }
      expectError(.timeout) { try withDeadline(.milliseconds(300)) { try pool.restore(from: copy, slow) } }
      #expect(try BackupTrial.expectOneCommit(db) == 1)
      try pool.close()
    }
  }

  @Test func cancellationEndsBackupAndRestore() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try await pool.withWriter { db in try BackupTrial.prepare(db, accounts: 500, padding: 1_000) }
      try await pool.backup(to: directory + "/backup")
      let before = BackupTrial.bytes(directory + "/backup")
      try await pool.transaction { db in try BackupTrial.transfer(db, 1) }
      let (started, startedAgain) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
      let backup = Task {
        let options = BackupOptions(pagesPerStep: 1, bytesPerSecond: 1) { _ in started.continuation.yield() }
        try await pool.backup(to: directory + "/backup", options)
      }
      let restore = Task {
        let options = BackupOptions(pagesPerStep: 1, bytesPerSecond: 1) { _ in startedAgain.continuation.yield() }
        try await pool.restore(from: directory + "/backup", options)
      }
      for await _ in started.stream { break }
      for await _ in startedAgain.stream { break }
      backup.cancel()
      restore.cancel()
      await #expect(throws: CancellationError.self) { try await backup.value }
      await #expect(throws: CancellationError.self) { try await restore.value }
      #expect(BackupTrial.bytes(directory + "/backup") == before)
      #expect(!files(in: directory).contains("backup.sqlable-partial"))
      try await pool.transaction { db in try BackupTrial.transfer(db, 2) }
      #expect(try await pool.read { db in try BackupTrial.expectOneCommit(db) } == 2)
      try await pool.close()
    }
  }

  @Test func closingAPoolWaitsForItsBackups() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try await pool.withWriter { db in try BackupTrial.prepare(db, accounts: 500, padding: 1_000) }
      let (begun, isReleased) = (Mutex(false), Mutex(false))
      let options = BackupOptions(pagesPerStep: 1) { _ in
        begun.withLock { $0 = true }
        while !isReleased.withLock({ $0 }) { usleep(1_000) }
      }
      let backup = Task { try await pool.backup(to: directory + "/backup", options) }
      try await until { begun.withLock { $0 } }
      let isClosed = Mutex(false)
      let close = Task {
        try await pool.close(within: .seconds(900))
        isClosed.withLock { $0 = true }
      }
      try await until { !pool.isOpen }
      // Time in which a close that does not wait would end.
      try await Task.sleep(for: .milliseconds(300))
      #expect(!isClosed.withLock { $0 })
      isReleased.withLock { $0 = true }
      try await backup.value
      try await close.value
      #expect(!pool.isConnected)
      #expect(try BackupTrial.expectOneCommit(SqliteDatabase(filepath: directory + "/backup")) == 0)
    }
  }

  @Test func closingAPoolEndsItsBackupsAfterTheTime() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try await pool.withWriter { db in try BackupTrial.prepare(db, accounts: 500, padding: 1_000) }
      let begun = Mutex(false)
      let options = BackupOptions(pagesPerStep: 1, bytesPerSecond: 1) { _ in begun.withLock { $0 = true } }
      let backup = Task { try await pool.backup(to: directory + "/backup", options) }
      try await until { begun.withLock { $0 } }
      // Closing again waits for a backup that a busy machine has not ended within a second.
      try await until { (try? pool.close(within: .zero)) != nil }
      // Has no effect on a backup that has ended.
      backup.cancel()
      var found: (any Error)?
      do { try await backup.value } catch { found = error }
      #expect((found as? SqlError)?.kind == .closed, "\(String(describing: found))")
      #expect(!files(in: directory).contains { $0.hasPrefix("backup") })
      await #expect(throws: SqlError.self) { try await pool.backup(to: directory + "/backup") }
    }
  }

  @Test func aBackupsClosureCanNotCloseThePool() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try await pool.withWriter { db in try BackupTrial.prepare(db, accounts: 5, padding: 10) }
      let kinds = Mutex<[SqlError.Kind?]>([])
      let options = BackupOptions { _ in
        let error = sqlError { try pool.close(within: .zero) }
        kinds.withLock { $0.append(error?.kind) }
      }
      func blocking() throws { try pool.backup(to: directory + "/blocking", options) }
      try blocking()
      try await pool.backup(to: directory + "/async", options)
      for try await _ in pool.backupBytes(options) {}
      let found = kinds.withLock { $0 }
      #expect(found.count >= 3)
      #expect(Set(found) == [.misuse("can't close the pool inside a closure of its backup")])
      #expect(pool.isOpen)
      try await pool.close()
    }
  }

  /// A thread has the pool's lock during the fork, so the child would wait for the lock.
  @Test(.disabled(if: isSanitized)) func aForkedProcessGetsNoBytesOfABackup() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      let closed = try SqlitePool(filepath: directory + "/b.sqlite")
      try closed.close()
      // The child's calls run once before the fork: a lock that another thread holds stays locked in the child.
      #expect(status(ofBytesOf: closed) == 1)
      var status: Int32 = -1
      // An alarm ends a child that waits for such a lock, or that gets no processor. Another child then follows.
      for _ in 0..<5 {
        let child = pool.withState { _ in
          let child = Fork.begin()
          if child == 0 { _exit(self.status(ofBytesOf: pool)) }
          return child
        }
        try #require(child > 0)
        status = Fork.wait(for: child)
        if status & 0x7F != SIGALRM { break }
      }
      #expect(status == 0)
      try pool.close()
    }
  }

  /// Reads the first bytes of a backup on the calling thread. Returns 0 if this throws `.misuse`, and 1 for another
  /// error.
  private func status(ofBytesOf pool: SqlitePool) -> Int32 {
    let (jobs, status) = (StoredJobs(), Mutex<Int32>(2))
    Task(executorPreference: jobs) {
      var bytes = pool.backupBytes().makeAsyncIterator()
      do { _ = try await bytes.next() } catch {
        let isMisuse = (error as? SqlError)?.kindIsMisuse == true
        status.withLock { $0 = isMisuse ? 0 : 1 }
      }
    }
    jobs.run()
    return status.withLock { $0 }
  }

  @Test func twoBackupsToOnePathDoNotMix() throws {
    try withDatabase { db in
      try BackupTrial.prepare(db, accounts: 500, padding: 1_000)
      let copy = db.filepath + ".copy"
      let outcomes = Mutex([Int]())
      onThreads(4) { _ in
        for _ in 0..<10 {
          let error = sqlError { try db.backup(to: copy, BackupOptions(pagesPerStep: 10)) }
          #expect(error == nil || error?.kind == .busy)
          outcomes.withLock { $0.append(error == nil ? 1 : 0) }
        }
      }
      #expect(outcomes.withLock { $0.reduce(0, +) } > 0)
      #expect(try BackupTrial.contents(of: copy) == BackupTrial.contents(db))
      #expect(!FileManager.default.fileExists(atPath: copy + ".sqlable-partial"))
    }
  }

  @Test(arguments: [Configuration.JournalMode.wal, .delete])
  func backupDuringWritesIsOneCommit(_ mode: Configuration.JournalMode) throws {
    try withDirectory { directory in
      let configuration = Configuration(busyTimeout: 600, journalMode: mode, synchronous: .off)
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
      try BackupTrial.prepare(db, padding: 3_000)
      let isDone = Mutex(false)
      let counts = Mutex([Int]())
      onThreads(3) { index in
        do {
          if index == 2 {
            defer { isDone.withLock { $0 = true } }
            let rounds = times(mode == .wal ? 40 : 15)
            for round in 0..<rounds {
              // On a busy machine, the writers may not have committed yet.
              if round > 0, round == rounds - 1 {
                let first = counts.withLock { $0[0] }
                try waitUntil(within: .seconds(900)) {
                  try db.query("SELECT count(*) FROM transfer WHERE id > 0", as: Int.self)[0] > first
                }
              }
              let copy = directory + "/copy\(round)"
              let options = round % 4 == 3 ? .vacuumed : BackupOptions(pagesPerStep: 2) { _ in usleep(200) }
              try db.backup(to: copy, options)
              let count = try BackupTrial.expectOneCommit(SqliteDatabase(filepath: copy))
              counts.withLock { $0.append(count) }
            }
          } else {
            // One writer is a child of the handle. The other one acts like another process.
            let writer =
              index == 0
              ? try db.createChild()
              : try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: configuration)
            while !isDone.withLock({ $0 }) {
              try writer.transaction { db in
                let last = try db.query("SELECT max(id) FROM transfer", as: Int.self)[0]
                try BackupTrial.transfer(db, last + 1)
              }
            }
          }
        } catch { Issue.record(error) }
      }
      let all = counts.withLock { $0 }
      #expect(all == all.sorted())
      // Under a sanitizer, the DELETE mode has only one round.
      #expect(all.count == 1 || (all.last ?? 0) > (all.first ?? 0))
    }
  }

  @Test(.needsPlainFiles("the bytes of a database in memory are not encrypted"))
  func backupBytesEqualTheBackupFile() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try await pool.withWriter { db in try BackupTrial.prepare(db, accounts: 200, padding: 1_000) }
      try await pool.backup(to: directory + "/backup")
      let expected = try #require(BackupTrial.bytes(directory + "/backup"))
      for size in [1 << 20, 4_096, 1_000, expected.count, expected.count - 1, expected.count + 1] {
        var bytes = Data()
        var sizes: [Int] = []
        for try await chunk in pool.backupBytes(chunkSize: size) {
          bytes.append(contentsOf: chunk)
          sizes.append(chunk.count)
          #expect(!files(in: directory).contains { $0.contains("partial") })
        }
        // SQLCipher encrypts each page with a new random vector, so no two copies have the same bytes.
        #expect(isEncrypted ? bytes.count == expected.count : bytes == expected)
        #expect(sizes.dropLast().allSatisfy { $0 == size })
        #expect(sizes.count == (expected.count + size - 1) / size)
      }
      var loop = pool.backupBytes(chunkSize: 0).makeAsyncIterator()
      await #expect(throws: SqlError.self) { _ = try await loop.next() }
      #expect(try await loop.next() == nil)
      let handle = try SqliteDatabase.inMemory()
      try handle.backup(to: directory + "/empty")
      var whole: [UInt8] = []
      for try await chunk in handle.backupBytes(chunkSize: 100, directory: directory) { whole += chunk }
      #expect(Data(whole) == BackupTrial.bytes(directory + "/empty"))
      try await pool.close()
    }
  }
}

/// Runs tasks on the calling thread: a forked process has no other threads.
private final class StoredJobs: TaskExecutor, @unchecked Sendable {
  private var jobs: [UnownedJob] = []

  func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

  func run() {
    while !jobs.isEmpty { jobs.removeFirst().runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
