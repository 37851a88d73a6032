import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Holds the write lock for a fifth of a second.
private func holdLock(of db: SqliteDatabase, _ isHeld: DispatchSemaphore) {
  try? db.transaction(.immediate) { db in
    try db.execute("INSERT INTO person (name) VALUES ('x')")
    isHeld.signal()
    Thread.sleep(forTimeInterval: 0.2)
  }
}

@Suite struct TraceTests {
  @Test func everyStatementAndTransactionIsReported() throws {
    try withTraced { db, log in
      try Bicycle(name: "Trek", color: "red").insert().run(db)
      #expect(log.takeWords() == ["BEGIN IMMEDIATE", "write bicycle 1", "COMMIT", "committed 1 1"])
      _ = try Bicycle.read().filter(Bicycle.color == "red").run(db)
      #expect(log.takeWords() == ["read bicycle 1"])
      try db.transaction { db in
        try Bicycle(name: "A", color: "blue").insert().run(db)
        try Bicycle.update(Bicycle.color.set(to: "green")).filter(Bicycle.color == "blue").run(db)
        // Events are delivered after the transaction releases the handle's lock.
        #expect(log.take() == [])
      }
      let words = log.takeWords()
      #expect(words.filter { $0 == "write bicycle 1" }.count == 2)
      #expect(words.first == "BEGIN IMMEDIATE")
      #expect(words.last == "committed \(words.count - 3) 2")
    }
  }

  @Test func aRemovedTraceReportsNothing() throws {
    try withTraced { db, log in
      let other = TraceLog()
      let token = db.trace(.init(), other.receive)
      _ = try Bicycle.count().run(db)
      #expect(other.takeWords() == ["read bicycle 1"])
      db.removeTrace(token)
      _ = try Bicycle.count().run(db)
      #expect(other.take() == [])
      #expect(log.take().count == 2)
    }
  }

  @Test func aReadThatRunsAgainOnAThreadOfThePoolIsReportedOnce() async throws {
    try await withMembers { pool in
      // A quick read needs a reader that is open.
      _ = try await Member.count().run(pool)
      let log = TraceLog()
      let token = pool.trace(.init(), log.receive)
      let counts = try await pool.query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT count(*) FROM n",
        as: Int.self)
      #expect(counts == [200_000])
      pool.removeTrace(token)
      let events = log.take()
      #expect(events.count == 1, "\(events)")
      #expect(events.first?.kind == .read, "\(events)")
      #expect(events.first?.error == nil, "\(events)")
    }
  }

  @Test func aRolledBackTransactionIsReported() throws {
    struct Failure: Error {}
    try withTraced { db, log in
      #expect(throws: Failure.self) {
        try db.transaction { db in
          try Bicycle(name: "Trek", color: "red").insert().run(db)
          throw Failure()
        }
      }
      let event = log.take().last
      #expect(event?.kind == .transaction(.rolledBack))
      #expect(event?.rowsChanged == 0)
      #expect(event?.sql == "BEGIN IMMEDIATE … ROLLBACK")
      #expect(event?.table == nil)
      #expect(event?.label == "main")
    }
  }

  @Test func aFailedStatementHasItsError() throws {
    try withTraced { db, log in
      try Bicycle(id: 1, name: "Trek", color: "red").insert().run(db)
      _ = log.take()
      expectSqlError { try Bicycle(id: 1, name: "Secret", color: "red").insert().run(db) }
      let events = log.take()
      let failed = events.first { $0.kind == .write }
      #expect(failed?.error?.kind == .constraint(.primaryKey))
      #expect(failed?.rowsChanged == 0)
      #expect(events.last?.kind == .transaction(.rolledBack))
      #expect(!events.map(\.description).joined().contains("Secret"))

      expectSqlError { try db.execute("SELECT nosuch FROM bicycle WHERE name = 'Secret'") }
      let refused = log.take().first { $0.error != nil }
      #expect(refused?.error?.kind == .schema(.missingColumn("nosuch")))
      #expect(refused?.sql == "SELECT nosuch FROM bicycle WHERE name = ?")
    }
  }

  @Test func eventsCountRowsSortsAndTimes() throws {
    try withTraced { db, log in
      try Bicycle.insert((1...100).map { Bicycle(name: "\($0)", color: "red") }).run(db)
      _ = log.take()
      _ = try Bicycle.read().orderBy(Bicycle.ownerId).run(db)
      let scan = log.take()[0]
      #expect(scan.rowsRead == 100)
      #expect(scan.rowsScanned == 99)
      #expect(scan.sorts == 1)
      #expect(!scan.isCached)
      #expect(scan.compiling > .zero)
      #expect(scan.stepping > .zero)
      #expect(scan.rowsChanged == 0)
      #expect(scan.committing == .zero)
      #expect(scan.waiting == .zero)
      #expect(scan.duration == scan.compiling + scan.stepping)
      _ = try Bicycle.read().orderBy(Bicycle.ownerId).run(db)
      let again = log.take()[0]
      #expect(again.isCached)
      #expect(again.compiling == .zero)
      #expect(again.rowsRead == 100)
      #expect(again.rowsScanned == 99)
      _ = try Bicycle.byId(5).run(db)
      let byKey = log.take()[0]
      #expect(byKey.rowsRead == 1)
      #expect(byKey.rowsScanned == 0)
      #expect(byKey.sorts == 0)
      #expect(byKey.handle == scan.handle)
      try Bicycle.deleteAll().run(db)
      let deletion = log.take()
      #expect(deletion.first { $0.kind == .write }?.rowsChanged == 100)
      #expect(deletion.last { $0.kind == .control }.map { $0.committing > .zero } == true)
    }
  }

  @Test func rowsOfAutomaticIndexesAreCounted() throws {
    try withTraced { db, log in
      try db.execute("CREATE TABLE a (x); CREATE TABLE b (y)")
      try db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO a SELECT i FROM n")
      try db.execute("INSERT INTO b SELECT x FROM a")
      _ = log.take()
      _ = try db.query("SELECT count(*) FROM a JOIN b ON y = x", as: Int.self)
      #expect(log.take().last.map { $0.automaticIndexRows > 0 } == true)
    }
  }

  @Test func waitingForALockIsNotCountedAsStepping() throws {
    try withTraced { db, log in
      let other = try SqliteDatabase(filepath: db.filepath)
      var (waiting, stepping) = (Duration.zero, Duration.zero)
      // On a busy machine, the lock can be free before the insert begins: one attempt in ten is enough.
      for attempt in 0..<10 where waiting <= .milliseconds(20) || stepping >= waiting {
        let isHeld = DispatchSemaphore(value: 0)
        Thread.detachNewThread { holdLock(of: other, isHeld) }
        isHeld.wait()
        try Bicycle(name: "Trek \(attempt)", color: "red").insert().run(db)
        let begin = try #require(log.take().first { $0.sql == "BEGIN IMMEDIATE" })
        (waiting, stepping) = (begin.waiting, begin.stepping)
      }
      #expect(waiting > .milliseconds(20))
      #expect(stepping < waiting)
    }
  }

  // MARK: Shapes

  @Test func onlySlowAndFailedStatementsAreReported() throws {
    try withTraced { db, _ in
      let log = TraceLog()
      let token = db.trace(.init(slowerThan: .milliseconds(20)), log.receive)
      defer { db.removeTrace(token) }
      // On a busy machine, a short statement can take longer: one that is not reported is enough.
      let isSilent = try (0..<20).contains { _ in
        _ = try Bicycle.count().run(db)
        return log.take() == []
      }
      #expect(isSilent)
      let slow =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT count(*) FROM n"
      _ = try db.query(SQL(verbatim: slow), as: Int.self)
      #expect(log.take().map(\.kind) == [.read])
      expectSqlError { try db.execute("SELECT nosuch") }
      #expect(log.take().map { $0.error != nil } == [true])
    }
  }

  @Test func aFailureIsReportedDespiteARecentSlowRun() throws {
    try withTraced { db, _ in
      let log = TraceLog()
      let token = db.trace(.slow(.nanoseconds(1)), log.receive)
      try Bicycle(name: "Trek", color: "red").insert().run(db)
      for _ in 1...2 { _ = try? Bicycle(id: 1, name: "Trek", color: "red").insert().run(db) }
      let writes = log.take().filter { $0.kind == .write }
      #expect(writes.filter { $0.error == nil }.count == 1)
      #expect(writes.filter { $0.error?.kind == .constraint(.primaryKey) }.count == 1)
      db.removeTrace(token)
    }
  }

  @Test func anEventHasItsOperationAndItsEnd() throws {
    try withTraced { db, log in
      let before = ContinuousClock.now
      try db.execute("WITH r AS (SELECT 1 AS n) INSERT INTO bicycle (name, color) SELECT 'x', 'red' FROM r")
      let event = try #require(log.take().first { $0.kind == .write })
      #expect(event.operation == "INSERT")
      #expect(event.end > before)
      #expect(event.end < .now)
    }
  }

  @Test func aShapeIsReportedOnceInAnIntervalWithItsPlan() throws {
    try withTraced { db, _ in
      let log = TraceLog()
      let token = db.trace(.init(interval: .seconds(600), explains: true), log.receive)
      defer { db.removeTrace(token) }
      for color in ["red", "blue", "green"] { _ = try Bicycle.read().filter(Bicycle.color == color).run(db) }
      _ = try Bicycle.read().filter(Bicycle.ownerId == 1).run(db)
      let events = log.take()
      #expect(events.count == 2)
      #expect(events.first?.plan == ["SEARCH bicycle USING INDEX bicycle_color (color=?)"])
      #expect(events.last?.plan == ["SCAN bicycle"])
    }
  }

  // MARK: Handles

  @Test func aTraceIncludesChildHandles() throws {
    try withTraced { db, log in
      let child = try db.createChild()
      _ = try Bicycle.count().run(child)
      _ = try Bicycle.count().run(db)
      let events = log.take()
      #expect(events.map(\.sql).filter { $0.hasPrefix("SELECT count") }.count == 2)
      #expect(Set(events.map(\.handle)).count == 2)
    }
  }

  @Test func traceAllCoversOpenAndFutureHandles() throws {
    try withDirectory { directory in
      let log = TraceLog()
      let before = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(label: "a-of-trace"))
      let token = SqliteDatabase.traceAll(.init(), log.receive)
      let after = try SqliteDatabase(filepath: directory + "/b.sqlite", configuration: .init(label: "b-of-trace"))
      for db in [before, after] { _ = try db.query("SELECT 1", as: Int.self) }
      SqliteDatabase.removeTraceOfAll(token)
      for db in [before, after] { _ = try db.query("SELECT 2", as: Int.self) }
      let own = log.take().filter { $0.label?.hasSuffix("-of-trace") == true && $0.sql == "SELECT ?" }
      #expect(own.map(\.label) == ["a-of-trace", "b-of-trace"])
    }
  }

  @Test func aReceiverMayUseTheDatabaseAndIsNotTraced() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let count = TraceLog()
      let token = db.trace { event in
        count.receive(event)
        #expect(throws: Never.self) { _ = try Bicycle.count().run(db) }
        #expect(throws: Never.self) { try Person(id: nil, name: "x").insert().run(db) }
      }
      _ = try Bicycle.read().run(db)
      #expect(count.take().count == 1)
      db.removeTrace(token)
      #expect(try Person.count().run(db) == 1)
    }
  }

  @Test func aClosedHandleCanBeTracedWithoutEffect() throws {
    try withDatabase { db in
      try db.close()
      let token = db.trace { _ in Issue.record("no statement runs") }
      db.removeTrace(token)
    }
  }

  @Test func aLongTransactionReportsItsFirstStatements() throws {
    try withTraced { db, log in
      try db.transaction { db in
        for id in 1...11_000 { _ = try Bicycle.byId(id).run(db) }
      }
      #expect(log.take().count >= 10_000)
      _ = try Bicycle.count().run(db)
      #expect(log.take().count == 1)
    }
  }

  @Test func handlesOnManyThreadsAreTracedWhileTracesComeAndGo() async throws {
    try await withDirectoryAsync { directory in
      let db = try SqliteDatabase(filepath: directory + "/test.sqlite", configuration: .init(busyTimeout: 600))
      try db.createTables(Person.self, Bicycle.self)
      let log = TraceLog()
      let token = db.trace(.init(), log.receive)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            let child = try db.createChild()
            for id in 0..<200 {
              try Bicycle(name: "\(number)-\(id)", color: "red").insert().run(child)
              if id % 20 == 0 { child.removeTrace(child.trace { _ in }) }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(log.take().filter { $0.kind == .write }.count == 800)
      db.removeTrace(token)
    }
  }

  @Test func callsOfAReceiverOnThePoolAreNotTraced() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/test.sqlite")
      try await pool.withWriter { try $0.createTables(Person.self, Bicycle.self) }
      _ = try await Bicycle.count().run(pool)
      let log = TraceLog()
      let writes = Collected<Int?>()
      let token = pool.trace { event in
        log.receive(event)
        let number = writes.values.count
        Task { writes.append(try? await Bicycle(name: "\(number)", color: "red").insert().run(pool)) }
      }
      _ = try await Bicycle.count().run(pool)
      try await until { writes.values.count == 1 }
      try await Task.sleep(for: .milliseconds(50))
      #expect(log.takeWords() == ["read bicycle 1"])
      pool.removeTrace(token)
      try await pool.close()
    }
  }
}
