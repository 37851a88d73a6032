import Foundation
import Sqlable
import SqlableChanges
import SqlableCluster
import Testing

/// The examples of Docs/Cluster.md.
@Suite struct ClusterGuide {
  /// Placeholder addresses: this code is compiled but not run.
  private func begin() async throws -> (Int, [Bicycle]) {
    let cluster = try SqliteCluster(nodes: ["10.0.0.1:9000", "10.0.0.2:9000", "10.0.0.3:9000"])
    try await cluster.createTables(Person.self, Bicycle.self)
    let id = try await Bicycle(name: "Trek", color: "red").insert().run(cluster)
    let reds = try await Bicycle.read().filter(Bicycle.color == "red").run(cluster)
    return (id, reds)
  }

  @Test func transactionsCommitAllOrNothing() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      try await Person.insert([Person(id: nil, name: "Ann"), Person(id: nil, name: "Bob")]).run(cluster)
      try await Bicycle(id: 7, name: "Trek", color: "red").insert().run(cluster)
      try await cluster.transaction { tx in
        guard var bike = try await Bicycle.byId(7).run(tx) else { return }
        bike.ownerId = 2
        try await bike.update().run(tx)
      }
      let (bikes, people) = try await cluster.read { tx in
        (try await Bicycle.count().run(tx), try await Person.count().run(tx))  // one snapshot
      }
      #expect(bikes == 1)
      #expect(people == 2)
      #expect(try await Bicycle.byId(7).run(cluster)?.ownerId == 2)
      let payment = UUID()
      let receipt = try await cluster.transaction(id: payment) { tx in
        try await Bicycle(name: "Giant", color: "blue").insert().run(tx)
      }
      #expect(receipt == 8)
      let bicycle = try await cluster.run(Bicycle(name: "Scott", color: "red").insert(), id: UUID())
      #expect(bicycle == 9)
    }
  }

  @Test func migrationsRunOnTheCluster() async throws {
    try await withClient { cluster, _ in
      let migrations = Migrations([
        Migration(
          "bicycles",
          sql: "CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, colour TEXT NOT NULL)"),
        Migration("color", sql: "ALTER TABLE bicycle RENAME COLUMN colour TO color"),
        Migration(onCluster: "lower case") { tx in
          try await tx.execute("UPDATE bicycle SET color = lower(color)")
        },
      ])
      try await migrations.apply(cluster)
      #expect(try await migrations.status(cluster) == .current)
      let backfill = Migration(
        onCluster: "upper case",
        batches: { tx, last in
          let ids = try await tx.query(
            "SELECT id FROM bicycle WHERE id > \(last ?? 0) ORDER BY id LIMIT 1000", as: Int.self)
          guard let end = ids.last else { return nil }
          try await tx.execute("UPDATE bicycle SET color = upper(color) WHERE id > \(last ?? 0) AND id <= \(end)")
          return end
        })
      try await cluster.execute("INSERT INTO bicycle (name, color) VALUES ('Trek', 'red')")
      try await Migrations(migrations.all + [backfill]).apply(cluster)
      #expect(try await cluster.query("SELECT color FROM bicycle", as: String.self) == ["RED"])
    }
  }

  private struct Unavailable: Error {
    let problems: [SqliteCluster.Health.Problem]
  }

  @Test func healthProbeFailsOnceTheClientIsClosed() async throws {
    try await withClient { cluster, _ in
      cluster.trace(.slow(.milliseconds(200))) { event in print(event) }
      func probe() async throws {
        let health: SqliteCluster.Health = await cluster.health(within: .milliseconds(500))
        guard health.isServing else { throw Unavailable(problems: health.problems) }
      }
      try await until("the cluster serves") { (try? await probe()) != nil }
      cluster.close()
      await #expect(throws: Unavailable.self) { try await probe() }
    }
  }

  /// A placeholder directory: this code is compiled but not run.
  private func backups(_ cluster: SqliteCluster) async throws {
    try await cluster.backup(to: "/backups/bikes.sqlite")
    try await cluster.restore(from: "/backups/bikes.sqlite", timeLimit: .seconds(600))
  }

  @Test func clusterStreamsRowsOneAtATime() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      try await Bicycle.insert([Bicycle(name: "Trek", color: "red"), Bicycle(name: "Scott", color: "red")]).run(cluster)
      var exported: [String] = []
      func export(_ bike: Bicycle) async throws { exported.append(bike.name) }
      try await Bicycle.read().filter(Bicycle.color == "red").forEach(cluster) { bike in
        try await export(bike)
        return bike.id == 100 ? .stop : .continue
      }
      #expect(exported.sorted() == ["Scott", "Trek"])
    }
  }

  /// The code of a program that follows changes until it exits.
  private func follow(_ cluster: SqliteCluster) async throws {
    let changes = try await cluster.changes(on: Bicycle.self, .update)
    let token = try await cluster.observe(on: Bicycle.self, id: 7) { id in print("changed:", id) }
    for try await count in Bicycle.count().filter(Bicycle.color == "red").updates(in: cluster) { print(count) }
    cluster.removeObserver(token)
    withExtendedLifetime(changes) {}
  }

  @Test func clientReceivesChangesAndLiveResults() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      let changes = try await cluster.changes(on: Bicycle.self, .update)
      let token = try await cluster.observe(on: Bicycle.self, id: 7) { id in print("changed:", id) }
      let live = Task {
        for try await count in Bicycle.count().filter(Bicycle.color == "red").updates(in: cluster) { print(count) }
      }
      try await Bicycle(id: 7, name: "Trek", color: "red").insert().run(cluster)
      try await Bicycle.update(Bicycle.color.set(to: "blue")).filter(Bicycle.id == 7).run(cluster)
      var events = changes.makeAsyncIterator()
      if case .row(let row)? = await events.next() {
        #expect(row.id == 7)
        #expect(row.change == .update)
      }
      cluster.removeObserver(token)
      live.cancel()
      _ = await live.result
    }
  }

  /// An index outside the database.
  private actor Index {
    private(set) var names: [String] = []

    func clear() { names = [] }

    func apply(_ row: LoggedRow<Bicycle>) throws {
      if case .insert(let bike) = row { names.append(bike.name) }
    }
  }

  /// The code of programs that follow the log until they exit.
  private func follow(_ cluster: SqliteCluster, _ position: ChangePosition, _ index: Index) async throws {
    for try await change in cluster.changes(on: Bicycle.self, since: position) { try await index.apply(change.row) }
  }

  private func keep(_ index: Index, _ cluster: SqliteCluster) async throws {
    for try await batch in cluster.changes(on: Bicycle.self, as: "search-index") {
      if batch.isSnapshot { await index.clear() }
      for try await change in batch.changes { try await index.apply(change.row) }
      try await batch.acknowledge()
    }
  }

  private func consume(_ cluster: SqliteCluster) async throws {
    try await cluster.consume("totals", on: Bicycle.self, startingWith: .log) { tx, change in
      if case .insert(let bike) = change.row {
        try await tx.execute("UPDATE total SET count = count + 1 WHERE color = \(bike.color)")
      }
    }
  }

  @Test func changeLogIsFollowed() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      try await ChangeLog(Person.self, Bicycle.self).create(cluster)
      try await cluster.execute("CREATE TABLE total (color TEXT, count INTEGER)")
      try await cluster.execute("INSERT INTO total VALUES ('red', 0)")
      let position = try await cluster.changePosition()
      let (followed, kept) = (Index(), Index())
      let loops = [
        Task { try await follow(cluster, position, followed) }, Task { try await keep(kept, cluster) },
        Task { try await consume(cluster) },
      ]
      try await Bicycle.insert([Bicycle(name: "Trek", color: "red"), Bicycle(name: "Scott", color: "red")]).run(cluster)
      try await until("all loops have the rows", within: .seconds(300)) {
        let counts = try await cluster.query("SELECT count FROM total", as: Int.self)
        let names = [await followed.names, await kept.names]
        return names == [["Trek", "Scott"], ["Trek", "Scott"]] && counts == [2]
      }
      for loop in loops { loop.cancel() }
      for loop in loops { _ = await loop.result }
    }
  }
}
