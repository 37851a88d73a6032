import Foundation
import Glibc
import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableSchema

@testable import SqlableTestSupport

/// The load that each of several processes puts on one file, with a report of every event.
///
/// A transaction reads a counter, increments it and inserts a ledger row.
struct Soak: Sendable {
  static let counters = 16

  struct Entry: SqlCodable {
    var id: Int?
    let writer: Int
    let sequence: Int
    let counter: Int
    let value: Int
    static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
    static let writer = column("writer", Int.self)
    static let sequence = column("sequence", Int.self)
    static let counter = column("counter", Int.self)
    static let value = column("value", Int.self)
    static let tableLayout = [id.column, writer.column, sequence.column, counter.column, value.column]
  }

  /// An event of a process.
  enum Report: Sendable {
    /// An acknowledged call, with its start and end on a clock that all processes share.
    case wrote(writer: Int, sequence: Int, counter: Int, value: Int, begin: UInt64, end: UInt64)
    case refused(writer: Int, sequence: Int)
    /// A row that an observer received.
    case heard(id: Int)
    case wrong(String)

    var line: String {
      switch self {
      case .wrote(let writer, let sequence, let counter, let value, let begin, let end):
        "w \(writer) \(sequence) \(counter) \(value) \(begin) \(end)"
      case .refused(let writer, let sequence): "r \(writer) \(sequence)"
      case .heard(let id): "h \(id)"
      case .wrong(let text): "x \(text)"
      }
    }

    init?(line: String) {
      let parts = line.split(separator: " ")
      let numbers = parts.dropFirst().compactMap { UInt64($0) }
      switch (parts.first, numbers.count) {
      case ("w", 6):
        self = .wrote(
          writer: Int(numbers[0]), sequence: Int(numbers[1]), counter: Int(numbers[2]), value: Int(numbers[3]),
          begin: numbers[4], end: numbers[5])
      case ("r", 2): self = .refused(writer: Int(numbers[0]), sequence: Int(numbers[1]))
      case ("h", 1): self = .heard(id: Int(numbers[0]))
      case ("x", _): self = .wrong(String(line.dropFirst(2)))
      default: return nil
      }
    }
  }

  let pool: SqlitePool
  /// The numbers of the writers of this process.
  let writers: Range<Int>
  let readers: Int
  let seconds: Double
  let say: @Sendable (Report) -> Void
  /// The highest acknowledged value of each counter in this process.
  private let acknowledged = Mutex(Array(repeating: 0, count: Soak.counters))

  init(
    _ pool: SqlitePool, writers: Range<Int>, readers: Int, seconds: Double, say: @escaping @Sendable (Report) -> Void
  ) {
    (self.pool, self.writers, self.readers, self.seconds, self.say) = (pool, writers, readers, seconds, say)
  }

  static func createTables(_ pool: SqlitePool) throws {
    try pool.transaction { db in
      try db.createTables(Sample.self, Entry.self)
      for id in 0..<Soak.counters { try Sample(id: id).insert().run(db) }
    }
  }

  private static var nanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  func run() async {
    let own = writers
    let token = pool.observe(.insert, on: Entry.self) { (row: RowChange) in say(.heard(id: row.id)) }
    let end = ContinuousClock.now + .seconds(seconds)
    await withTaskGroup(of: Void.self) { group in
      for writer in own { group.addTask { await write(writer, until: end) } }
      for _ in 0..<readers { group.addTask { await read(until: end) } }
      group.addTask { await follow(until: end) }
    }
    // All commits are on the queue by now.
    pool.queue.sync {}
    pool.removeObserver(token)
  }

  private func write(_ writer: Int, until end: ContinuousClock.Instant) async {
    var sequence = 0
    while ContinuousClock.now < end {
      sequence += 1
      let (counter, number) = (Int.random(in: 0..<Soak.counters), sequence)
      let begin = Soak.nanoseconds
      let work: @Sendable (SqliteDatabase) throws -> Int = { db in
        let value = (try Sample.byId(counter).run(db)?.number ?? -1) + 1
        try Sample.update(Sample.number.set(to: value)).filter(Sample.id == counter).run(db)
        try Entry(writer: writer, sequence: number, counter: counter, value: value).insert().run(db)
        return value
      }
      do {
        let value = try await perform(work)
        acknowledged.withLock { $0[counter] = max($0[counter], value) }
        say(
          .wrote(
            writer: writer, sequence: number, counter: counter, value: value, begin: begin, end: Soak.nanoseconds))
      } catch {
        if !(error is CancellationError), ![.timeout, .busy].contains((error as? SqlError)?.kind) {
          say(.wrong("a write failed: \(error)"))
        }
        say(.refused(writer: writer, sequence: number))
      }
    }
  }

  /// Performs a write in one of several ways, some of which stop at a random moment.
  private func perform(_ work: @escaping @Sendable (SqliteDatabase) throws -> Int) async throws -> Int {
    let pool = pool
    switch Int.random(in: 0..<10) {
    case 0:
      let task = Task { try await pool.transaction(work) }
      try? await Task.sleep(for: .microseconds(Int.random(in: 0...3_000)))
      task.cancel()
      return try await task.value
    case 1:
      let time = Duration.microseconds(Int.random(in: 0...5_000))
      return try await withDeadline(time) { try await pool.transaction(work) }
    case 2...3:
      return try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(with: Result { try pool.transaction(work) })
        }
      }
    default: return try await pool.transaction(work)
    }
  }

  private func read(until end: ContinuousClock.Instant) async {
    while ContinuousClock.now < end {
      let known = acknowledged.withLock { $0 }
      do {
        let (counters, count) = try await pool.read { db in
          (try Sample.read().orderBy(Sample.id).run(db).map(\.number), try Entry.count().run(db))
        }
        if counters.reduce(0, +) != count { say(.wrong("a read of two moments: \(counters), \(count)")) }
        for (value, known) in zip(counters, known) where value < known {
          say(.wrong("a read older than what was acknowledged: \(value), \(known)"))
        }
      } catch { say(.wrong("a read failed: \(error)")) }
      try? await Task.sleep(for: .microseconds(Int.random(in: 0...2_000)))
    }
  }

  /// Follows a count, which can only grow, until it reaches the table's count.
  private func follow(until end: ContinuousClock.Instant) async {
    let latest = Mutex(0)
    let loop = Task {
      do {
        for try await count in Entry.count().updates(in: pool) {
          if count < latest.withLock({ $0 }) { say(.wrong("a live result went back")) }
          latest.withLock { $0 = count }
        }
      } catch is CancellationError {} catch { say(.wrong("a live result failed: \(error)")) }
    }
    while ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(5)) }
    // Other processes may go on writing. The loop must reach the count of one moment.
    let count = (try? await Entry.count().run(pool)) ?? -1
    let limit = ContinuousClock.now + .seconds(600)
    while latest.withLock({ $0 }) < count, ContinuousClock.now < limit { try? await Task.sleep(for: .milliseconds(1)) }
    if latest.withLock({ $0 }) < count { say(.wrong("a live result stayed behind")) }
    loop.cancel()
    await loop.value
  }
}
