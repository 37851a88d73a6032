import Foundation
import Glibc
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Loops whose events must not depend on other subscribers and readers.
struct UndisturbedLoopTests {
  private static let alone = PoolConfiguration(pollInterval: nil)

  private func text(_ event: ChangeEvent<RowChange>?) -> String {
    switch event {
    case .row(let row): "\(row.change) \(row.id)"
    case .missed: "missed"
    case nil: "end"
    }
  }

  @Test(.needsPreupdateHook) func subscribingInsideAReadReportsNoMissedChange() async throws {
    try await withMembers(UndisturbedLoopTests.alone) { pool in
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      let others = Mutex<[Any]>([])
      try await pool.read { db in
        _ = try Member.count().run(db)
        let other = pool.changes(on: Bicycle.self)
        others.withLock { $0.append(other) }
      }
      try await Member(id: 1, name: "a").insert().run(pool)
      #expect(text(await changes.next()) == "insert 1")
      others.withLock { $0 = [] }
    }
  }

  @Test(.needsPreupdateHook) func subscribingInsideAWriteReportsNoMissedChange() async throws {
    try await withMembers(UndisturbedLoopTests.alone) { pool in
      var changes = pool.changes(on: Member.self).makeAsyncIterator()
      let others = Mutex<[Any]>([])
      try await pool.transaction { db in
        try Member(id: 1, name: "a").insert().run(db)
        let other = pool.changes(on: Bicycle.self)
        others.withLock { $0.append(other) }
        try Member(id: 2, name: "a").insert().run(db)
      }
      #expect(text(await changes.next()) == "insert 1")
      try await pool.transaction { db in
        try Member(id: 3, name: "a").insert().run(db)
        others.withLock { $0 = [] }
        try Member(id: 4, name: "a").insert().run(db)
      }
      #expect(text(await changes.next()) == "insert 2")
      #expect(text(await changes.next()) == "insert 3")
    }
  }

  @Test(.needsPreupdateHook) func changingSubscribersLoseNoChange() async throws {
    try await withMembers(UndisturbedLoopTests.alone) { pool in
      let changes = pool.changes(on: Member.self)
      let loop = Task {
        var (rows, missed) = (0, 0)
        for await event in changes { if case .row = event { rows += 1 } else { missed += 1 } }
        return (rows, missed)
      }
      let churn = Task {
        var count = 0
        while !Task.isCancelled {
          let other = count % 2 == 0 ? pool.changes(on: Bicycle.self) : pool.changes(on: Person.self)
          withExtendedLifetime(other) {}
          count += 1
          try await Task.sleep(for: .microseconds(100))
        }
        return count
      }
      for id in 1...2000 { try await Member(id: id, name: "a").insert().run(pool) }
      churn.cancel()
      _ = try? await churn.value
      try await pool.close()
      let (rows, missed) = await loop.value
      #expect(rows == 2000)
      #expect(missed == 0)
    }
  }

  @Test func cancelledLoopEndsWithBufferedChangesLeft() async throws {
    try await withMembers(UndisturbedLoopTests.alone) { pool in
      let changes = pool.changes(on: Member.self)
      for id in 1...10 { try await Member(id: id, name: "a").insert().run(pool) }
      let loop = Task {
        var count = 0
        for await _ in changes {
          count += 1
          withUnsafeCurrentTask { $0?.cancel() }
        }
        return count
      }
      #expect(await loop.value == 1)
    }
  }
}

/// Pools that are opened, closed and released in every state.
@Suite(.serialized) struct PoolLifeTests {
  private func count(_ directory: String) -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
  }

  @Test(arguments: [true, false]) func closedAndDroppedPoolsLeakNoFileOrThread(_ closes: Bool) async throws {
    try await withDirectoryAsync { directory in
      var (files, threads) = (0, 0)
      for round in 0..<100 {
        try await {
          let pool = try SqlitePool(
            filepath: directory + "/pool.sqlite",
            configuration: .init(waitTimeout: nil, pollInterval: .milliseconds(1)))
          try await pool.transaction { db in
            try db.execute("CREATE TABLE IF NOT EXISTS member (id INTEGER PRIMARY KEY, name TEXT)")
          }
          let changes = pool.changes(on: Member.self)
          let updates = Member.count().updates(in: pool)
          let heard = Task {
            var count = 0
            for await _ in changes { count += 1 }
            return count
          }
          let loop = Task { [closes] in for try await _ in updates { if !closes { break } } }
          for id in 0..<3 { try await Member(id: round * 3 + id, name: "x").insert().run(pool) }
          if closes { try await pool.close() }
          try await loop.value
          if closes { _ = await heard.value } else if round % 2 == 0 { heard.cancel() }
        }()
        if round == 50 { (files, threads) = (count("/proc/self/fd"), count("/proc/self/task")) }
      }
      // Other tests of this process open and close files and threads, too.
      try await until { count("/proc/self/fd") <= files + 10 }
      try await until { count("/proc/self/task") <= threads + 10 }
    }
  }

  @Test(.timeLimit(.minutes(60))) func poolCanBeReleasedOnItsOwnThreads() async throws {
    try await withDirectoryAsync { directory in
      for round in 0..<100 {
        var pool: SqlitePool? = try SqlitePool(
          filepath: directory + "/pool\(round % 3).sqlite", configuration: .init(pollInterval: .milliseconds(1)))
        try await pool?.transaction { db in
          try db.execute("CREATE TABLE IF NOT EXISTS member (id INTEGER PRIMARY KEY, name TEXT)")
        }
        let other = try SqliteDatabase(filepath: directory + "/pool\(round % 3).sqlite")
        let heard = Task { [changes = pool?.changes(on: Member.self)] in
          var count = 0
          if let changes { for await _ in changes { count += 1 } }
          return count
        }
        let writes = (0..<5).map { _ in
          Task.detached { [pool] in
            try? await pool?.transaction { db in try db.execute("INSERT INTO member (name) VALUES ('x')") }
          }
        }
        pool?.queue.async { [pool] in
          _ = usleep(500)
          withExtendedLifetime(pool) {}
        }
        for _ in 0..<5 { try? other.execute("INSERT INTO member (name) VALUES ('y')") }
        pool = nil
        for write in writes { await write.value }
        _ = await heard.value
      }
    }
  }

  /// A live result retains the pool. The thread that delivers an external commit may release it last.
  @Test(.timeLimit(.minutes(60))) func poolCanBeReleasedDuringADelivery() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/pool.sqlite"
      let other = try SqliteDatabase(filepath: path)
      try other.execute("CREATE TABLE member (id INTEGER PRIMARY KEY, name TEXT)")
      let isOver = Mutex(false)
      let writing = Task.detached {
        while !isOver.withLock({ $0 }) { try? other.execute("INSERT INTO member (name) VALUES ('y')") }
      }
      for _ in 0..<25 {
        var pool: SqlitePool? = try SqlitePool(filepath: path, configuration: .init(pollInterval: .milliseconds(1)))
        let loops = (0..<50).map { id in
          Task { [updates = pool.map { Member.byId(id).updates(in: $0) }] in
            var updates = updates?.makeAsyncIterator()
            for _ in 0..<3 { _ = try await updates?.next() }
          }
        }
        pool = nil
        for loop in loops {
          if Bool.random() { loop.cancel() }
          _ = await loop.result
        }
      }
      isOver.withLock { $0 = true }
      await writing.value
    }
  }

  /// Closes a pool. On a busy machine, an interrupted call can take longer than the second that the pool waits for it.
  private func close(_ pool: SqlitePool, within duration: Duration) async throws {
    while true {
      do { return try await pool.close(within: duration) } catch let error as SqlError where error.kind == .busy {}
    }
  }

  @Test(.timeLimit(.minutes(60))) func concurrentClosesSucceedAtAnyMoment() async throws {
    try await withDirectoryAsync { directory in
      for round in 0..<100 {
        let pool = try SqlitePool(
          filepath: directory + "/pool.sqlite",
          configuration: .init(waitTimeout: nil, pollInterval: .milliseconds(1)))
        try await pool.transaction { db in
          try db.execute("CREATE TABLE IF NOT EXISTS member (id INTEGER PRIMARY KEY, name TEXT)")
        }
        let loops = (0..<20).map { number in
          Task { [number] in
            if number % 2 == 0 {
              for try await _ in Member.read().filter(Member.name == "\(number)").updates(in: pool) {}
            } else {
              for await _ in pool.changes(on: Member.self) {}
            }
          }
        }
        let writers = (0..<4).map { _ in
          Task {
            while true { try await pool.transaction { db in try db.execute("INSERT INTO member (name) VALUES ('x')") } }
          }
        }
        let yielding = Task {
          try await pool.yieldingTransaction { db, _ in
            try db.execute("INSERT INTO member (name) VALUES ('x')")
            return .continue
          }
        }
        usleep(UInt32.random(in: 0...3_000))
        let closers = (0..<3).map { _ in Task { try await close(pool, within: .milliseconds(round % 5)) } }
        for closer in closers { try await closer.value }
        for loop in loops {
          do { try await loop.value } catch { Issue.record("loop: \(error)") }
        }
        for writer in writers { _ = try? await writer.value }
        do {
          _ = try await yielding.value
          Issue.record("ended")
        } catch let error as SqlError { #expect(error.kind == .closed) }
      }
    }
  }
}
