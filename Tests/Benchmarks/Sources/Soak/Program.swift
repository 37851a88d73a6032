import Foundation
import Sqlable

/// Runs the load minute by minute, and prints after each what the process holds: at once, and again when it has rested
/// for so long that the threads of Dispatch, and what these keep, are gone.
///
/// What grows at rest from hour to hour is a leak. `MALLOC_ARENA_MAX=2`, and the line after `malloc_trim`, tell what
/// the allocator keeps from what is in use.
@main struct Program {
  static let usage = "Soak [--minutes 60] [--directory DIRECTORY]"
  /// Dispatch ends a thread that has had nothing to do for five seconds.
  static let rest = Duration.seconds(8)

  static func main() async throws {
    try SqliteDatabase.keepMemoryStatistics()
    var (minutes, directory) = (60, NSTemporaryDirectory())
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch (argument, arguments.popFirst()) {
      case ("--minutes", let value?): minutes = Int(value) ?? minutes
      case ("--directory", let value?): directory = value
      default:
        print(usage)
        return
      }
    }
    let place = directory + "/sqlable-soak-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    try await run(place + "/soak.sqlite", minutes: minutes)
  }

  static func run(_ path: String, minutes: Int) async throws {
    let pool = try SqlitePool(filepath: path)
    try await pool.transaction { db in try db.createTable(Row.self) }
    let counts = Load.Counts()
    print("MB          | at the end of a minute's load           | after \(rest) of rest")
    print(
      "minute      | resident  anonymous  allocated  threads | resident  anonymous  allocated  free  SQLite  threads  fds"
    )
    report("start", nil, .now())
    for minute in 1...max(minutes, 1) {
      await Load(pool: pool, end: .now + .seconds(60) - rest, counts: counts).run()
      let busy = MemoryUse.now()
      try await Task.sleep(for: rest)
      report("\(minute)", busy, .now())
      let done = counts.take().sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      print("              " + done.joined(separator: ", "))
      fflush(nil)
    }
    try await pool.close()
    try await Task.sleep(for: rest)
    report("closed", nil, .now())
    MemoryUse.trim()
    report("trimmed", nil, .now())
  }

  private static func report(_ name: String, _ busy: MemoryUse?, _ rest: MemoryUse) {
    func megabytes(_ bytes: Int, _ width: Int) -> String {
      let text = String(format: "%.2f", Double(bytes) / 1_048_576)
      return String(repeating: " ", count: max(0, width - text.count)) + text
    }
    func number(_ number: Int, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - "\(number)".count)) + "\(number)"
    }
    let left =
      busy.map { busy in
        megabytes(busy.resident, 9) + megabytes(busy.anonymous, 11) + megabytes(busy.allocated, 11)
          + number(busy.threads, 9)
      } ?? String(repeating: " ", count: 40)
    let right =
      megabytes(rest.resident, 9) + megabytes(rest.anonymous, 11) + megabytes(rest.allocated, 11)
      + megabytes(rest.free, 6) + megabytes(rest.sqlite, 8) + number(rest.threads, 9) + number(rest.descriptors, 5)
    print(name + String(repeating: " ", count: max(0, 12 - name.count)) + "|" + left + " |" + right)
    fflush(nil)
  }
}
