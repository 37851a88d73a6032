import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The cache and the outbox of `Docs/ChangeLog.md`.
@Suite struct ChangeRecipesGuide {
  fileprivate static let variable = "SQLABLE_BROKER_PUBLISHER"

  actor BikeCache {
    /// The bikes by id; nil while no loop keeps the cache in step.
    private(set) var bikes: [Int?: Bicycle]?

    func follow(_ pool: SqlitePool) async throws {
      defer { bikes = nil }
      let (rows, position) = try await pool.read { db in (try Bicycle.read().run(db), try db.changePosition()) }
      bikes = Dictionary(rows.map { ($0.id, $0) }) { $1 }
      for try await change in pool.changes(on: Bicycle.self, since: position) {
        switch change.row {
        case .insert(let bike): bikes?[bike.id] = bike
        case .update(let old, let new):
          bikes?[old.id] = nil
          bikes?[new.id] = new
        case .delete(let bike): bikes?[bike.id] = nil
        }
      }
    }
  }

  private func expect(_ cache: BikeCache, has names: [String]?) async throws {
    let end = ContinuousClock.now + .seconds(900)
    while await cache.names != names, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(1)) }
    #expect(await cache.names == names)
  }

  /// Runs SQL in the `sqlite3` shell.
  private func run(_ sql: String, _ pool: SqlitePool) async throws {
    let path = pool.filepath
    try await onThread {
      let shell = try SQLiteProcess(path)
      defer { shell.quit() }
      try shell.run(sql)
    }
  }

  @Test(.needsSQLiteProgram, .disabled(if: isInMemory)) func aCacheFollowsOtherProcessesAndARestore() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
        try ChangeLog(Bicycle.self).create(db)
      }
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      let cache = BikeCache()
      let task = Task { try await cache.follow(pool) }
      try await expect(cache, has: ["Rover"])
      try await run("INSERT INTO bicycle (name) VALUES ('Dahon');", pool)
      try await expect(cache, has: ["Dahon", "Rover"])
      try await run(
        "UPDATE bicycle SET id = 7, name = 'Brompton' WHERE name = 'Dahon'; DELETE FROM bicycle WHERE id = 1;", pool)
      try await expect(cache, has: ["Brompton"])

      try await pool.backup(to: directory + "/backup.sqlite")
      try await Bicycle(name: "Lost", color: "red").insert().run(pool)
      try await expect(cache, has: ["Brompton", "Lost"])
      try await pool.restore(from: directory + "/backup.sqlite")
      try await Bicycle(name: "Cube", color: "red").insert().run(pool)
      await #expect { try await task.value } throws: { ($0 as? SqlError)?.kind == .changeLog(.otherHistory) }
      #expect(await cache.bikes == nil)
      let again = Task { try await cache.follow(pool) }
      try await expect(cache, has: ["Brompton", "Cube"])
      try await pool.close()
      try await again.value
      await #expect { try await cache.follow(pool) } throws: { ($0 as? SqlError)?.kind == .closed }
    }
  }

  @Test(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
  func aKilledPublisherRepeatsTheSameIDsInOrder() async throws {
    try await withDirectoryAsync { directory in
      let db = try SqliteDatabase(filepath: directory + "/log.sqlite", configuration: .init(busyTimeout: 600))
      try db.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
        try ChangeLog(Bicycle.self).create(db)
      }
      for name in ["A", "B", "C"] { try Bicycle(name: name, color: "red").insert().run(db) }
      let broker = Broker(path: directory + "/messages", limit: nil)
      func start(limit: Int) throws -> ChildProcess {
        try TestProgram.start(
          "BrokerPublisher", environment: [ChangeRecipesGuide.variable: "\(limit) \(directory)"])
      }
      // The process ends after it has published B, before it acknowledges a change.
      do {
        let killed = try start(limit: 2)
        defer {
          killed.signal(SIGKILL)
          killed.waitUntilExit()
        }
        try await until { broker.messages.count == 2 }
      }
      for name in ["D", "E"] { try Bicycle(name: name, color: "red").insert().run(db) }
      let publisher = try start(limit: .max)
      defer {
        publisher.signal(SIGKILL)
        publisher.waitUntilExit()
      }
      try await until { broker.messages.count == 7 }
      let messages = broker.messages
      #expect(messages.map(\.name) == ["A", "B", "A", "B", "C", "D", "E"])
      #expect(messages.prefix(2).map(\.id) == messages.dropFirst(2).prefix(2).map(\.id))
      #expect(Set(messages.map(\.id)).count == 5)
      try await until { (try? db.changeConsumers().map(\.lag)) == [0] }
    }
  }
}

extension ChangeRecipesGuide.BikeCache {
  fileprivate var names: [String]? { bikes?.values.map(\.name).sorted() }
}

/// A broker that stores its messages as lines of a file.
struct Broker {
  private struct Unreachable: Error {}

  let path: String
  /// The number of messages after which the publishing process is killed; nil for a reader of the messages.
  let limit: Int?
  private let calls = LockedValue(0)

  init(path: String, limit: Int?) { (self.path, self.limit) = (path, limit) }

  /// Stores a message. Fails once: the first message of a process is published by a retry.
  func publish(_ row: LoggedRow<Bicycle>, id: String) async throws {
    let call = calls.withLock { calls in
      calls += 1
      return calls
    }
    guard call > 1 else { throw Unreachable() }
    guard case .insert(let bike) = row else { return }
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(file) }
    let line = Array("\(id) \(bike.name)\n".utf8)
    #expect(write(file, line, line.count) == line.count)
    if call - 1 == limit { kill(getpid(), SIGKILL) }
  }

  var messages: [(id: String, name: String)] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }.map { ($0[0], $0[1]) }
  }
}

/// The program of the process that publishes changes, which runs until it is killed.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[ChangeRecipesGuide.variable] != nil, "a process of its own"))
struct BrokerPublisher {
  @Test func work() async throws {
    let words = try #require(ProcessInfo.processInfo.environment[ChangeRecipesGuide.variable])
      .split(separator: " ", maxSplits: 1).map(String.init)
    let broker = Broker(path: words[1] + "/messages", limit: Int(words[0]))
    let pool = try SqlitePool(
      filepath: words[1] + "/log.sqlite", configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
    try await publish(pool, to: broker)
  }

  func publish(_ pool: SqlitePool, to broker: Broker) async throws {
    let retries = ChangeRetries(attempts: .max, longestPause: .seconds(60))
    while true {
      do {
        return try await pool.deliver("broker", on: Bicycle.self, startingWith: .log, retries: retries) { change in
          try await broker.publish(change.row, id: change.position.description)
        }
      } catch {
        print("outbox: \(error)")
        try await Task.sleep(for: .seconds(10))
      }
    }
  }
}
