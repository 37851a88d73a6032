import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Pools.md.
@Suite struct PoolsGuide {
  @Test func vacuumNeedsNoClosure() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.execute("CREATE TABLE log (text)")
    try await pool.execute("DELETE FROM log; VACUUM")
  }

  @Test func poolExamplesWork() async throws {
    let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let bike = Bicycle(name: "Norco", color: "red")
    let pool = try SqlitePool(filepath: directory + "/bikes.sqlite", readers: 4)
    try await pool.transaction { db in try db.createTable(Bicycle.self) }
    try await pool.transaction { db in try db.createTable(Person.self) }
    do {
      let own = try SqlitePool.inMemory()
      #expect(try await own.query("PRAGMA journal_mode", as: String.self) == ["wal"])
    }
    do {
      let id = try await bike.insert().run(pool)
      let reds = try await Bicycle.read().filter(Bicycle.color == "red").run(pool)
      let (count, first) = try await pool.read { db in
        (try Bicycle.count().run(db), try Bicycle.read().first().run(db))
      }
      let gone = try await pool.transaction { db in
        try Bicycle.delete(Bicycle.color == "blue").run(db)
      }
      #expect(id == 1)
      #expect(reds.map(\.name) == ["Norco"])
      #expect(count == 1)
      #expect(first?.id == 1)
      #expect(gone == 0)
    }
    do {
      let lines = ["Norco", "Trek"]
      let imported = try await pool.yieldingTransaction(into: 0) { db, next, isNew in
        guard next < lines.count else { return .stop }
        try Bicycle(name: lines[next], color: "green").insert().run(db)
        next += 1
        return .continue
      }
      #expect(imported == 2)
      try await pool.transaction { db in try Bicycle.delete(Bicycle.color == "green").run(db) }
    }
    do {
      let slow = Task { try await Bicycle.count().run(pool) }
      slow.cancel()  // CancellationError, unless it has finished
      let count = try await repeatingAfterTimeouts {  // not shown
        let inTime = try await withDeadline(.seconds(2)) { try await Bicycle.count().run(pool) }
        return inTime  // not shown
      }  // not shown
      #expect(count == 1)
      _ = await slow.result
    }
    do {
      let statistics = pool.statistics
      if let oldest = statistics.oldestRead, oldest.age > .seconds(10) { print(oldest) }
      print(statistics.waitingWrites, statistics.longestWait, statistics.walSize)
      #expect(statistics.commits == 5)
    }
    do {
      let path = directory + "/small.sqlite"
      let configuration = PoolConfiguration(maximumRead: .seconds(30), maximumWalSize: 16 << 20)
      let pool = try SqlitePool(filepath: path, configuration: configuration)
      pool.didFail = { error in print(error) }
      try await pool.close()
    }
    do {
      let token = pool.observe(.update, on: Bicycle.self, id: 2) { id in print("bicycle \(id) was changed") }
      pool.removeObserver(token)
    }
    do {
      let copyPath = directory + "/copy.sqlite"
      try await pool.withClosed { files in try files.copy(to: copyPath) }
      #expect(try Bicycle.count().run(SqliteDatabase(filepath: copyPath)) == 1)
    }
    do {
      let check = { @Sendable (bikes: [Bicycle]) async throws in #expect(bikes.count == 1) }
      let block = try await pool.block()
      defer { block.end() }
      let bikes = try Bicycle.read().run(block)
      try await check(bikes)
      try block.transaction { db in for bike in bikes { try bike.update().run(db) } }
    }
    do {
      try await pool.close(within: .seconds(5))
      #expect(!pool.isOpen)
    }
  }

  /// The examples of Docs/LiveResults.md.
  @Test func liveResultExamplesWork() async throws {
    let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let pool = try SqlitePool(filepath: directory + "/bikes.sqlite", readers: 4)
    try await pool.transaction { db in
      try db.createTables(Person.self, Bicycle.self)
    }
    let color = "red"
    let loops: [Task<Void, any Error>] = [
      Task {
        for await change in pool.changes(on: Bicycle.self, .update, id: 2) {
          switch change {
          case .row(let row): print(row.change, row.id)
          case .missed: print("look for yourself")
          }
        }
      },
      Task {
        for await commit in pool.changes(on: Bicycle.self).commits { print("\(commit.count) rows together") }
      },
      Task {
        for await case .row(let bike) in pool.modelChanges(on: Bicycle.self, .update) {
          print(try bike.old()?.color ?? "", "is now", try bike.new()?.color ?? "")
        }
      },
      Task {
        for try await bikes in Bicycle.read().filter(Bicycle.color == "red").updates(in: pool) { print(bikes.count) }
      },
      Task {
        for try await count in Bicycle.count().updates(in: pool, onlyChanges: true) { print(count) }
      },
      Task {
        let names = SQL("SELECT name FROM bicycle WHERE color = \(color) ORDER BY name").rows(as: String.self)
        for try await reds in names.updates(in: pool) { print(reds) }
      },
      Task {
        let summary = pool.updates { db in
          let colors = try db.query("SELECT DISTINCT color FROM bicycle ORDER BY color", as: String.self)
          return (count: try Bicycle.count().run(db), colors: colors)
        }
        for try await (count, colors) in summary { print(count, colors) }
      },
    ]
    try await Bicycle(name: "Norco", color: "red").insert().run(pool)
    try await pool.close()
    for loop in loops { try await loop.value }
  }

  @Test func handlesHaveLiveResults() async throws {
    try await withDirectoryAsync { directory in
      let db = try SqliteDatabase(filepath: directory + "/bikes.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      let loop = Task {
        for try await count in Bicycle.count().updates(in: db, onlyChanges: true) { print(count) }
      }
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      try db.close()
      try await loop.value
    }
  }
}
