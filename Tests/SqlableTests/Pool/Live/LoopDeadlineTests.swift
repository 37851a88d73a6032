import Foundation
import Sqlable
import Synchronization
import Testing

/// A loop's deadline counts while a commit has made the result another, and not while there is none.
@Suite(.serialized) struct LoopDeadlineTests {
  private static let alone = PoolConfiguration(pollInterval: nil)

  /// A row that is not read as long as the gate is shut.
  private struct Slow: Sqlable {
    static let tableName = "member"
    static let id = column("id", Int.self, PrimaryKey())
    static let tableLayout = [id.column]
    static let isShut = Mutex(false)

    init(row: ReadRow) throws {
      while Slow.isShut.withLock({ $0 }) { usleep(1_000) }
    }
    func write(to row: inout RowWriter) throws {}
  }

  /// The deadline passes before the commit or after it: the loop does not wait for the reader in either case.
  @Test(arguments: [Duration.zero, .milliseconds(300)])
  func aCommitThatABusyReaderHoldsUpEndsTheWait(_ duration: Duration) async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      try await Member(id: 1, name: "a").insert().run(pool)
      var loop = Slow.read().updates(in: pool).makeAsyncIterator()
      _ = try await loop.next()
      Slow.isShut.withLock { $0 = true }
      // A loop that waits for the reader ends as well, but behind an open gate.
      let opener = Task {
        try? await Task.sleep(for: .seconds(60))
        Slow.isShut.withLock { $0 = false }
      }
      let writer = Task {
        // Most often the loop waits by then.
        try await Task.sleep(for: .milliseconds(100))
        try await Member(id: 2, name: "b").insert().run(pool)
      }
      do {
        _ = try await withDeadline(duration) { try await loop.next() }
        Issue.record("it waited for longer")
      } catch let error as SqlError { #expect(error.kind == .timeout) }
      #expect(Slow.isShut.withLock { $0 })
      opener.cancel()
      await opener.value
      Slow.isShut.withLock { $0 = false }
      try await writer.value
    }
  }

  @Test func aRowThatDoesNotConcernTheResultDoesNotEndTheWait() async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      var loop = Member.read().filter(Member.id > 100).updates(in: pool).makeAsyncIterator()
      #expect(try await loop.next()?.isEmpty == true)
      // The loop begins to wait with a row of which the filter was not asked.
      try await Member(id: 1, name: "a").insert().run(pool)
      let isChanged = Collected<Bool>()
      let writer = Task {
        // Behind the deadline.
        try await Task.sleep(for: .seconds(5))
        isChanged.append(true)
        try await Member(id: 200, name: "b").insert().run(pool)
      }
      do {
        _ = try await withDeadline(.seconds(3)) { try await loop.next() }
        Issue.record("the deadline had passed")
      } catch let error as SqlError { #expect(error.kind == .timeout) }
      #expect(isChanged.values == [true])
      try await writer.value
    }
  }

  @Test func rowsThatDoNotConcernTheResultWakeNoLoopBehindItsDeadline() async throws {
    try await withMembers(LoopDeadlineTests.alone) { pool in
      var loop = Member.read().filter(Member.id > 100).updates(in: pool).makeAsyncIterator()
      #expect(try await loop.next()?.isEmpty == true)
      let isChanged = Collected<Bool>()
      let writer = Task {
        try await Task.sleep(for: .seconds(5))
        for id in 1...5 {
          try await Member(id: id, name: "a").insert().run(pool)
          try await Task.sleep(for: .milliseconds(50))
        }
        isChanged.append(true)
        try await Member(id: 200, name: "b").insert().run(pool)
      }
      do {
        _ = try await withDeadline(.milliseconds(100)) { try await loop.next() }
        Issue.record("the deadline had passed")
      } catch let error as SqlError { #expect(error.kind == .timeout) }
      #expect(isChanged.values == [true])
      try await writer.value
    }
  }

  @Test func aCommitBeforeTheDeadlineIsTaken() async throws {
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
