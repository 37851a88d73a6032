import CSqlableSQLite
import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Notifications of a pool's loops about external commits.
@Suite(.needsSQLiteProgram)
struct OtherProcessTests {
  /// A configuration that polls too rarely for a test: notifications come from the kernel.
  private static let silent = PoolConfiguration(pollInterval: .seconds(1_000))

  @Test func aLiveResultFollowsAnotherProcess() async throws {
    try await withMembers(OtherProcessTests.silent) { pool in
      let other = try SQLiteProcess(pool.filepath)
      defer { other.quit() }
      var updates = Member.count().updates(in: pool).makeAsyncIterator()
      #expect(try await updates.next() == 0)
      for count in 1...20 {
        try other.run("INSERT INTO member VALUES (\(count), 'other');")
        #expect(try await updates.next() == count)
      }
    }
  }

  @Test func externalChangesAreMissedAndOwnOnesAreRows() async throws {
    try await withMembers(OtherProcessTests.silent) { pool in
      let other = try SQLiteProcess(pool.filepath)
      defer { other.quit() }
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      try other.run("INSERT INTO member VALUES (1, 'other');")
      #expect(await changes.next() == .missed)
      try await Member(id: 2, name: "own").insert().run(pool)
      // The writer may report the same external commit as the queue's check.
      var event = await changes.next()
      if event == .missed { event = await changes.next() }
      guard case .row(let row) = event else {
        Issue.record("no row")
        return
      }
      #expect(row.id == 2)
    }
  }

  /// The pool's own commits trigger a check for external commits, which must not misjudge them.
  @Test func ownCommitsAreNotReportedAsMissed() async throws {
    for interval in [Duration.milliseconds(1), .seconds(1_000)] {
      try await withMembers(PoolConfiguration(pollInterval: interval)) { pool in
        var changes = pool.changes(on: Member.self).makeAsyncIterator()
        for id in 1...300 {
          try await Member(id: id, name: "own").insert().run(pool)
          if id % 50 == 0 { try await Task.sleep(for: .milliseconds(5)) }
        }
        var ids: [Int] = []
        while ids.count < 300, let event = await changes.next() {
          guard case .row(let row) = event else {
            Issue.record("missed after \(ids.count)")
            return
          }
          ids.append(row.id)
        }
        #expect(ids == Array(1...300))
      }
    }
  }

  /// A check that leaked a few bytes of stack would crash a service after days.
  @Test(.enabled(if: TestProgram.isAvailable), .disabled(if: isSanitized, "its frames are larger"))
  func writerChecksDoNotAccumulateStack() async throws {
    try await withMembers { pool in
      try await onThread {
        let process = try PoolProcess(.doubting, pool.filepath, id: 1, seconds: 4, stack: 128)
        #expect(process.answer() == "done")
        #expect(process.end())
      }
    }
  }

  /// The second commit starts at the WAL's beginning, and the fourth in a truncated WAL.
  @Test func commitsAfterCheckpointsAreDetected() async throws {
    try await withMembers(OtherProcessTests.silent) { pool in
      let other = try SQLiteProcess(pool.filepath)
      defer { other.quit() }
      var updates = Member.count().updates(in: pool).makeAsyncIterator()
      #expect(try await updates.next() == 0)
      for (count, checkpoint) in ["RESTART", "PASSIVE", "TRUNCATE", "FULL"].enumerated() {
        try other.run("INSERT INTO member VALUES (\(count), 'other');")
        #expect(try await updates.next() == count + 1)
        _ = try other.run("PRAGMA wal_checkpoint(\(checkpoint));")
      }
    }
  }

  /// The last connection deletes the WAL, and the next creates another.
  @Test(.disabled(if: isInMemory)) func commitsToANewWALAreDetected() async throws {
    try await withMembers(PoolConfiguration(pollInterval: .milliseconds(20))) { pool in
      let updates = Member.count().updates(in: pool)
      var loop = updates.makeAsyncIterator()
      #expect(try await loop.next() == 0)
      let path = pool.filepath
      for round in 1...3 {
        try await pool.withClosed { _ in
          #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        }
        let other = try SQLiteProcess(path)
        for count in 1...5 {
          try other.run("INSERT INTO member VALUES (\(round * 10 + count), 'other');")
          try await follow(updates, to: (round - 1) * 5 + count)
          // The checks after the last commit have become rare.
          if count == 3 { try await Task.sleep(for: .milliseconds(200)) }
        }
        other.quit()
      }
    }
  }

  /// Without a WAL, the live results of a handle poll.
  @Test func commitsWithARollbackJournalAreDetected() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/test.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 600, journalMode: .delete))
      try db.createTable(Member.self)
      let other = try SQLiteProcess(path)
      defer { other.quit() }
      let updates = Member.count().updates(in: db)
      for count in 1...5 {
        try other.run("INSERT INTO member VALUES (\(count), 'other');")
        try await follow(updates, to: count)
      }
      try db.close()
    }
  }

  private func follow(_ updates: some AsyncSequence<Int, any Error>, to count: Int) async throws {
    for try await value in updates where value == count { return }
  }

  @Test(.enabled(if: TestProgram.isAvailable), .disabled(if: isSanitized, "it has threads of its own"))
  func anIdlePoolDoesNotWakeUp() async throws {
    try await withMembers { pool in
      try await onThread {
        guard sqlable_reports_all_writes(pool.filepath) != 0 else { return }
        var count = Int.max
        // On a busy machine, a thread can also wait for memory: one attempt in three is enough.
        for attempt in 1...3 where count >= 30 {
          let process = try PoolProcess(.idling, pool.filepath, id: attempt, seconds: 5)
          count = try #require(Int(process.answer()))
          #expect(process.end())
        }
        // Polls of reads and of commits would wake several threads twenty times.
        #expect(count < 30)
      }
    }
  }

  /// Another handle of the same process counts as external.
  @Test func liveResultFollowsAnotherHandle() async throws {
    try await withMembers(OtherProcessTests.silent) { pool in
      let other = try SqliteDatabase(filepath: pool.filepath)
      var updates = Member.count().updates(in: pool).makeAsyncIterator()
      #expect(try await updates.next() == 0)
      try Member(id: 1, name: "other").insert().run(other)
      #expect(try await updates.next() == 1)
    }
  }

  @Test func ownWriteDetectsExternalCommitsWithoutPolling() async throws {
    try await withMembers(PoolConfiguration(pollInterval: nil)) { pool in
      let other = try SqliteDatabase(filepath: pool.filepath)
      var updates = Member.count().updates(in: pool).makeAsyncIterator()
      #expect(try await updates.next() == 0)
      let counts = Collected<Int>()
      let loop = Task { [updates] in
        var updates = updates
        while let count = try await updates.next() {
          counts.append(count)
          if count == 2 { return }
        }
      }
      try Member(id: 1, name: "other").insert().run(other)
      try await Task.sleep(for: .milliseconds(50))
      #expect(counts.values == [])
      // The pool's next transaction detects the external commit and notifies the loops.
      try await Member(id: 2, name: "own").insert().run(pool)
      try await loop.value
      #expect(counts.values.last == 2)
    }
  }

  @Test func invalidIntervalsAreRefused() throws {
    try withDirectory { directory in
      for configuration in [
        PoolConfiguration(pollInterval: .zero), PoolConfiguration(longRead: .zero), PoolConfiguration(readers: 0),
      ] {
        expectMisuse { _ = try SqlitePool(filepath: directory + "/pool.sqlite", configuration: configuration) }
      }
    }
  }

  @Test func loopFollowsInterleavedOwnAndExternalCommits() async throws {
    try await withMembers(PoolConfiguration(handles: .init(busyTimeout: 600))) { pool in
      let path = pool.filepath
      let total = 400
      let updates = Member.count().updates(in: pool)
      let loop = Task {
        var last = 0
        for try await count in updates {
          // Results never go back.
          #expect(count >= last)
          last = count
          if count == 2 * total { return last }
        }
        return last
      }
      let other = Task.detached {
        let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 600))
        for id in 1...total {
          try Member(id: id, name: "other").insert().run(db)
          if id % 16 == 0 { usleep(UInt32.random(in: 0...3_000)) }
        }
      }
      for id in 1...total {
        try await Member(id: total + id, name: "own").insert().run(pool)
        if id % 16 == 0 { try await Task.sleep(for: .microseconds(Int.random(in: 0...3_000))) }
      }
      try await other.value
      #expect(try await loop.value == 2 * total)
    }
  }

  /// One kernel event may stand for several rapid commits. The next poll, an hour later, would detect a lost one.
  ///
  /// `SQLABLE_SOAK_SECONDS=120 swift test --filter everyExternalCommitIsDetected` runs longer.
  @Test func everyExternalCommitIsDetected() async throws {
    let seconds = ProcessInfo.processInfo.environment["SQLABLE_SOAK_SECONDS"].flatMap(Double.init) ?? 2
    try await withMembers(PoolConfiguration(pollInterval: .seconds(3_600))) { pool in
      let other = try SQLiteProcess(pool.filepath)
      defer { other.quit() }
      let latest = Mutex(-1)
      let loop = Task { for try await count in Member.count().updates(in: pool) { latest.withLock { $0 = count } } }
      // All tests start at once, so the loop's task may start late.
      try await until { latest.withLock { $0 } >= 0 }
      var (bursts, count, late, longest) = (0, 0, 0, Duration.zero)
      let end = ContinuousClock.now + .seconds(seconds)
      while ContinuousClock.now < end {
        let commits = Int.random(in: 1...4)
        let inserts = (1...commits).map { "INSERT INTO member VALUES (\(count + $0), 'other');" }
        try other.run(inserts.joined(separator: Bool.random() ? "\n" : "\nSELECT count(*) FROM member;\n"))
        (bursts, count) = (bursts + 1, count + commits)
        // Own commits make the origin of a commit uncertain.
        if bursts % 4 == 0 {
          count += 1
          try await Member(id: count, name: "own").insert().run(pool)
        }
        let committed = ContinuousClock.now
        while latest.withLock({ $0 }) < count, ContinuousClock.now - committed < .seconds(600) {
          try await Task.sleep(for: .microseconds(100))
        }
        let wait = ContinuousClock.now - committed
        (late, longest) = (wait > .seconds(1) ? late + 1 : late, max(longest, wait))
        guard latest.withLock({ $0 }) == count else {
          Issue.record("a commit was not heard of: \(latest.withLock { $0 }) of \(count)")
          break
        }
        if bursts % 8 == 0 { try await Task.sleep(for: .microseconds(Int.random(in: 0...4_000))) }
      }
      loop.cancel()
      _ = await loop.result
      print("\(count) commits in \(bursts) bursts: \(late) heard of after over a second, the longest after \(longest)")
    }
  }

  /// The kernel sends no event for a deleted file, but the poll checks for it.
  @Test func loopFailsAfterItsFileIsDeleted() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/pool.sqlite"
      let pool = try SqlitePool(filepath: path, configuration: .init(pollInterval: .milliseconds(20)))
      try await pool.transaction { db in try db.createTable(Member.self) }
      let counts = Mutex(0)
      let loop = Task {
        for try await _ in Member.count().updates(in: pool) { counts.withLock { $0 += 1 } }
      }
      // The reader opens before the deletion: a later one would fail with .cannotOpen.
      try await until { counts.withLock({ $0 }) != 0 }
      // A reader checks its file once a second.
      try await Task.sleep(for: .milliseconds(1_100))
      try SqliteDatabase.deleteDatabase(at: path)
      do {
        try await loop.value
        Issue.record("a result of a file that is gone")
      } catch let error as SqlError { #expect(error.kind == .io) }
      try? await pool.close()
    }
  }
}
