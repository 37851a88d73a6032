import Foundation
import Sqlable
import SqlableChanges

/// The time until a consumer has a commit of another process, and the wake-ups of an idle consumer.
struct CommitLatency {
  let options: Options
  let place: String

  /// Commits rows that have the time of their commit. This is the second process.
  static func write(to path: String, commits: Int) throws {
    let db = try SqliteDatabase(filepath: path)
    for number in 0..<commits {
      usleep(3_000)
      var item = Item(number)
      item.at = now()
      try item.insert().run(db)
    }
  }

  func measure() async throws {
    let path = place + "/latency.sqlite"
    let pool = try SqlitePool(filepath: path)
    try await pool.transaction { db in
      try db.createTable(Item.self)
      try ChangeLog(Item.self).create(db)
    }
    let without = try await wakeUps()
    var loop = pool.changes(on: Item.self, as: "latency", startingWith: .now).makeAsyncIterator()
    let count = options.commits
    let consumer = Task {
      var times: [Double] = []
      while times.count < count, let batch = try await loop.next() {
        for try await change in batch.changes {
          if case .insert(let item) = change.row { times.append(CommitLatency.now() - item.at) }
        }
      }
      try await loop.next()?.acknowledge()
      return times
    }
    while try await pool.changeConsumers().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    let writer = Process()
    writer.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    writer.arguments = ["--commits", "\(count)", "--write", path]
    try writer.run()
    writer.waitUntilExit()
    // The consumer has acknowledged all commits, and waits for the next. The checks after the last commit become rare.
    while try await pool.changeConsumers().first?.lag != 0 { try await Task.sleep(for: .milliseconds(10)) }
    try await Task.sleep(for: .seconds(60))
    let idle = try await wakeUps()
    try await pool.close()
    let times = try await consumer.value.sorted()
    let (middle, late) = (times[times.count / 2] * 1e3, times[times.count * 99 / 100] * 1e3)
    print("another process's commit is delivered after \(format(middle)) ms (p99 \(format(late)) ms)")
    print("wake-ups of all threads a second: \(format(without)) without a consumer, \(format(idle)) with an idle one")
  }

  private func format(_ number: Double) -> String { String(format: "%.2f", number) }

  private static func now() -> Double { Date().timeIntervalSince1970 }

  /// The number of times a second that the threads of this process wake up, over five seconds. Threads that end
  /// meanwhile do not count.
  private func wakeUps() async throws -> Double {
    func switches() throws -> [String: Int] {
      let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
      return Dictionary(
        uniqueKeysWithValues: threads.map { thread in
          let status = (try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)) ?? ""
          let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
          return (thread, line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
        })
    }
    let before = try switches()
    try await Task.sleep(for: .seconds(5))
    let after = try switches()
    return Double(before.reduce(0) { $0 + (max((after[$1.key] ?? 0) - $1.value, 0)) }) / 5
  }
}
