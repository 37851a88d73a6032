import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Deadlines of loops, which apply while a commit has changed the result.
@Suite(.serialized) struct LoopDeadlineTests {
  private static let alone = PoolConfiguration(pollInterval: nil)

  /// A row whose initializer blocks while the gate is shut.
  private struct Slow: Sqlable {
    static let tableName = "member"
    static let id = column("id", Int.self, PrimaryKey())
    static let tableLayout = [id.column]
    static let isShut = Mutex(false)

    init(row: ReadRow) throws {
      row.skip(Slow.id)
      while Slow.isShut.withLock({ $0 }) { usleep(1_000) }
    }
    func write(to row: inout RowWriter) throws {}
  }

  /// The loop does not wait for the reader, neither with a deadline before the commit nor with one after it.
  @Test(arguments: [Duration.zero, .milliseconds(300)])
  func loopTimesOutWhileItsReaderIsBusy(_ duration: Duration) async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      try await Member(id: 1, name: "a").insert().run(pool)
      var loop = Slow.read().updates(in: pool).makeAsyncIterator()
      _ = try await loop.next()
      Slow.isShut.withLock { $0 = true }
      // A loop that waits for the reader would end, too, but only after the gate opens.
      let opener = Task {
        try? await Task.sleep(for: .seconds(600))
        Slow.isShut.withLock { $0 = false }
      }
      let writer = Task {
        // The loop usually waits by then.
        try await Task.sleep(for: .milliseconds(100))
        try await Member(id: 2, name: "b").insert().run(pool)
      }
      try await expectTimeout { try await withDeadline(duration) { try await loop.next() } }
      #expect(Slow.isShut.withLock { $0 })
      opener.cancel()
      await opener.value
      Slow.isShut.withLock { $0 = false }
      try await writer.value
    }
  }

  @Test func aDeadlineEndsItsOwnLoopOnly() async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      try await Member(id: 1, name: "a").insert().run(pool)
      var impatient = Slow.read().updates(in: pool).makeAsyncIterator()
      _ = try await impatient.next()
      let patient = Follower(Slow.read().updates(in: pool))
      try await until { patient.values.count == 1 }
      Slow.isShut.withLock { $0 = true }
      try await Member(id: 2, name: "b").insert().run(pool)
      try await expectTimeout { try await withDeadline(.milliseconds(30)) { try await impatient.next() } }
      Slow.isShut.withLock { $0 = false }
      try await until { patient.values.count == 2 }
      #expect(patient.values.count == 2)
    }
  }

  private func expectTimeout<Value>(_ wait: () async throws -> Value) async throws {
    do {
      _ = try await wait()
      Issue.record("it did not end at its deadline")
    } catch let error as SqlError { #expect(error.kind == .timeout) }
  }

  /// Lets a loop over members above 100 wait with a deadline. After the deadline, `write` runs and a relevant row
  /// follows, which ends the wait. Returns true if the loop waited for that row.
  private func waitsForAMember(
    _ duration: Duration, _ pool: SqlitePool, from loop: inout LiveQuery<[Member]>.Iterator,
    behindIt write: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> Bool {
    let isChanged = Collected<Bool>()
    var writer: Task<Void, any Error>?
    try await expectTimeout {
      try await withDeadline(duration) {
        // The detached task does not inherit the deadline.
        writer = Task.detached {
          try await Task.sleep(for: duration + .milliseconds(500))
          try await write()
          isChanged.append(true)
          try await Member(id: 200, name: "b").insert().run(pool)
        }
        return try await loop.next()
      }
    }
    let isWaited = isChanged.values == [true]
    try await writer?.value
    return isWaited
  }

  @Test(.needsPreupdateHook) func unrelatedRowDoesNotEndTheWait() async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      var isWaited = false
      // On a busy machine, a short deadline can pass before the filter has checked the row.
      for seconds in [3, 30, 300] where !isWaited {
        try await Member.deleteAll().run(pool)
        var loop = Member.read().filter(Member.id > 100).updates(in: pool).makeAsyncIterator()
        #expect(try await loop.next()?.isEmpty == true)
        // The loop starts to wait with a row that the filter has not checked.
        try await Member(id: 1, name: "a").insert().run(pool)
        isWaited = try await waitsForAMember(.seconds(seconds), pool, from: &loop)
      }
      #expect(isWaited)
    }
  }

  @Test(.needsPreupdateHook) func unrelatedRowsAfterTheDeadlineWakeNoLoop() async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      var isWaited = false
      // On a busy machine, the rows can come before the loop waits.
      for milliseconds in [100, 10_000, 100_000] where !isWaited {
        try await Member.deleteAll().run(pool)
        var loop = Member.read().filter(Member.id > 100).updates(in: pool).makeAsyncIterator()
        #expect(try await loop.next()?.isEmpty == true)
        isWaited = try await waitsForAMember(.milliseconds(milliseconds), pool, from: &loop) {
          for id in 1...5 {
            try await Member(id: id, name: "a").insert().run(pool)
            try await Task.sleep(for: .milliseconds(50))
          }
        }
      }
      #expect(isWaited)
    }
  }

  @Test func commitBeforeTheDeadlineIsDelivered() async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      var loop = Member.count().updates(in: pool).makeAsyncIterator()
      #expect(try await loop.next() == 0)
      let writer = Task {
        try await Task.sleep(for: .milliseconds(50))
        try await Member(id: 1, name: "a").insert().run(pool)
      }
      let count = try await withDeadline(.seconds(300)) { try await loop.next() }
      #expect(count == 1)
      try await writer.value
    }
  }
}
