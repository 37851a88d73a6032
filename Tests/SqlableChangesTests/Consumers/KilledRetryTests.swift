import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The records of failed attempts after a process was killed, or another loop has passed the change.
@Suite struct KilledRetryTests {
  fileprivate static let variable = "SQLABLE_KILLED_RETRY"

  fileprivate struct Refused: Error {}
  private struct Unreachable: Error {}

  private static let atOnce = ChangeRetries(attempts: .max, pause: .zero, longestPause: .zero)

  private func records(_ db: SqliteDatabase) throws -> [Int] {
    try db.query("SELECT seq FROM sqlable_change_quarantine ORDER BY seq", as: Int.self)
  }

  @Test(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"), arguments: [true, false])
  func aKilledRetryLeavesNoErrorBehind(_ isSnapshot: Bool) async throws {
    try await withDirectoryAsync { directory in
      let db = try SqliteDatabase(filepath: directory + "/log.sqlite", configuration: .init(busyTimeout: 600))
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
      for id in 1...3 { try Member(id: id, name: "m").insert().run(db) }
      func run(_ step: String) async throws {
        let process = try TestProgram.start(
          "KilledRetryProcess",
          environment: [KilledRetryTests.variable: "\(step) \(isSnapshot ? "rows" : "log") \(directory)"])
        // Without the kill, the process ends after the last change.
        try await until { process.state == "Z" }
        process.waitUntilExit()
        #expect(process.endingSignal == SIGKILL)
      }
      // Killed in the third attempt of the first change.
      try await run("1")
      #expect(try db.changeConsumers().first?.error == "Refused")
      #expect(try records(db) == [isSnapshot ? -1 : 1])
      // Killed in the first attempt of the second change.
      try await run("2")
      #expect(try db.changeConsumers().first?.error == nil)
      #expect(try records(db) == [])
      let pool = try SqlitePool(filepath: db.filepath, configuration: .init(waitTimeout: nil))
      let task = Task {
        try await pool.deliver("webhook", on: Member.self, lease: .milliseconds(300)) { _ in }
      }
      try await until { (try? db.changeConsumers().first.map { $0.lag == 0 && !$0.isNew }) == true }
      #expect(try db.changeConsumers().first?.position == db.changePosition())
      try await pool.close(within: .seconds(300))
      try await task.value
    }
  }

  /// The retry of a killed process was for a change, or for a row of the snapshot.
  @Test(arguments: [ConsumerStart.log, .rows])
  func aLoopThatPassesAFailedChangeRemovesItsRecord(_ start: ConsumerStart) async throws {
    try await withLoggedMembers { pool in
      try await Member(id: 1, name: "m").insert().run(pool)
      try await pool.transaction { db in
        _ = try ConsumerRecord.known("webhook", of: "member", startingAt: start, in: db)
        let subject: FailedAttempt.Subject =
          start == .log
          ? .change(try logged(1, db))
          : .row(KeptValues(entry: 1, values: [.integer(1), "m"].map(LoggedValue.init)))
        _ = try QuarantineRecord.note(Refused(), of: subject, consumer: "webhook", quarantiningAfter: nil, in: db)
      }
      #expect(try await pool.read { try records($0).count } == 1)
      var loop = pool.changes(on: Member.self, as: "webhook").makeAsyncIterator()
      let batch = try #require(try await loop.next())
      #expect(try await batch.all().count == 1)
      try await batch.acknowledge()
      #expect(try await pool.read { try records($0) } == [])
    }
  }

  /// The first change fails once. All later transactions are rolled back because of the second change.
  @Test func theErrorOfAConsumerIsTheLatest() async throws {
    try await withLoggedMembers { pool in
      try await Member.insert((1...2).map { Member(id: $0, name: "m") }).run(pool)
      let count = LockedValue(0)
      let task = Task {
        try await pool.consume("totals", on: Member.self, startingWith: .log, retries: Self.atOnce) { _, change in
          if change.position.number == 2 { throw Unreachable() }
          let isFirst = count.withLock { count in
            count += 1
            return count == 1
          }
          if isFirst { throw Refused() }
        }
      }
      let attempts: SQL = "SELECT attempts FROM sqlable_change_quarantine WHERE seq = 2"
      try await until { (try? pool.query(attempts, as: Int.self).first.map { $0 > 2 }) == true }
      #expect(try await pool.changeConsumers().first?.error == "Unreachable")
      task.cancel()
      _ = try? await task.value
    }
  }
}

/// The program of a process that kills itself during a retry.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[KilledRetryTests.variable] != nil, "a process of its own"))
struct KilledRetryProcess {
  @Test func work() async throws {
    let words = try #require(ProcessInfo.processInfo.environment[KilledRetryTests.variable])
      .split(separator: " ", maxSplits: 2).map(String.init)
    let isFirst = words[0] == "1"
    let pool = try SqlitePool(
      filepath: words[2] + "/log.sqlite", configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
    let retries = ChangeRetries(attempts: .max, pause: .zero, longestPause: .zero)
    let count = LockedValue(0)
    try await pool.deliver(
      "webhook", on: Member.self, startingWith: words[1] == "rows" ? .rows : .log, lease: .milliseconds(300),
      retries: retries
    ) { _ in
      let calls = count.withLock { count in
        count += 1
        return count
      }
      if calls == (isFirst ? 3 : 2) { kill(getpid(), SIGKILL) }
      if isFirst { throw KilledRetryTests.Refused() }
    }
  }
}
