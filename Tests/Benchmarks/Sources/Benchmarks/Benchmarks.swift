import CSQLite3
import Foundation
import Sqlable

/// Runs each workload with every contender in turn, round after round, and prints the medians and their ratio to the
/// first, which is C. `swift run -c release Benchmarks [rounds] [workload] [contender]`; workloads and contenders are chosen by
/// how their names begin, for a profile.
@main
struct Benchmarks {
  struct Contender {
    let name: String
    /// Does the work once and gives a checksum of all that it read or wrote.
    let run: () throws -> UInt64
  }

  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    let rounds = arguments.first.flatMap { Int($0) } ?? 7
    let only = arguments.dropFirst().first ?? ""
    let contender = arguments.dropFirst(2).first ?? ""
    let directory = FileManager.default.temporaryDirectory.path + "/sqlable-benchmarks-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    print("SQLite \(SqliteDatabase.sqliteVersion), \(rounds) rounds, medians; ratio to C")
    let workloads = try Workloads(path: directory + "/benchmark.sqlite")
    for (name, contenders) in workloads.all where name.hasPrefix(only) {
      try measure(name, contenders.filter { $0.name.hasPrefix(contender) }, rounds: rounds)
    }
  }

  static func measure(_ name: String, _ contenders: [Contender], rounds: Int) throws {
    var times = contenders.map { _ in [Double]() }
    let expected = try contenders.map { try $0.run() }
    guard Set(expected).count == 1 else {
      print("\(name): the contenders do not read or write the same data: \(expected)")
      exit(1)
    }
    for _ in 0..<rounds {
      for (index, contender) in contenders.enumerated() {
        let clock = ContinuousClock()
        let duration = try clock.measure { _ = try contender.run() }
        times[index].append(Double(duration.components.attoseconds) / 1e15 + Double(duration.components.seconds) * 1e3)
      }
    }
    let medians = times.map { $0.sorted()[$0.count / 2] }
    for (index, contender) in contenders.enumerated() {
      let milliseconds = String(format: "%9.2f ms", medians[index])
      let ratio = String(format: "%6.2f", medians[index] / medians[0])
      print(name.padding(toLength: 34, withPad: " ", startingAt: 0), milliseconds, ratio, " ", contender.name)
    }
  }
}
