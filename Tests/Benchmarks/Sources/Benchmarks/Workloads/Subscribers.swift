import Dispatch
import Foundation
import Sqlable
import Synchronization

/// W15: what open loops cost a writer: its commits a second beside loops, of which some are concerned, as a share of
/// those of a pool on another file without any, in turns. It is no ratio to C.
struct Subscribers {
  static let id = "W15"
  static let title = "a row updated again and again, one commit each, beside loops over changes and live results"

  struct Bike: Sqlable {
    var id: Int
    var name: String
    var owner: Int
    var count: Int

    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self)
    static let owner = column("owner", Int.self)
    static let count = column("count", Int.self)
    static let tableLayout = [id.column, name.column, owner.column, count.column]
    static let tableIndexes = [Index(owner.column)]

    init(id: Int, name: String, owner: Int) { (self.id, self.name, self.owner, self.count) = (id, name, owner, 0) }

    init(row: ReadRow) throws {
      id = try row.get(Bike.id)
      name = try row.get(Bike.name)
      owner = try row.get(Bike.owner)
      count = try row.get(Bike.count)
    }

    func write(to row: inout RowWriter) throws {
      row.set(Bike.id, id)
      row.set(Bike.name, name)
      row.set(Bike.owner, owner)
      row.set(Bike.count, count)
    }
  }

  /// Loops, and what is to be reached beside them.
  private struct Case {
    let name: String
    let count: Int
    let aim: Double
    /// What a loop does; `heard` counts what it is given.
    let loop: @Sendable (SqlitePool, Int, Heard) async throws -> Void
    /// Whether each loop gets something at its begin.
    var isLive = true
    /// The row that is updated.
    var row = 500
    /// How many tasks write at the same time.
    var callers = 1
  }

  private final class Heard: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add(_ number: Int = 1) { count.add(number, ordering: .relaxed) }
  }

  private static var cases: [Case] {
    // The row that is updated, or those from the first on.
    func first(of count: Int) -> Int { count == 1 ? 500 : 1 }
    func byId(_ count: Int) -> Case {
      let first = first(of: count)
      return Case(
        name: "changes by id, one concerned", count: count, aim: 0.7,
        loop: { pool, number, heard in
          for await _ in pool.changes(on: Bike.self, id: first + number - 1).commits { heard.add() }
        }, isLive: false)
    }
    func liveById(_ count: Int) -> Case {
      let first = first(of: count)
      return Case(name: "live rows by id, one concerned", count: count, aim: 0.7) { pool, number, heard in
        for try await _ in Bike.byId(first + number - 1).updates(in: pool) { heard.add() }
      }
    }
    return [
      byId(1), byId(1_000), byId(5_000), liveById(1), liveById(1_000), liveById(5_000),
      Case(name: "live filters (number), one concerned", count: 1_000, aim: 0.6) { pool, number, heard in
        for try await _ in Bike.read().filter(Bike.owner == number && Bike.count >= 0).updates(in: pool) { heard.add() }
      },
      Case(name: "live filters (text), one concerned", count: 1_000, aim: 0.6) { pool, number, heard in
        for try await _ in Bike.read().filter(Bike.name == "Bike \(number)").updates(in: pool) { heard.add() }
      },
      Case(
        name: "equal live lists of 20, all concerned", count: 1_000, aim: 0.3,
        loop: { pool, _, heard in
          for try await _ in Bike.read().orderBy(Bike.id).limit(20).updates(in: pool) { heard.add() }
        }, row: 5),
      Case(name: "equal live lists of 20, rows behind", count: 1_000, aim: 0.6) { pool, _, heard in
        for try await _ in Bike.read().orderBy(Bike.id).limit(20).updates(in: pool) { heard.add() }
      },
      Case(
        name: "the same, and 64 tasks that write", count: 1_000, aim: 0.6,
        loop: { pool, _, heard in
          for try await _ in Bike.read().orderBy(Bike.id).limit(20).updates(in: pool, onlyChanges: true) { heard.add() }
        }, callers: 64),
      Case(
        name: "changes of all rows", count: 100, aim: 0.4,
        loop: { pool, _, heard in
          for await _ in pool.changes(on: Bike.self).commits { heard.add() }
        }, isLive: false),
    ]
  }

  let directory: String
  let options: Options

  private var seconds: Double { max(0.05, 0.5 * options.scale) }

  func run() throws {
    print("\(Subscribers.id)  \(Subscribers.title); \(seconds) s a turn, by a thread and by a task")
    print(
      "     loops                                      thread: none  beside  ratio   task: none  beside  ratio   aim")
    let idle = try pool("none")
    for item in Subscribers.cases {
      let pool = try pool("beside")
      try measure(item, idle, pool)
      try pool.close()
      try SqliteDatabase.deleteDatabase(at: pool.filepath)
    }
    try idle.close()
    try SqliteDatabase.deleteDatabase(at: idle.filepath)
  }

  private func pool(_ name: String) throws -> SqlitePool {
    let pool = try SqlitePool(filepath: directory + "/subscribers-\(name).sqlite", readers: 4)
    try pool.transaction { db in
      try db.createTable(Bike.self)
      try Bike.insert((1...5_000).map { Bike(id: $0, name: "Bike \($0)", owner: $0) }).run(db)
    }
    return pool
  }

  private func measure(_ item: Case, _ idle: SqlitePool, _ pool: SqlitePool) throws {
    let heard = Heard()
    let loops = (1...item.count).map { number in Task { try? await item.loop(pool, number, heard) } }
    while pool.statistics.loops < item.count || (item.isLive && heard.value < item.count) { usleep(1_000) }
    var (threads, tasks) = ([Pair](), [Pair]())
    // The first turns warm up.
    for round in 0...min(options.rounds, 5) {
      let thread = Pair(none: writes(to: idle, item.row), beside: writes(to: pool, item.row))
      let task = Pair(none: writesOfTasks(to: idle, item), beside: writesOfTasks(to: pool, item))
      if round > 0 {
        threads.append(thread)
        tasks.append(task)
      }
    }
    let before = heard.value
    for loop in loops { loop.cancel() }
    let done = DispatchSemaphore(value: 0)
    Task {
      for loop in loops { await loop.value }
      done.signal()
    }
    done.wait()
    let name = "\(item.count) \(item.name)".padding(toLength: 44, withPad: " ", startingAt: 0)
    print(
      "     \(name)\(Pair.text(threads))  \(Pair.text(tasks))", String(format: "%5.1f", item.aim), " heard \(before)")
    fflush(nil)
  }

  /// Writes a second of both pools, one after the other.
  private struct Pair {
    let none: Double
    let beside: Double
    var ratio: Double { beside / none }

    static func text(_ pairs: [Pair]) -> String {
      func median(_ values: [Double]) -> Double { values.sorted()[(values.count - 1) / 2] }
      return String(
        format: "%10.0f %7.0f   %.2f", median(pairs.map(\.none)), median(pairs.map(\.beside)),
        median(pairs.map(\.ratio)))
    }
  }

  private func writes(to pool: SqlitePool, _ row: Int) -> Double {
    let (begin, end) = (ContinuousClock.now, ContinuousClock.now + .seconds(seconds))
    var count = 0
    while ContinuousClock.now < end {
      count += 1
      _ = try? Bike.update(Bike.count.set(to: count)).filter(Bike.id == row).run(pool)
    }
    return rate(count, since: begin)
  }

  private func writesOfTasks(to pool: SqlitePool, _ item: Case) -> Double {
    let total = Heard()
    let done = DispatchSemaphore(value: 0)
    let (begin, end) = (ContinuousClock.now, ContinuousClock.now + .seconds(seconds))
    for caller in 0..<item.callers {
      Task { [row = item.row + caller] in
        var count = 0
        while ContinuousClock.now < end {
          count += 1
          _ = try? await Bike.update(Bike.count.set(to: -count)).filter(Bike.id == row).run(pool)
        }
        total.add(count)
        done.signal()
      }
    }
    for _ in 0..<item.callers { done.wait() }
    return rate(total.value, since: begin)
  }

  private func rate(_ count: Int, since begin: ContinuousClock.Instant) -> Double {
    let (seconds, attoseconds) = begin.duration(to: .now).components
    return Double(count) / (Double(seconds) + Double(attoseconds) / 1e18)
  }
}
