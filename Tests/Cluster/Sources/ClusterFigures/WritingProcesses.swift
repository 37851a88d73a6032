import Foundation
import Sqlable
import SqlableCluster

/// Processes that write single rows to one cluster at the same time, each with a client and one task.
///
///     swift run -c release --package-path Tests/Cluster ClusterFigures processes [COUNT] [SECONDS] [ROUNDS]
enum WritingProcesses {
  /// Measures one process and `count` of them, in turn.
  static func measure(_ count: Int, seconds: Int, rounds: Int, on nodes: [String]) async throws {
    var figures: [Int: [[Int]]] = [:]
    for _ in 0..<rounds {
      for processes in count == 1 ? [1] : [1, count] {
        figures[processes, default: []].append(try await rows(processes, seconds, nodes))
      }
    }
    for (processes, rounds) in figures.sorted(by: { $0.key < $1.key }) {
      let rates = rounds.map { $0.reduce(0, +) / seconds }.sorted()
      let each = rounds.joined().sorted()
      print(
        """
        \(processes) processes: \(rates[rates.count / 2]) rows a second (\(rates[0])–\(rates[rates.count - 1])); \
        each \(each[0])–\(each[each.count - 1]) rows in \(seconds) s
        """)
    }
  }

  /// The rows that each process wrote.
  private static func rows(_ processes: Int, _ seconds: Int, _ nodes: [String]) async throws -> [Int] {
    let started = try (0..<processes).map { _ in
      let (process, output) = (Process(), Pipe())
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["writer", nodes.joined(separator: ","), "\(seconds)"]
      process.standardOutput = output
      try process.run()
      return (process, output)
    }
    return started.map { process, output in
      let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
      process.waitUntilExit()
      return Int(String(decoding: data, as: UTF8.self).filter(\.isNumber)) ?? 0
    }
  }

  /// Writes rows for some seconds, and prints how many.
  static func write(to nodes: [String], seconds: Int) async throws {
    let cluster = try SqliteCluster(nodes: nodes)
    // All processes have started by then.
    _ = try await cluster.members()
    try await Task.sleep(for: .seconds(1))
    let end = ContinuousClock.now + .seconds(seconds)
    var rows = 0
    while ContinuousClock.now < end {
      try await Reading(number: rows).insert().run(cluster)
      rows += 1
    }
    print(rows)
    cluster.close()
  }
}
