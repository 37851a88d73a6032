import Foundation
import Glibc
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite(.serialized) struct PoolTruthTests {
  /// After each random sequence of own and external commits, the loops reach the count of the table.
  @Test(.timeLimit(.minutes(60)), arguments: [1, 500]) func ownAndForeignCommitsAreFollowed(_ poll: Int) async throws {
    try await withMembers(PoolConfiguration(pollInterval: .milliseconds(poll))) { pool in
      let other = try SqliteDatabase(filepath: pool.filepath)
      let followers = [
        Follower(Member.count().updates(in: pool)),
        Follower(Member.count().filter(Member.name == "x").updates(in: pool)),
      ]
      let changes = pool.changes(on: Member.self)
      let loop = Task { for await _ in changes {} }
      var id = 0
      let end = ContinuousClock.now + .seconds(1)
      while ContinuousClock.now < end {
        for _ in 0..<Int.random(in: 1...6) {
          id += 1
          if Bool.random() {
            try await Member(id: id, name: "x").insert().run(pool)
          } else {
            try Member(id: id, name: "x").insert().run(other)
          }
          if Bool.random() { usleep(UInt32.random(in: 0...2_500)) }
        }
        try await until { followers.allSatisfy { $0.latest == id } }
        #expect(followers.map(\.latest) == [id, id])
      }
      loop.cancel()
    }
  }

  @Test(.needsPreupdateHook, .timeLimit(.minutes(60))) func fullDatabaseStoresExactlyTheAcknowledgedRows() async throws
  {
    try await withMembers(PoolConfiguration(handles: .init(maximumPageCount: 60))) { pool in
      let heard = Collected<Int>()
      let changes = pool.changes(on: Member.self)
      let loop = Task { for await case .row(let row) in changes { heard.append(row.id) } }
      let follower = Follower(Member.count().updates(in: pool))
      let stored = Collected<Int>()
      await withTaskGroup(of: Void.self) { group in
        for id in 1...600 {
          group.addTask {
            do {
              try await Member(id: id, name: String(repeating: "x", count: id % 7 == 0 ? 3_000 : 20)).insert().run(pool)
              stored.append(id)
            } catch let error as SqlError { #expect(error.kind == .full, "\(error)") } catch {
              Issue.record("\(error)")
            }
          }
        }
      }
      let found = try await Member.select(Member.id).orderBy(Member.id).run(pool)
      #expect(found == stored.values.sorted())
      #expect((1..<600).contains(found.count))
      try await until { heard.values.count >= found.count && follower.latest == found.count }
      #expect(heard.values.sorted() == found)
      #expect(follower.latest == found.count)
      loop.cancel()
    }
  }

  @Test(.needsPreupdateHook, .timeLimit(.minutes(60))) func cancellationsLoseNoAcknowledgedRow() async throws {
    try await withMembers { pool in
      let heard = Collected<Int>()
      let changes = pool.changes(on: Member.self)
      let loop = Task { for await case .row(let row) in changes { heard.append(row.id) } }
      let (stored, refused) = (Collected<Int>(), Collected<Int>())
      await withTaskGroup(of: Void.self) { group in
        for id in 1...3_000 {
          group.addTask {
            let work = Task {
              do {
                if id % 3 == 0 {
                  try await withDeadline(.microseconds(Int.random(in: 100...20_000))) {
                    try await pool.transaction { db in
                      try Member(id: id, name: "x").insert().run(db)
                      try db.execute(
                        """
                        UPDATE member SET name = name || 'y' \
                        WHERE id IN (SELECT id FROM member ORDER BY id LIMIT 300) AND id = \(id)
                        """)
                    }
                  }
                } else {
                  try await Member(id: id, name: "x").insert().run(pool)
                }
                stored.append(id)
              } catch { refused.append(id) }
            }
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...20_000)))
            if id % 2 == 0 { work.cancel() }
            await work.value
          }
        }
      }
      let found = try await Member.select(Member.id).orderBy(Member.id).run(pool)
      #expect(found == stored.values.sorted())
      try await until { Set(heard.values).isSuperset(of: found) }
      #expect(Set(heard.values) == Set(found))
      loop.cancel()
    }
  }

  @Test(.timeLimit(.minutes(60))) func yieldingInsideWithWriterIsRefused() async throws {
    try await withMembers { pool in
      let thrown = Mutex(false)
      try await pool.withWriter { db in
        do { _ = try pool.yieldingTransaction { db, _ in .stop } } catch { thrown.withLock { $0 = true } }
      }
      #expect(thrown.withLock { $0 })
    }
  }

  @Test(.needsPreupdateHook, .timeLimit(.minutes(60)))
  func concurrentYieldingTransactionsAllCommit() async throws {
    try await withMembers { pool in
      let changes = pool.changes(on: Member.self)
      let heard = Task {
        var ids: [Int] = []
        for await case .row(let row) in changes {
          ids.append(row.id)
          if ids.count == 4_000 { break }
        }
        return ids
      }
      try await withThrowingTaskGroup(of: Int.self) { group in
        for worker in 0..<4 {
          group.addTask {
            let next = Mutex(0)
            return try await pool.yieldingTransaction { db, _ in
              let number = next.withLock {
                $0 += 1
                return $0
              }
              guard number <= 1_000 else { return .stop }
              try Member(id: worker * 1_000 + number, name: "x").insert().run(db)
              return .continue
            }
          }
        }
        var counts: [Int] = []
        for try await count in group { counts.append(count) }
      }
      #expect(Set(await heard.value).count == 4_000)
    }
  }
}
