import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePool
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Commits of another handle between the loss of a pool's position in the change log and the next check of the monitor.
@Suite(.needsPreupdateHook, .disabled(if: isInMemory))
struct LostPositionTests {
  private func withLog(_ body: (SqlitePool, SqliteDatabase) async throws -> Void) async throws {
    try await withMembers(PoolConfiguration(pollInterval: .seconds(1_000))) { pool in
      try await ChangeLog(Member.self).create(pool)
      let other = try SqliteDatabase(filepath: pool.filepath)
      try await body(pool, other)
      try other.close()
    }
  }

  private func next(_ changes: inout Changes<RowChange>.Iterator) async -> Int? {
    if case .row(let row) = await changes.next(isolation: nil) { row.id } else { nil }
  }

  /// The monitor's first check after the loss can be before or after the other commit.
  @Test func aCommitBeforeTheMonitorReopensIsDelivered() async throws {
    try await withLog { pool, other in
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      for id in stride(from: 0, to: 300, by: 3) {
        try await Member(id: id, name: "own").insert().run(pool)
        var event = await next(&changes)
        for _ in 0..<10 where event != id { event = await next(&changes) }
        #expect(event == id)
        pool.feed.fileWasClosed()
        #expect(await next(&changes) == nil)
        try Member(id: id + 1, name: "other").insert().run(other)
        pool.feed.detectOtherCommits()
        try await Member(id: id + 2, name: "own").insert().run(pool)
        event = await next(&changes)
        #expect(event != id + 2)
        for _ in 0..<10 where event != id + 2 { event = await next(&changes) }
      }
    }
  }

  /// A new loop looks for the end of the log. The pool's own commit delays the monitor's check for two milliseconds.
  @Test func aNewLoopDoesNotHideACommitFromOthers() async throws {
    try await withLog { pool, other in
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      for id in stride(from: 0, to: 150, by: 3) {
        try await Member(id: id, name: "own").insert().run(pool)
        // The check of the previous round can have delivered an unknown commit.
        var event = await next(&changes)
        for _ in 0..<10 where event == nil { event = await next(&changes) }
        #expect(event == id)
        pool.feed.othersCommitted()
        #expect(await next(&changes) == nil)
        try Member(id: id + 1, name: "other").insert().run(other)
        let joined = pool.changes(on: Member.self).makeAsyncIterator()
        pool.feed.detectOtherCommits()
        try await Member(id: id + 2, name: "own").insert().run(pool)
        event = await next(&changes)
        #expect(event != id + 2)
        for _ in 0..<10 where event != id + 2 { event = await next(&changes) }
        withExtendedLifetime(joined) {}
      }
    }
  }

  @Test func aVersionIsCurrentOnlyIfNoCommitIsUndetected() {
    var detector = CommitDetector(limit: 1_000)
    detector.begin(commits: 0, version: 1)
    #expect(detector.isCurrent(1) && !detector.isCurrent(2))
    detector.loseSight()
    #expect(!detector.isCurrent(1))
    #expect(detector.regainSight() && detector.isCurrent(1))
    #expect(detector.judge(commitsBefore: 2, version: 2, commitsAfter: 2) == .unsure)
    #expect(detector.markUncertain(writerChecks: 5) && !detector.isCurrent(2))
    #expect(detector.resolveUncertainty() && detector.isCurrent(2))
  }
}
