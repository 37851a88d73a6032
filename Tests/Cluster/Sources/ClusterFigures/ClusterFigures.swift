import Foundation
import Sqlable
import SqlableCluster

/// Measures a cluster of three nodes on loopback, and a pool on a file of the same disk beside it.
///
///     swift run -c release --package-path Tests/Cluster ClusterFigures [ROUNDS]
///
/// Prints the median of the rounds, which take turns, and the lowest and highest. `ClusterFigures processes` measures
/// ``WritingProcesses``.
@main
struct ClusterFigures {
  static func main() async throws {
    let words = CommandLine.arguments.dropFirst()
    if words.first == "writer", words.count == 3 {
      let nodes = CommandLine.arguments[2].split(separator: ",").map(String.init)
      return try await WritingProcesses.write(to: nodes, seconds: Int(CommandLine.arguments[3]) ?? 1)
    }
    let rounds = words.first.flatMap { Int($0) } ?? 5
    let directory = NSTemporaryDirectory() + "sqlable-figures-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let nodes = (1...3).map { TestNode($0, "127.0.0.1:\(9300 + $0)", "\(directory)/\($0)") }
    try await nodes[0].start()
    for node in nodes.dropFirst() { try await node.start(joining: [nodes[0].address]) }
    let cluster = try SqliteCluster(nodes: nodes.map(\.address))
    try await cluster.createTables(Reading.self)
    if words.first == "processes" {
      let numbers = words.dropFirst().map { Int($0) ?? 1 }
      try await WritingProcesses.measure(
        numbers.first ?? 20, seconds: numbers.count > 1 ? numbers[1] : 10, rounds: numbers.count > 2 ? numbers[2] : 3,
        on: nodes.map(\.address))
      cluster.close()
      for node in nodes { await node.kill() }
      return
    }
    var unconfirmedReads = ClusterConfiguration()
    unconfirmedReads.confirmsReads = false
    let unconfirmed = try SqliteCluster(nodes: nodes.map(\.address), configuration: unconfirmedReads)
    var configuration = PoolConfiguration()
    // As safe as a commit of a cluster is on each of its disks.
    configuration.handles.synchronous = .full
    let pool = try SqlitePool(filepath: "\(directory)/pool.sqlite", configuration: configuration)
    try await pool.transaction { db in _ = try db.createTable(Reading.self) }

    var figures: [(name: String, rates: [Double])] = []
    for _ in 0..<rounds {
      var place = 0
      let executors: [(String, any AsyncSqlExecutor)] = [
        ("cluster", cluster), ("cluster without confirmsReads", unconfirmed), ("pool", pool),
      ]
      for (name, executor) in executors {
        for workload in Workload.all where name != executors[1].0 || workload.name.hasPrefix("reads") {
          let rate = try await workload.rate(on: executor)
          if figures.count <= place { figures.append(("\(workload.name), \(name)", [])) }
          figures[place].rates.append(rate)
          place += 1
        }
      }
    }
    for figure in figures {
      let rates = figure.rates.sorted()
      let texts = [rates[rates.count / 2], rates[0], rates[rates.count - 1]].map { "\(Int($0.rounded()))" }
      print("\(figure.name): \(texts[0]) a second (\(texts[1])–\(texts[2]))")
    }
    print("writes that shared a commit: \(cluster.statistics.writes) in \(cluster.statistics.commits)")
    cluster.close()
    unconfirmed.close()
    try await pool.close()
    for node in nodes { await node.kill() }
  }
}

private struct Workload: Sendable {
  let name: String
  let tasks: Int
  let calls: Int
  let rows: Int
  let call: @Sendable (any AsyncSqlExecutor, Int) async throws -> Void

  static let all = [
    Workload(name: "inserts, one task", tasks: 1, calls: 100, rows: 1) { db, number in
      try await Reading(number: number).insert().run(db)
    },
    Workload(name: "inserts, 64 tasks", tasks: 64, calls: 60, rows: 1) { db, number in
      try await Reading(number: number).insert().run(db)
    },
    Workload(name: "rows in batches of 1,000", tasks: 1, calls: 4, rows: 1_000) { db, number in
      try await Reading.insert((0..<1_000).map { Reading(number: number + $0) }).run(db)
    },
    Workload(name: "reads by key, one task", tasks: 1, calls: 3_000, rows: 1) { db, number in
      _ = try await Reading.byId(number % 100 + 1).run(db)
    },
    Workload(name: "reads by key, 16 tasks", tasks: 16, calls: 1_000, rows: 1) { db, number in
      _ = try await Reading.byId(number % 100 + 1).run(db)
    },
  ]

  /// Rows a second.
  func rate(on db: any AsyncSqlExecutor) async throws -> Double {
    let begin = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask { for number in 0..<calls { try await call(db, task * calls + number) } }
      }
      try await group.waitForAll()
    }
    let took = begin.duration(to: .now) / .seconds(1)
    return Double(tasks * calls * rows) / took
  }
}

struct Reading: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey())
  static let number = column("number", Int.self)
  static let tableLayout = [id.column, number.column]
  var id: Int?
  var number: Int

  init(number: Int) { self.number = number }

  init(row: ReadRow) throws {
    id = try row.get(Reading.id)
    number = try row.get(Reading.number)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Reading.id, id)
    row.set(Reading.number, number)
  }
}
