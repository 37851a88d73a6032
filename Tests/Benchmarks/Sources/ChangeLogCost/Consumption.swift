import Foundation
import Sqlable
import SqlableChanges

/// The rate at which consumers read a log of many changes.
struct Consumption {
  let options: Options
  let place: String

  func measure() async throws {
    let pool = try SqlitePool(filepath: place + "/consumption.sqlite")
    let start = try await pool.transaction { db in
      try db.createTable(Item.self)
      try ChangeLog(Item.self).create(db)
      return try db.changePosition()
    }
    // A third each of inserts, updates and deletes.
    let part = max(options.changes / 3, 1)
    try await pool.transaction { db in
      try Item.insert((0..<part).map { Item($0) }).run(db)
      try Item.updateAll(Item.price.set(to: Item.price + 1)).run(db)
      try Item.deleteAll().run(db)
    }
    let count = 3 * part
    for _ in 0..<min(options.rounds, 3) {
      try await report("a batch of a named consumer", count) {
        for try await batch in pool.changes(on: Item.self, as: "rate", startingWith: .log) {
          var delivered = 0
          for try await _ in batch.changes { delivered += 1 }
          try await batch.acknowledge()
          if delivered == count { break }
        }
      }
      try await pool.removeChangeConsumer("rate")
      try await report("changes of a model since a position", count) {
        var delivered = 0
        for try await _ in pool.changes(on: Item.self, since: start) {
          delivered += 1
          if delivered == count { break }
        }
      }
      try await report("changes of all tables since a position", count) {
        var delivered = 0
        for try await _ in pool.changes(since: start) {
          delivered += 1
          if delivered == count { break }
        }
      }
      let consuming = Task { try await pool.consume("once", on: Item.self, startingWith: .log) { _, _ in } }
      try await report("changes in one transaction of consume", count) {
        while try await pool.changeConsumers().first(where: { $0.name == "once" })?.lag != 0 {
          try await Task.sleep(for: .milliseconds(5))
        }
      }
      consuming.cancel()
      _ = try? await consuming.value
      try await pool.removeChangeConsumer("once")
    }
    try await pool.close()
  }

  private func report(_ text: String, _ count: Int, _ body: () async throws -> Void) async throws {
    let (begin, used) = (ContinuousClock.now, processorTime())
    try await body()
    let elapsed = (ContinuousClock.now - begin) / .seconds(1)
    let (rate, processorRate) = (Double(count) / elapsed, Double(count) / (processorTime() - used))
    print("\(count) changes, \(text): \(Int(rate)) changes/s, \(Int(processorRate)) per processor second")
  }
}
