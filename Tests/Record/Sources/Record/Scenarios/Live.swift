import Foundation
import Sqlable

/// A row of which all amounts have the same sum after each transaction.
private struct Purse: SqlCodable, Equatable {
  var id: Int
  var amount: Int
  static let id = column("id", Int.self, PrimaryKey())
  static let amount = column("amount", Int.self)
  static let tableLayout = [id.column, amount.column]
}

extension Scenario {
  /// Random transfers on two pools of one file, and live results of the first pool.
  static let live = Scenario(
    name: "live",
    promise: "A live result shows only committed states, and finally the last committed state, even if another pool "
      + "commits.",
    unit: "transactions", limit: 180, flaws: ["stopsFollowing", "changesAnAmount"],
    run: { round in
      let path = round.directory + "/live.sqlite"
      let configuration = PoolConfiguration(
        handles: Configuration(busyTimeout: 60, synchronous: .off), readers: 2, pollInterval: .milliseconds(10))
      let pools = try (0..<2).map { _ in try SqlitePool(filepath: path, configuration: configuration) }
      try pools[0].transaction { db in
        try db.createTable(Purse.self)
        try Purse.insert((0..<12).map { Purse(id: $0, amount: 100) }).run(db)
      }
      let followed = LiveFollowers(pools[0], round)
      defer { followed.cancel() }
      for step in 1...200 {
        let pool = pools[round.random.chance(30) ? 1 : 0]
        let moves = (0..<Int.random(in: 1...4, using: &round.random)).map { _ in
          (
            from: Int.random(in: 0..<12, using: &round.random), to: Int.random(in: 0..<12, using: &round.random),
            amount: Int.random(in: 1...30, using: &round.random)
          )
        }
        let (isUndone, isPartlyUndone) = (round.random.chance(15), round.random.chance(20))
        do {
          try pool.transaction { db in
            for (index, move) in moves.enumerated() {
              try Purse.update(Purse.amount.set(to: Purse.amount - move.amount)).filter(Purse.id == move.from).run(db)
              if isUndone, index == moves.count - 1 { throw BatchWriter.Undo() }
              try Purse.update(Purse.amount.set(to: Purse.amount + move.amount)).filter(Purse.id == move.to).run(db)
            }
            guard isPartlyUndone else { return }
            try? db.transaction { db in
              try Purse.deleteAll().run(db)
              throw BatchWriter.Undo()
            }
          }
        } catch is BatchWriter.Undo {}
        round.tried()
        if step.isMultiple(of: 20), !followed.areCurrent(pools[0]) {
          return round.report(.wrong, "step \(step): a live result is stale: \(followed.texts)")
        }
      }
      for text in followed.torn { round.report(.invented, text) }
    })
}

/// Live results, each with the text of its latest value.
private final class LiveFollowers: Sendable {
  private let latest = Mutex<[String: String]>([:])
  private let uncommitted = Mutex<[String]>([])
  private let tasks = Mutex<[Task<Void, any Error>]>([])
  private let flaw: String?

  private static let all = Purse.read().orderBy(Purse.id)
  private static let rich = Purse.read().filter(Purse.amount > 100).orderBy(Purse.id)
  private static let one = Purse.byId(3)
  private static let count = Purse.count().filter(Purse.amount < 80)

  init(_ pool: SqlitePool, _ round: Round) {
    flaw = round.flaw
    follow("all", Self.all.updates(in: pool)) { [self] purses in
      var sum = purses.reduce(0) { $0 + $1.amount }
      if flaw == "changesAnAmount" { sum += 1 }
      if purses.count != 12 || sum != 1_200 { uncommitted.withLock { $0.append("\(purses.count) rows, sum \(sum)") } }
    }
    follow("rich", Self.rich.updates(in: pool)) { _ in }
    follow("one", Self.one.updates(in: pool)) { _ in }
    follow("count", Self.count.updates(in: pool)) { _ in }
  }

  private func follow<Value: Sendable>(
    _ name: String, _ updates: LiveQuery<Value>, _ body: @escaping @Sendable (Value) -> Void
  ) {
    let task = Task { [self] in
      for try await value in updates {
        latest.withLock { values in
          if flaw == "stopsFollowing", values[name] != nil { return }
          values[name] = "\(value as Any)"
        }
        body(value)
      }
    }
    tasks.withLock { $0.append(task) }
  }

  var texts: [String: String] { latest.withLock { $0 } }
  var torn: [String] { uncommitted.withLock { $0 } }

  /// Waits until each result is that of a new read; false after half a minute.
  func areCurrent(_ pool: SqlitePool) -> Bool {
    let end = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < end {
      let right = try? pool.read { db in
        [
          "all": "\(try Self.all.run(db))", "rich": "\(try Self.rich.run(db))",
          "one": "\(try Self.one.run(db) as Any)",
          "count": "\(try Self.count.run(db))",
        ]
      }
      if texts == right { return true }
      usleep(1_000)
    }
    return false
  }

  func cancel() { tasks.withLock { tasks in for task in tasks { task.cancel() } } }
}
