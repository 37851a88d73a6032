import Dispatch
import Foundation
import Sqlable
import Synchronization

/// All that a service does with a pool, at random, by a dozen tasks at a time.
struct Load: Sendable {
  /// So many rows there are at most, so that the database does not grow.
  static let maximumRows = 5_000

  let pool: SqlitePool
  let end: ContinuousClock.Instant
  let counts: Counts

  /// How often each thing was done.
  final class Counts: Sendable {
    private let state = Mutex<[String: Int]>([:])

    func add(_ name: String) { state.withLock { $0[name, default: 0] += 1 } }

    func take() -> [String: Int] {
      state.withLock { state in
        defer { state = [:] }
        return state
      }
    }
  }

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { await again("write") { try await write() } } }
      for _ in 0..<4 { group.addTask { await again("read") { try await read() } } }
      for _ in 0..<2 { group.addTask { await again("live") { try await follow() } } }
      group.addTask { await again("changes") { try await observe() } }
      group.addTask { await again("children") { try await useChildren() } }
      group.addTask { await again("pools") { try await usePool() } }
    }
  }

  private func again(_ name: String, _ body: () async throws -> Void) async {
    while ContinuousClock.now < end {
      do {
        try await body()
        counts.add(name)
      } catch is CancellationError {
        counts.add("cancelled")
      } catch let error as SqlError where [.timeout, .constraint(.primaryKey)].contains(error.kind) {
        counts.add("refused")
      } catch {
        print("\(name) failed: \(error)")
        counts.add("failed")
      }
    }
  }

  // MARK: Writes

  private func write() async throws {
    switch Int.random(in: 0..<12) {
    case 0: try await cancelled { try await pool.transaction { db in try Load.change(db) } }
    case 1:
      try await withDeadline(.microseconds(Int.random(in: 0...3_000))) {
        try await pool.transaction { db in try Load.change(db) }
      }
    case 2: try await onThread { try pool.transaction { db in try Load.change(db) } }
    case 3:
      try await pool.transaction { db in
        try Load.change(db)
        try db.transaction { db -> TransactionResult in
          try Row.random().insert().run(db)
          return .rollback
        }
      }
    case 4: _ = try await Row.insert((0..<20).map { _ in Row.random() }).run(pool)
    case 5:
      // A key that is taken.
      try await pool.transaction { db in
        guard let row = try Row.read().first().run(db) else { return }
        try row.insert().run(db)
      }
    case 6:
      try await pool.transaction { db in
        let excess = try Row.count().run(db) - Load.maximumRows
        guard excess > 0 else { return }
        let last = try db.query("SELECT id FROM row ORDER BY id LIMIT 1 OFFSET \(excess)", as: Int.self).first ?? 0
        try Row.delete(Row.id < last).run(db)
      }
    case 7: try await Row.update(Row.value.set(to: 1)).filter(Row.group == Int.random(in: 0..<50)).run(pool)
    default: try await Row.random().insert().run(pool)
    }
  }

  private static func change(_ db: SqliteDatabase) throws {
    let id = try Row.random().insert().run(db)
    try Row.update(Row.name.set(to: "changed"), Row.value.set(to: 2)).filter(Row.id == id).run(db)
    try Row.delete(Row.id == id - Load.maximumRows).run(db)
  }

  // MARK: Reads

  private func read() async throws {
    let group = Int.random(in: 0..<50)
    switch Int.random(in: 0..<8) {
    case 0: _ = try await Row.count().run(pool)
    case 1: _ = try await Row.read().filter(Row.group == group).orderBy(Row.value).limit(20).run(pool)
    case 2: _ = try await pool.read { db in (try Row.count().run(db), try Row.read().first().run(db)) }
    case 3: try await cancelled { _ = try await Row.read().run(pool) }
    case 4: try await withDeadline(.microseconds(300)) { _ = try await Row.read().run(pool) }
    case 5: try await onThread { _ = try Row.read().filter(Row.value > 990).run(pool) }
    // A shape that was not there before, now and then: the cache of statements lets go of others.
    case 6:
      let number = Int.random(in: 0..<1_000)
      let sql = SQL(verbatim: "SELECT count(*) + \(number) FROM row WHERE \"group\" = \(group)")
      _ = try await pool.read { db in try db.query(sql, as: Int.self) }
    default: _ = try await Row.byId(Int.random(in: 0..<10_000)).run(pool)
    }
  }

  // MARK: What follows commits

  /// Opens a live result, takes some, and lets go of it.
  private func follow() async throws {
    let (group, count) = (Int.random(in: 0..<50), Int.random(in: 1...4))
    switch Int.random(in: 0..<4) {
    case 0: try await take(count, of: Row.count().updates(in: pool, onlyChanges: true))
    case 1: try await take(count, of: Row.read().filter(Row.group == group).updates(in: pool))
    case 2: try await take(count, of: Row.byId(Int.random(in: 0..<10_000)).updates(in: pool))
    default: try await take(count, of: Row.read().filter(Row.name.like("changed%")).limit(5).updates(in: pool))
    }
  }

  private func take<Value: Sendable>(_ count: Int, of updates: LiveQuery<Value>) async throws {
    try await cancelled(after: .milliseconds(20)) {
      var left = count
      for try await _ in updates {
        left -= 1
        if left == 0 { return }
      }
    }
  }

  private func observe() async throws {
    let token = pool.observe(.insert, on: Row.self) { (_: RowChange) in }
    defer { pool.removeObserver(token) }
    try await cancelled(after: .milliseconds(20)) {
      var left = 10
      for await change in pool.modelChanges(on: Row.self) {
        if case .row(let row) = change { _ = try row.new()?.name }
        left -= 1
        if left == 0 { return }
      }
    }
  }

  // MARK: What is opened and closed

  private func useChildren() async throws {
    try await onThread {
      let root = try SqliteDatabase(filepath: pool.filepath)
      let token = root.observe(on: Row.self) { (_: RowChange) in }
      let children = try (0..<3).map { _ in try root.createChild() }
      for child in children { _ = try Row.byId(Int.random(in: 0..<10_000)).run(child) }
      try Row.update(Row.value.set(to: 3)).filter(Row.id == 1).run(children[0])
      root.removeObserver(token)
      for child in children { try child.close() }
      try root.close()
    }
    try await Task.sleep(for: .milliseconds(5))
  }

  private func usePool() async throws {
    let other = try SqlitePool(filepath: pool.filepath, readers: 2)
    try await take(2, of: Row.count().updates(in: other))
    try await Row.random().insert().run(other)
    try await other.close()
    try await Task.sleep(for: .milliseconds(20))
  }

  // MARK: How it is called

  /// Cancels it when it is not done after that time, which is two milliseconds at the most where it is not said.
  private func cancelled(
    after time: Duration = .microseconds(Int.random(in: 0...2_000)), _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let task = Task { try await body() }
    let limit = Task {
      try await Task.sleep(for: time)
      task.cancel()
    }
    defer { limit.cancel() }
    try await task.value
  }

  private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
    }
  }
}
