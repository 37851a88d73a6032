import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableChanges
@testable import SqlablePool
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The cache that loads rows on demand and the search index of `Docs/ChangeLog.md`.
@Suite(.disabled(if: isInMemory)) struct ChangeCopiesGuide {
  fileprivate static let variable = "SQLABLE_BIKE_INDEX"

  actor LoadingBikeCache {
    private var bikes: [Int: Bicycle] = [:]
    /// The loads that may store their row. A change of the row removes the load.
    private var loads: [Int: Int] = [:]
    private var lastLoad = 0
    private var isFollowing = false

    func bike(_ id: Int, in pool: SqlitePool) async throws -> Bicycle? {
      if let bike = bikes[id] { return bike }
      lastLoad += 1
      let load = lastLoad
      if isFollowing { loads[id] = load }
      let bike = try await Bicycle.byId(id).run(pool)
      if loads[id] == load { (bikes[id], loads[id]) = (bike, nil) }
      return bike
    }

    func follow(_ pool: SqlitePool) async throws {
      defer { (bikes, loads, isFollowing) = ([:], [:], false) }
      let position = try await pool.changePosition()
      isFollowing = true
      for try await change in pool.changes(on: Bicycle.self, since: position) {
        let ids =
          switch change.row {
          case .insert(let bike), .delete(let bike): [bike.id]
          case .update(let old, let new): [old.id, new.id]
          }
        for case let id? in ids { (bikes[id], loads[id]) = (nil, nil) }
      }
    }
  }

  private func open(_ directory: String, readers: Int = 2) async throws -> SqlitePool {
    let configuration = PoolConfiguration(handles: .init(busyTimeout: 600), readers: readers, waitTimeout: nil)
    let pool = try SqlitePool(filepath: directory + "/log.sqlite", configuration: configuration)
    try await pool.transaction { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self).create(db)
    }
    return pool
  }

  /// The load has read the old row on one reader, and is held there. The loop receives the change on the other reader.
  @Test func aRowThatChangesWhileItIsLoadedIsNotStored() async throws {
    try await withDirectoryAsync { directory in
      let pool = try await open(directory)
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      let cache = LoadingBikeCache()
      let following = Task { try await cache.follow(pool) }
      // From now on, a load stores its row.
      while await !cache.isReady { try await Task.sleep(for: .milliseconds(1)) }
      let held = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let (hasRead, release) = (LockedValue(false), DispatchSemaphore(value: 0))
      let (hasReceived, isDone) = (LockedValue(false), LockedValue(false))
      let holders = [held.0, held.1].map { semaphore in
        Task { try await pool.read { _ in _ = semaphore.wait(timeout: .now() + 900) } }
      }
      try await until { pool.withState { $0.calls } == 2 }
      let token = pool.trace(.init()) { event in
        if event.sql.contains("\"kind\""), event.rowsRead > 0 {
          hasReceived.withLock { $0 = true }
        } else if event.sql.contains("sqlable_change_history"), hasReceived.withLock({ $0 }) {
          isDone.withLock { $0 = true }
        } else if event.table == "bicycle", event.kind == .read {
          hasRead.withLock { $0 = true }
          _ = release.wait(timeout: .now() + 900)
        }
      }
      let load = Task { try await cache.bike(1, in: pool) }
      try await until { pool.withState { !$0.waitingReads.waiting.isEmpty } }
      held.0.signal()
      try await until { hasRead.withLock { $0 } }
      held.1.signal()
      try await Bicycle.updateAll(Bicycle.name.set(to: "Dahon")).run(pool)
      // The loop reads the next page after its body has ended.
      try await until { isDone.withLock { $0 } }
      release.signal()
      #expect(try await load.value?.name == "Rover")
      pool.removeTrace(token)
      #expect(try await cache.bike(1, in: pool)?.name == "Dahon")
      for holder in holders { try await holder.value }
      try await pool.close(within: .seconds(300))
      try await following.value
    }
  }

  @Test func aLoadedRowIsStoredUntilItChanges() async throws {
    try await withDirectoryAsync { directory in
      let pool = try await open(directory)
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      let cache = LoadingBikeCache()
      #expect(try await cache.bike(1, in: pool)?.name == "Rover")
      let following = Task { try await cache.follow(pool) }
      while await !cache.isReady { try await Task.sleep(for: .milliseconds(1)) }
      let reads = LockedValue(0)
      let token = pool.trace(.init()) { event in if event.table == "bicycle" { reads.withLock { $0 += 1 } } }
      for _ in 0..<3 { #expect(try await cache.bike(1, in: pool)?.name == "Rover") }
      #expect(reads.withLock { $0 } == 1)
      pool.removeTrace(token)
      for sql in ["UPDATE bicycle SET name = 'Dahon'", "UPDATE bicycle SET id = 2", "DELETE FROM bicycle"] {
        try await pool.transaction { db in try db.execute(SQL(verbatim: sql)) }
        for id in 1...2 {
          let name = try await Bicycle.byId(id).run(pool)?.name
          let end = ContinuousClock.now + .seconds(900)
          while try await cache.bike(id, in: pool)?.name != name, ContinuousClock.now < end { await Task.yield() }
          #expect(try await cache.bike(id, in: pool)?.name == name)
        }
      }
      try await pool.close(within: .seconds(300))
      try await following.value
      #expect(await cache.isEmpty)
    }
  }

  // MARK: The search index

  private func rows(_ db: SqliteDatabase, _ sql: SQL) throws -> [[String]] {
    try db.query(sql, as: Int.self, String.self, String.self).map { ["\($0)", $1, $2] }
  }

  private func expectEqual(_ directory: String, _ db: SqliteDatabase) throws {
    let index = try SqliteDatabase(filepath: directory + "/index.sqlite", configuration: .init(busyTimeout: 600))
    let bikes = try rows(db, "SELECT id, name, color FROM bicycle ORDER BY id")
    #expect(try rows(index, "SELECT rowid, name, color FROM bike_text ORDER BY rowid") == bikes)
    try index.close()
  }

  private func start(_ step: String, _ directory: String) throws -> ChildProcess {
    try TestProgram.start("BikeIndexProcess", environment: [ChangeCopiesGuide.variable: "\(step) \(directory)"])
  }

  private func hasAcknowledgedAll(_ db: SqliteDatabase) throws -> Bool {
    try db.changeConsumers().first.map { $0.lag == 0 && !$0.isNew } == true
  }

  private func writeBike(_ db: SqliteDatabase, _ random: inout SeededGenerator) throws {
    let (id, number) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...1_000_000_000, using: &random))
    switch Int.random(in: 0..<4, using: &random) {
    case 0: try Bicycle.delete(Bicycle.id == id).run(db)
    case 1: try db.execute("UPDATE OR IGNORE bicycle SET id = \(id + 1) WHERE id = \(id)")
    default: try Bicycle(id: id, name: "\(number)", color: "red").save().run(db)
    }
  }

  /// Each process is killed at any time after a read of the log, or between a commit of the index and `acknowledge()`.
  @Test(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"), .needsFullText)
  func anIndexEqualsTheTableAfterKills() async throws {
    try await withDirectoryAsync { directory in
      let pool = try await open(directory)
      let db = try SqliteDatabase(filepath: pool.filepath, configuration: .init(busyTimeout: 600))
      var random = SeededGenerator(seed: SeededGenerator.seed)
      for round in 0..<8 {
        let step = round % 2 == 0 ? "read" : "commit"
        let process = try start("\(step)-\(Int.random(in: 1...4, using: &random))", directory)
        try await until {
          try? writeBike(db, &random)
          return process.state == "Z"
        }
        process.waitUntilExit()
        #expect(process.endingSignal == SIGKILL)
        // The killed owner can't answer.
        try db.execute("UPDATE sqlable_change_consumers SET owner = NULL, claimed = NULL")
        let index = try SqlitePool(filepath: directory + "/index.sqlite")
        if round == 3 { try await rebuild(pool, index) }
        try await index.close()
      }
      let process = try start("run", directory)
      defer {
        process.signal(SIGKILL)
        process.waitUntilExit()
      }
      try await until { (try? hasAcknowledgedAll(db)) == true }
      try expectEqual(directory, db)
      try db.close()
      try await pool.close(within: .seconds(300))
    }
  }

  /// The process is suspended after it has read a change. When the process resumes, another owner has applied this
  /// change and a later one.
  @Test(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"), .needsFullText)
  func theOldBatchOfASuspendedOwnerIsIgnored() async throws {
    try await withDirectoryAsync { directory in
      let pool = try await open(directory)
      let db = try SqliteDatabase(filepath: pool.filepath, configuration: .init(busyTimeout: 600))
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      let process = try start("stop", directory)
      defer {
        process.signal(SIGKILL)
        process.waitUntilExit()
      }
      try await until { (try? hasAcknowledgedAll(db)) == true }
      try Bicycle.updateAll(Bicycle.name.set(to: "old")).run(db)
      try await until { process.state == "T" }
      try Bicycle.updateAll(Bicycle.name.set(to: "new")).run(db)
      let index = try SqlitePool(filepath: directory + "/index.sqlite", configuration: .init(waitTimeout: nil))
      let following = Task { try await follow(pool, index) }
      try await until { (try? hasAcknowledgedAll(db)) == true }
      // Releases the lease.
      try await pool.close(within: .seconds(300))
      try await following.value
      process.signal(SIGCONT)
      // Its `acknowledge()` throws `.ownerChanged`. If the pool runs the read again, the process acquires the lease.
      let owned: SQL = "SELECT count(owner) FROM sqlable_change_consumers"
      try await until { process.state == "Z" || (try? db.query(owned, as: Int.self)) == [1] }
      try expectEqual(directory, db)
      try await index.close()
      try db.close()
    }
  }

  func follow(_ pool: SqlitePool, _ index: SqlitePool) async throws {
    try await index.transaction { db in
      try db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS bike_text USING fts5(name, color)")
      try db.execute("CREATE TABLE IF NOT EXISTS seen (position TEXT NOT NULL)")
    }
    for try await batch in pool.changes(on: Bicycle.self, as: "search-index") {
      let changes = try await batch.all()
      try await index.transaction { db in
        let seen = try db.query("SELECT position FROM seen", as: String.self).first.flatMap { ChangePosition($0) }
        if let seen, batch.position <= seen { return }
        if batch.isSnapshot { try db.execute("DELETE FROM bike_text") }
        for change in changes {
          switch change.row {
          case .insert(let bike): try add(bike, db)
          case .update(let old, let new):
            try remove(old, db)
            try add(new, db)
          case .delete(let bike): try remove(bike, db)
          }
        }
        try db.execute("DELETE FROM seen")
        try db.execute("INSERT INTO seen VALUES (\(batch.position.description))")
      }
      try await batch.acknowledge()
    }
  }

  func add(_ bike: Bicycle, _ db: SqliteDatabase) throws {
    let (id, name, color) = (bike.id, bike.name, bike.color)
    try db.execute("INSERT OR REPLACE INTO bike_text (rowid, name, color) VALUES (\(id), \(name), \(color))")
  }

  func remove(_ bike: Bicycle, _ db: SqliteDatabase) throws {
    try db.execute("DELETE FROM bike_text WHERE rowid = \(bike.id)")
  }

  private func rebuild(_ pool: SqlitePool, _ index: SqlitePool) async throws {
    try await pool.removeChangeConsumer("search-index")
    try await index.transaction { db in try db.execute("DELETE FROM seen") }
  }
}

extension ChangeCopiesGuide.LoadingBikeCache {
  fileprivate var isReady: Bool { isFollowing }
  fileprivate var isEmpty: Bool { bikes.isEmpty && loads.isEmpty }
}

/// The program of a process that keeps the search index, until the process kills or stops itself.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[ChangeCopiesGuide.variable] != nil, "a process of its own"))
struct BikeIndexProcess {
  @Test func work() async throws {
    let words = try #require(ProcessInfo.processInfo.environment[ChangeCopiesGuide.variable])
      .split(separator: " ", maxSplits: 1).map(String.init)
    let configuration = PoolConfiguration(handles: .init(busyTimeout: 600), waitTimeout: nil)
    let pool = try SqlitePool(filepath: words[1] + "/log.sqlite", configuration: configuration)
    let index = try SqlitePool(filepath: words[1] + "/index.sqlite", configuration: configuration)
    let step = words[0].split(separator: "-").map(String.init)
    let left = LockedValue(step.count > 1 ? Int(step[1]) ?? 1 : 1)
    @Sendable func isLast() -> Bool {
      left.withLock { left in
        left -= 1
        return left == 0
      }
    }
    // The events of a transaction are reported after its closure, and before the call returns.
    pool.trace(.init()) { event in
      // Not the pool's monitor, which also reads the log.
      guard event.sql.contains("\"kind\""), event.sql.contains("LIMIT"), event.rowsRead > 0 else { return }
      switch step[0] {
      // Not `kill`, after which this thread could run on until another thread gets the signal.
      case "stop" where isLast(): raise(SIGSTOP)
      case "read" where isLast():
        let delay = UInt32.random(in: 0..<20_000)
        Thread.detachNewThread {
          usleep(delay)
          kill(getpid(), SIGKILL)
        }
      default: break
      }
    }
    index.trace(.init()) { event in
      if step[0] == "commit", event.operation == "TRANSACTION", isLast() { kill(getpid(), SIGKILL) }
    }
    try await ChangeCopiesGuide().follow(pool, index)
  }
}
