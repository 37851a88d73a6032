import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The examples of `Docs/ChangeLog.md`.
@Suite struct ChangeLogGuide {
  private final class Index: Sendable {
    private let bikes = LockedValue<[String: Bicycle]>([:])

    var names: [String] { bikes.withLock { $0.keys.sorted() } }

    func removeAll() { bikes.withLock { $0 = [:] } }
    func add(_ bike: Bicycle) { bikes.withLock { $0[bike.name] = bike } }
    func remove(_ bike: Bicycle) { bikes.withLock { $0[bike.name] = nil } }

    func replace(_ old: Bicycle, with new: Bicycle) {
      remove(old)
      add(new)
    }
  }

  private func createLog(_ db: SqliteDatabase) throws {
    try db.transaction { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Person.self, Bicycle.self).create(db)
    }
  }

  private func follow(_ pool: SqlitePool, _ index: Index) async throws {
    for try await batch in pool.changes(on: Bicycle.self, as: "search-index") {
      if batch.isSnapshot { index.removeAll() }
      for try await change in batch.changes {
        switch change.row {
        case .insert(let bike): index.add(bike)
        case .update(let old, let new): index.replace(old, with: new)
        case .delete(let bike): index.remove(bike)
        }
      }
      try await batch.acknowledge()
    }
  }

  @Test func anIndexFollowsTheTable() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in try createLog(db) }
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      let index = Index()
      let task = Task { try await follow(pool, index) }
      try await until { index.names == ["Rover"] }
      try await Bicycle(name: "Dahon", color: "red").insert().run(pool)
      try await until { index.names == ["Dahon", "Rover"] }
      try await Bicycle.delete(Bicycle.name == "Rover").run(pool)
      try await until { index.names == ["Dahon"] }
      try await Bicycle.updateAll(Bicycle.name.set(to: "Brompton")).run(pool)
      try await until { index.names == ["Brompton"] }
      // An acknowledgement after the close would throw.
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.lag) == 0 }
      try await pool.close()
      try await task.value
    }
  }

  @Test func logsOfKeys() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self, keeping: .keys).create(db)
      try ChangeLog(Bicycle.self).drop(db)
      #expect(try !db.tableExists("sqlable_changes"))
    }
  }

  struct BicycleLabel: SqlCodable, Sendable {
    let id: Int
    let name: String
    let color: String

    static let tableName = "bicycle"
    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self)
    static let color = column("color", String.self)
    static let tableLayout = [id.column, name.column, color.column]
  }

  @Test func chosenColumns() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      let position = try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
        try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.name, Bicycle.color)).create(db)
        return try db.changePosition()
      }
      let labels = Collected<String>()
      @Sendable func relabel(_ old: BicycleLabel, _ new: BicycleLabel) async throws {
        labels.append("\(old.name) → \(new.name), \(new.color)")
      }
      let task = Task {
        for try await change in pool.changes(on: BicycleLabel.self, since: position) {
          if case .update(let old, let new) = change.row { try await relabel(old, new) }
        }
      }
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      try await Bicycle.updateAll(Bicycle.name.set(to: "Dahon")).run(pool)
      try await until { labels.values == ["Rover → Dahon, red"] }
      try await pool.close()
      try await task.value
    }
  }

  @Test func changesSinceAPosition() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in try createLog(db) }
      let sent = Collected<String>()
      @Sendable func send(_ row: LoggedRow<Bicycle>, id: String) async throws { sent.append(id) }
      @Sendable func sendChanges() async throws {
        let position = try await pool.changePosition()
        try await Bicycle(name: "Rover", color: "red").insert().run(pool)
        for try await change in pool.changes(on: Bicycle.self, since: position) {
          try await send(change.row, id: change.position.description)
        }
      }
      @Sendable func printChanges(_ position: ChangePosition) async throws {
        for try await change in pool.changes(since: position) {
          if let row = change.new ?? change.old { print(change.table, change.change, row) }
        }
      }
      func list() async throws -> ChangePosition {
        let (bikes, position) = try await pool.read { db in (try Bicycle.read().run(db), try db.changePosition()) }
        #expect(bikes.count == 1)
        return position
      }
      let task = Task { try await sendChanges() }
      try await until { sent.values.count == 1 }
      let position = try await list()
      #expect(position.description == sent.values.first)
      let other = Task { try await printChanges(position) }
      try await pool.close()
      try await task.value
      try await other.value
    }
  }

  @Test func aHandleReadsPages() throws {
    try withDatabase { db in
      try createLog(db)
      let position = try db.changePosition()
      try Bicycle.insert((0..<1_500).map { Bicycle(name: "\($0)", color: "red") }).run(db)
      var names: [String] = []
      func export(_ row: LoggedRow<Bicycle>) throws {
        if case .insert(let bike) = row { names.append(bike.name) }
      }
      #expect(try db.changes(on: Bicycle.self, since: position).changes.count == 1_000)
      var (changes, next) = try db.changes(on: Bicycle.self, since: position)
      while !changes.isEmpty {
        for change in changes { try export(change.row) }
        (changes, next) = try db.changes(on: Bicycle.self, since: next)
      }
      #expect(names == (0..<1_500).map { "\($0)" })
      #expect(try next == db.changePosition())
    }
  }

  @Test(.needsPreupdateHook, .disabled(if: isInMemory)) func rowsThatAnotherPoolChanges() async throws {
    try await withDirectoryAsync { directory in
      let (pool, other) = (try newPool(in: directory), try newPool(in: directory))
      try await pool.transaction { db in try createLog(db) }
      let lines = Collected<String>()
      @Sendable func print(_ change: Change, _ id: Int, _ color: String) {
        lines.append("\(change) \(id) \(color)")
      }
      let changes = pool.modelChanges(on: Bicycle.self)
      let task = Task {
        for await case .row(let bike) in changes {
          print(bike.change, bike.id, try bike.new()?.color ?? "")
        }
      }
      try await Bicycle(name: "Rover", color: "red").insert().run(other)
      try await Bicycle.deleteAll().run(other)
      try await until { lines.values == ["insert 1 red", "delete 1 "] }
      try await other.close()
      try await pool.close()
      try await task.value
    }
  }

  @Test func aTotalCountsEachBikeOnce() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        try createLog(db)
        try db.execute("CREATE TABLE total (bikes INTEGER)")
        try db.execute("INSERT INTO total VALUES (0)")
      }
      @Sendable func count() async throws {
        try await pool.consume("totals", on: Bicycle.self) { db, change in
          guard case .insert = change.row else { return }
          try db.execute("UPDATE total SET bikes = bikes + 1")
        }
      }
      let task = Task { try await count() }
      for number in 1...10 { try await Bicycle(name: "\(number)", color: "red").insert().run(pool) }
      try await until { (try? pool.query("SELECT bikes FROM total", as: Int.self)) == [10] }
      pool.monitorChangeConsumers()
      for consumer in try await pool.changeConsumers() {
        print(consumer.name, consumer.lag, consumer.delay, consumer.isOwned, consumer.quarantined, consumer.error ?? "")
      }
      try await ChangeLog.trim(pool, keeping: .unacknowledged, .age(.seconds(86_400)))
      try await ChangeLog.trim(pool, keeping: .count(1_000_000))
      try await ChangeLog.trim(pool, keeping: .bytes(500_000_000))
      #expect(try await pool.changeConsumers().map(\.name) == ["totals"])
      try await pool.close()
      try await task.value
    }
  }

  @Test func aWebhookIsTriedAgain() async throws {
    struct Unreachable: Error {}
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in try createLog(db) }
      let (posted, isReachable) = (Collected<String>(), LockedValue(false))
      @Sendable func post(_ row: LoggedRow<Bicycle>, id: String) async throws {
        guard isReachable.withLock({ $0 }) else { throw Unreachable() }
        posted.append(id)
      }
      @Sendable func deliver() async throws {
        let retries = ChangeRetries(attempts: 8, pause: .seconds(1), longestPause: .seconds(60), then: .quarantine)
        try await pool.deliver("webhook", on: Bicycle.self, startingWith: .now, retries: retries) { change in
          try await post(change.row, id: change.position.description)
        }
      }
      let task = Task { try await deliver() }
      try await until { (try? pool.query("SELECT isNew FROM sqlable_change_consumers", as: Int.self)) == [0] }
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      // On a busy machine, this task can be later than the second attempt.
      try await until { (try? pool.query("SELECT attempts > 0 FROM sqlable_change_quarantine", as: Int.self)) == [1] }
      isReachable.withLock { $0 = true }
      try await until { posted.values.count == 1 }
      try await pool.close()
      try await task.value
    }
  }

  @Test func quarantinedChangesAreRetriedOrDropped() async throws {
    struct Unreachable: Error {}
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in try createLog(db) }
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      let retries = ChangeRetries(attempts: 1, then: .quarantine)
      let task = Task {
        try await pool.deliver("webhook", on: Bicycle.self, startingWith: .log, retries: retries) { _ in
          throw Unreachable()
        }
      }
      func quarantine(has count: Int) -> Bool {
        let consumers: [ChangeConsumer]? = try? pool.read { db in try db.changeConsumers() }
        return consumers?.first?.quarantined == count && consumers?.first?.lag == 0
      }
      try await until { quarantine(has: 1) }
      let posted = Collected<String>()
      @Sendable func post(_ row: LoggedRow<Bicycle>, id: String) async throws { posted.append(id) }
      @Sendable func retry(every pause: Duration) async throws {
        while pool.isOpen {
          do {
            try await pool.retryQuarantinedChanges(of: "webhook", on: Bicycle.self) { change in
              try await post(change.row, id: change.position.description)
            }
          } catch { print("quarantine: \(error)") }
          try await Task.sleep(for: pause)
        }
      }
      for failed in try await pool.quarantinedChanges(of: "webhook") {
        print(failed.change.position, failed.attempts, failed.error, failed.failedAt)
      }
      let retrying = Task { try await retry(every: .milliseconds(1)) }
      try await until { quarantine(has: 0) }
      retrying.cancel()
      await #expect(throws: CancellationError.self) { try await retrying.value }
      #expect(posted.values.count == 1)
      try await Bicycle(name: "Dahon", color: "red").insert().run(pool)
      try await until { quarantine(has: 1) }
      try await pool.dropQuarantinedChanges(of: "webhook")
      #expect(quarantine(has: 0))
      try await pool.close()
      try await task.value
    }
  }

  @Test func aConsumerWithoutAModel() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in try createLog(db) }
      let task = Task {
        for try await batch in pool.changes(as: "audit") {
          for try await change in batch.changes {
            print(change.table, change.change, change.old ?? "–", change.new ?? "–")
          }
        }
      }
      try await Bicycle(name: "Rover", color: "red").insert().run(pool)
      try await until { (try? pool.read { try $0.changeConsumers() }.first?.lag) == 0 }
      task.cancel()
      _ = try? await task.value
      try await pool.close()
    }
  }

  @Test func plansKeepTheLog() throws {
    try withDatabase { db in
      try createLog(db)
      try db.transaction { db in
        try db.execute("ALTER TABLE bicycle RENAME COLUMN color TO colour")
        try ChangeLog(Bicycle.self).create(db)
      }
      try db.execute("INSERT INTO bicycle (name, colour) VALUES ('Rover', 'red')")
      let plan = try Schema(Person.self, Bicycle.self).plan(db, renamed: ["colour": "color"])
      print(plan)
      try plan.apply(db)
      let change = try LogReader().page(after: nil, in: db).changes[0]
      #expect(try change.new?.get("color", as: String.self) == "red")
      try db.transaction { db in
        try db.execute("ALTER TABLE bicycle ADD COLUMN gears INTEGER")
        try ChangeLog(Bicycle.self).create(db)
      }
      try db.execute("UPDATE bicycle SET gears = 3")
      #expect(try LogReader().page(after: nil, in: db).changes[1].new?.get("gears", as: Int.self) == 3)
      let dropGears = Migration("drop gears") { db in
        try AlterStatement.dropColumn("gears", ofTable: "bicycle").run(db)
      }
      try Migrations([dropGears]).apply(db)
      try db.execute("DELETE FROM bicycle")
      #expect(try LogReader().page(after: nil, in: db).changes[2].old?.columns.contains("gears") == false)
    }
  }

  @Test func otherProgramsReadTheLog() throws {
    try withDatabase { db in
      try createLog(db)
      try Person(id: nil, name: "Ada").insert().run(db)
      let sql: SQL = """
        SELECT t."name", c.* FROM "sqlable_changes" AS c JOIN "sqlable_change_tables" AS t ON t."id" = c."table"
        """
      let rows = try db.query(sql, as: DynamicRow.self)
      #expect(rows.map { $0.values[0] } == ["person"])
      #expect(try rows[0].get("v1", as: String.self) == "Ada")
    }
  }
}
