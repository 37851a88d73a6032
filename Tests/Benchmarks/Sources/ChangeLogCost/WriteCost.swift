import Foundation
import Sqlable
import SqlableChanges

/// The cost of writers with and without a log: processor time, and for durable inserts the time until the return.
struct WriteCost {
  let options: Options
  let place: String

  private enum Logged: String, CaseIterable {
    case nothing, rows, two, one, keys
  }

  /// The seconds of one round, and the bytes of the log after the inserts and after the updates.
  private struct Times {
    var batch = 0.0
    var update = 0.0
    var delete = 0.0
    var insertedBytes = 0
    var updatedBytes = 0
  }

  func measure() throws {
    let rows = (0..<options.rows).map { Item($0) }
    var times: [Logged: [Times]] = [:]
    for round in 0..<options.rounds {
      for logged in Logged.allCases {
        times[logged, default: []].append(try run(rows, logged, "\(place)/write-\(round)-\(logged)"))
      }
    }
    for (text, count, time) in [
      ("insert in a batch", options.rows, \Times.batch), ("update of all rows", options.rows, \.update),
      ("delete of all rows", options.rows, \.delete),
    ] {
      let without = times[.nothing, default: []].map { $0[keyPath: time] }
      var parts = ["\(text): \(microseconds(median(without), count)) without a log"]
      for logged in Logged.allCases where logged != .nothing {
        let with = times[logged, default: []].map { $0[keyPath: time] }
        let ratio = median(zip(with, without).map { $0 / $1 })
        parts.append("log of \(logged) \(microseconds(median(with), count)), \(String(format: "%.2f", ratio)) times")
      }
      print(parts.joined(separator: "; "))
    }
    for logged in Logged.allCases where logged != .nothing {
      guard let time = times[logged]?.last else { continue }
      let updated = (time.updatedBytes - time.insertedBytes) / options.rows
      print("log of \(logged): \(time.insertedBytes / options.rows) bytes for an insert, \(updated) for an update")
    }
    try measureDurable()
  }

  /// Inserts single rows into several databases in turn, because the time of a sync depends most on other processes.
  private func measureDurable() throws {
    let all = Logged.allCases
    let databases = try all.map { logged in
      let path = "\(place)/durable-\(logged)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      _ = try database(logged, path)
      return try SqliteDatabase(filepath: path + "/write.sqlite", configuration: .init(synchronous: .full))
    }
    var times = all.map { _ in [Double]() }
    for number in 0..<options.rounds * options.commits {
      for turn in all.indices {
        let index = (number + turn) % all.count
        times[index].append(try seconds { try Item(number).insert().run(databases[index]) })
      }
    }
    let medians = times.map(median)
    let parts = zip(all, medians).map { logged, time in
      "\(logged) \(microseconds(time, 1)), \(String(format: "%.2f", time / medians[0])) times"
    }
    print("durable insert, with a log of: \(parts.joined(separator: "; "))")
  }

  private func microseconds(_ seconds: Double, _ count: Int) -> String {
    String(format: "%.2f µs", seconds / Double(count) * 1e6)
  }

  /// Writes once, as `insert-rows` or `update-keys` says.
  func write(_ only: String) throws {
    let parts = only.split(separator: "-").map(String.init)
    guard parts.count == 2, ["insert", "update"].contains(parts[0]), let logged = Logged(rawValue: parts[1]) else {
      return print(Program.usage)
    }
    let db = try database(logged, place)
    try Item.insert((0..<options.rows).map { Item($0) }).run(db)
    if parts[0] == "update" { try Item.updateAll(Item.price.set(to: Item.price + 1)).run(db) }
  }

  private func database(_ logged: Logged, _ path: String) throws -> SqliteDatabase {
    let db = try SqliteDatabase(filepath: path + "/write.sqlite")
    try db.createTable(Item.self)
    switch logged {
    case .nothing: break
    case .rows: try ChangeLog(Item.self).create(db)
    case .two: try ChangeLog(Item.self, keeping: .columns(Item.name, Item.price)).create(db)
    case .one: try ChangeLog(Item.self, keeping: .columns(Item.name)).create(db)
    case .keys: try ChangeLog(Item.self, keeping: .keys).create(db)
    }
    return db
  }

  private func run(_ rows: [Item], _ logged: Logged, _ path: String) throws -> Times {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let db = try database(logged, path)
    var times = Times()
    times.batch = try processorSeconds { try Item.insert(rows).run(db) }
    times.insertedBytes = try logBytes(db)
    times.update = try processorSeconds { try Item.updateAll(Item.price.set(to: Item.price + 1)).run(db) }
    times.updatedBytes = try logBytes(db)
    times.delete = try processorSeconds { try Item.deleteAll().run(db) }
    return times
  }

  private func logBytes(_ db: SqliteDatabase) throws -> Int {
    try db.query("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = 'sqlable_changes'", as: Int.self)[0]
  }
}
