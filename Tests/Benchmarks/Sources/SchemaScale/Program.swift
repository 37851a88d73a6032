import Foundation
import Sqlable

/// Measures changes of a large table against the `sqlite3` shell, and the check of many tables.
///
/// Each round works on new copies of one file, the library first and the shell first in turn; what is printed are
/// medians, and the highest resident memory of this process so far.
@main struct Program {
  static let usage = "SchemaScale [--rows 10000000] [--rounds 3] [--directory DIRECTORY]"

  static func main() throws {
    var (rows, rounds, directory) = (10_000_000, 3, NSTemporaryDirectory())
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch (argument, arguments.popFirst()) {
      case ("--rows", let value?): rows = Int(value) ?? rows
      case ("--rounds", let value?): rounds = max(1, Int(value) ?? rounds)
      case ("--directory", let value?): directory = value
      default:
        print(usage)
        return
      }
    }
    let place = directory + "/sqlable-scale-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    try measureVerify(place)
    try measureChanges(place, rows: rows, rounds: rounds)
  }

  // MARK: Changes

  static func measureChanges(_ place: String, rows: Int, rounds: Int) throws {
    let source = place + "/source.sqlite"
    let db = try SqliteDatabase(filepath: source)
    try db.createTable(Before.self)
    try db.execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO item (id, name, price) SELECT i, 'item ' || i, i * 0.5 FROM n
      """)
    try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try db.close()
    print("\(rows) rows, medians of \(rounds)")
    for change in Change.all {
      var times: (own: [Double], shell: [Double]) = ([], [])
      for round in 0..<rounds {
        for isOwn in round.isMultiple(of: 2) ? [true, false] : [false, true] {
          let path = place + "/copy.sqlite"
          for end in ["", "-wal", "-shm"] { unlink(path + end) }
          try FileManager.default.copyItem(atPath: source, toPath: path)
          sync()
          let start = ContinuousClock.now
          if isOwn { try apply(change.schema, path) } else { try shell(path, change.sql) }
          let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1_000
          if isOwn { times.own.append(seconds) } else { times.shell.append(seconds) }
        }
      }
      let (own, shell) = (median(times.own), median(times.shell))
      let line = "\(change.name): \(seconds(own)) s, the shell \(seconds(shell)) s, ratio \(seconds(own / shell))"
      print("\(line); highest resident memory \(residentPeak()) MB")
    }
  }

  static func apply(_ schema: Schema, _ path: String) throws {
    let db = try SqliteDatabase(filepath: path)
    try schema.plan(db).apply(db)
    try db.close()
  }

  static func shell(_ path: String, _ sql: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sqlite3", "-bail", path, sql]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { fatalError("the shell failed") }
  }

  // MARK: Verify

  static func measureVerify(_ place: String) throws {
    let db = try SqliteDatabase(filepath: place + "/many.sqlite")
    var schema = Schema()
    for number in 1...200 { schema = schema.adding(After.self, named: "table_\(number)") }
    try db.createTables(of: schema)
    var times: [Double] = []
    for _ in 0..<51 {
      let start = ContinuousClock.now
      try schema.verify(db)
      times.append(Double((ContinuousClock.now - start) / .microseconds(1)))
    }
    print("verify of 200 tables: \(seconds(median(times) / 1_000)) ms, median of 51")
    try db.close()
  }

  // MARK: Figures

  static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  static func seconds(_ value: Double) -> String { String(format: "%.2f", value) }

  static func residentPeak() -> String {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    let kilobytes = line.split(separator: " ").compactMap { Double($0) }.first ?? 0
    return String(format: "%.1f", kilobytes / 1_024)
  }
}
