import Foundation
import Sqlable

extension Scenario {
  /// Writes of many tasks on one pool, of which some are cancelled and some miss a deadline.
  static let cancellation = Scenario(
    name: "cancellation",
    promise: "A write that is cancelled or misses its deadline throws and stores nothing, or returns and is stored.",
    unit: "writes", limit: 180, flaws: ["ignoresErrors"],
    run: { round in
      let path = round.directory + "/cancelled.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 60))
      try db.createTable(Member.self)
      let deadline: Duration? = round.random.pick([nil, .milliseconds(2), .milliseconds(20)])
      let pool = try SqlitePool(
        filepath: path,
        configuration: PoolConfiguration(
          handles: Configuration(busyTimeout: 60, synchronous: .off), readers: 1, deadline: deadline,
          pollInterval: nil))
      let results = Mutex((stored: Set<Int>(), refused: [Int: String]()))
      let ignoresErrors = round.flaw == "ignoresErrors"
      let plans = (0..<12).map { _ in SeededGenerator(seed: round.random.next()) }
      try waiting {
        await withTaskGroup(of: Void.self) { group in
          for (index, plan) in plans.enumerated() {
            group.addTask {
              var random = plan
              for number in 0..<25 {
                let id = index * 1_000 + number
                let rows = Int.random(in: 1...60, using: &random)
                let delay = Int.random(in: 0...3_000, using: &random)
                let write = Task {
                  try await pool.transaction { db in
                    for row in 0..<rows { try Member(id: id * 100 + row, name: "\(rows)").insert().run(db) }
                  }
                }
                if random.chance(60) {
                  try? await Task.sleep(for: .microseconds(delay))
                  write.cancel()
                }
                switch await write.result {
                case .success: results.withLock { _ = $0.stored.insert(id) }
                case .failure(let error):
                  results.withLock {
                    if ignoresErrors { $0.stored.insert(id) } else { $0.refused[id] = "\(error)" }
                  }
                }
              }
            }
          }
        }
      }
      try pool.close()
      round.tried(plans.count * 25)
      let (stored, refused) = results.withLock { $0 }
      round.log("\(stored.count) stored, \(refused.count) refused, deadline \(deadline.map { "\($0)" } ?? "none")")
      let writes = Dictionary(grouping: try Member.read().run(db)) { $0.id / 100 }
      for id in stored where writes[id] == nil { round.report(.lost, "write \(id) returned, and is missing") }
      for (id, rows) in writes {
        if let error = refused[id] { round.report(.invented, "write \(id) threw \(error), and is stored") }
        if rows.contains(where: { $0.name != "\(rows.count)" }) { round.report(.wrong, "write \(id) is incomplete") }
      }
      try db.close()
    })
}
