import Foundation
import Sqlable
import Synchronization

struct Reading: Sqlable {
  var id: Int?
  var sensor: Int
  var text: String
  static let id = column("id", Int?.self, PrimaryKey())
  static let sensor = column("sensor", Int.self)
  static let text = column("text", String.self)
  static let tableLayout = [id.column, sensor.column, text.column]
  static let tableIndexes = [Index(sensor)]

  init(sensor: Int, text: String) { (id, self.sensor, self.text) = (nil, sensor, text) }

  init(row: ReadRow) throws {
    id = try row.get(Reading.id)
    sensor = try row.get(Reading.sensor)
    text = try row.get(Reading.text)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Reading.id, id)
    row.set(Reading.sensor, sensor)
    row.set(Reading.text, text)
  }
}

/// Writes so many rows a second, each in its own transaction, while reads overlap, of which one is always open; prints
/// each minute how large the write-ahead log was at most, and how long the calls took.
@main struct Program {
  static let usage = """
    LogSoak [--minutes 120] [--writes 500] [--readers 4] [--reading MILLISECONDS (400)] [--limit BYTES (33554432)] \
    [--unlimited] [--directory DIRECTORY]
    """

  struct Options {
    var (minutes, writes, readers, reading) = (120, 500, 4, 400)
    var limit: Int? = 33_554_432
    var directory = NSTemporaryDirectory()
  }

  static func main() async throws {
    var options = Options()
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      if argument == "--unlimited" {
        options.limit = nil
        continue
      }
      guard let value = arguments.popFirst() else { return print(usage) }
      switch argument {
      case "--minutes": options.minutes = Int(value) ?? options.minutes
      case "--writes": options.writes = Int(value) ?? options.writes
      case "--readers": options.readers = Int(value) ?? options.readers
      case "--reading": options.reading = Int(value) ?? options.reading
      case "--limit": options.limit = Int(value) ?? options.limit
      case "--directory": options.directory = value
      default: return print(usage)
      }
    }
    let place = options.directory + "/sqlable-log-soak-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    try await run(place + "/soak.sqlite", options)
  }

  /// What took how long, in milliseconds.
  final class Times: Sendable {
    private let state = Mutex<[Double]>([])

    func add(_ begin: ContinuousClock.Instant) {
      let time = begin.duration(to: .now) / .milliseconds(1)
      state.withLock { $0.append(time) }
    }

    func take() -> String {
      let times = state.withLock { state in
        defer { state = [] }
        return state.sorted()
      }
      guard let longest = times.last else { return "none" }
      func share(_ share: Double) -> String { String(format: "%.1f", times[Int(Double(times.count - 1) * share)]) }
      return "\(times.count), p50 \(share(0.5)), p99 \(share(0.99)), longest \(String(format: "%.1f", longest)) ms"
    }
  }

  static func run(_ path: String, _ options: Options) async throws {
    let pool = try SqlitePool(
      filepath: path, configuration: .init(readers: options.readers, maximumWalSize: options.limit))
    try await pool.transaction { db in try db.createTable(Reading.self) }
    pool.didFail = { print("reported: \($0)") }
    let (writes, waits) = (Times(), Times())
    let end = ContinuousClock.now + .seconds(60 * options.minutes)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await write(pool, options, until: end, writes) }
      for number in 0..<options.readers {
        group.addTask {
          try await Task.sleep(for: .milliseconds(options.reading / options.readers * number))
          while ContinuousClock.now < end {
            let begin = ContinuousClock.now
            try await pool.read { db in
              waits.add(begin)
              let before = try Reading.count().run(db)
              usleep(UInt32(options.reading * 1_000))
              guard try Reading.count().run(db) == before else { fatalError("a read saw two states") }
            }
          }
        }
      }
      group.addTask { try await watch(pool, options, writes, waits) }
      try await group.waitForAll()
    }
    try await pool.close()
  }

  private static func write(
    _ pool: SqlitePool, _ options: Options, until end: ContinuousClock.Instant, _ times: Times
  ) async throws {
    var next = ContinuousClock.now
    var number = 0
    while ContinuousClock.now < end {
      let begin = ContinuousClock.now
      let row = Reading(sensor: number % 100, text: String(repeating: "reading ", count: 8))
      let id = try await row.insert().run(pool)
      times.add(begin)
      number += 1
      // So that the database does not grow: what is older than a hundred thousand rows goes.
      if number % 1_000 == 0 { try await Reading.delete(Reading.id <= id - 100_000).run(pool) }
      next = next + .seconds(1) / options.writes
      try await Task.sleep(until: next, clock: .continuous)
    }
  }

  /// Prints a line a minute; looks at the log ten times a second.
  private static func watch(_ pool: SqlitePool, _ options: Options, _ writes: Times, _ waits: Times) async throws {
    var largest = 0
    for minute in 1...max(options.minutes, 1) {
      var largestNow = 0
      for _ in 0..<600 {
        try await Task.sleep(for: .milliseconds(100))
        largestNow = max(largestNow, pool.statistics.walSize)
      }
      largest = max(largest, largestNow)
      func megabytes(_ bytes: Int) -> String { String(format: "%.1f", Double(bytes) / 1_048_576) }
      print(
        "minute \(minute): log \(megabytes(largestNow)) MiB, ever \(megabytes(largest)); writes \(writes.take()); "
          + "waits for a reader \(waits.take())")
      fflush(nil)
    }
  }
}
