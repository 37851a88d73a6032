import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests that clients observe the commits of all clients of a cluster.
@Suite struct ObservingTests {
  @Test func changesOfAllClientsComeInTheirOrder() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      let changes = try await cluster.changes(on: Person.self)
      _ = try await Person.insert((1...5).map { Person(id: nil, name: "\($0)") }).run(other)
      try await Person(id: 2, name: "two").update().run(cluster)
      try await Person.update(Person.id.set(to: 9)).filter(Person.id == 3).run(other)
      try await Person.delete(Person.id == 1).run(other)
      await #expect(throws: CancellationError.self) {
        try await other.transaction { tx in
          try await Person.deleteAll().run(tx)
          throw CancellationError()
        }
      }
      try await Person(id: 20, name: "last").insert().run(cluster)
      var seen: [String] = []
      for await case .row(let row) in changes {
        seen.append("\(row)")
        if row.id == 20 { break }
      }
      #expect(
        seen == (1...5).map { "insert of person \($0)" } + [
          "update of person 2", "update of person 9 (previously 3)", "delete of person 1", "insert of person 20",
        ])
    }
  }

  @Test func observersReceiveTheRowsTheyAskFor() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self, Seat.self)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      let (ids, keys) = (Heard<Int>(), Heard<[DatabaseValue]>())
      let token = try await cluster.observe(.update, on: Person.self, id: 2) { id in ids.add(id) }
      try await cluster.observe(on: Seat.self) { (change: RowChange) in keys.add(change.key) }
      try await Person.insert((1...3).map { Person(id: nil, name: "\($0)") }).run(other)
      try await Person.updateAll(Person.name.set(to: "x")).run(other)
      try await Seat.insert([Seat(row: 3, letter: "it's"), Seat(row: 4, letter: "b, 'c'")]).run(other)
      try await until("all is heard") { keys.all.count == 2 }
      #expect(ids.all == [2])
      #expect(keys.all == [[.integer(3), .text("it's")], [.integer(4), .text("b, 'c'")]])
      cluster.removeObserver(token)
      try await Person.updateAll(Person.name.set(to: "y")).run(other)
      try await Seat(row: 5, letter: "d").insert().run(other)
      try await until("the next is heard") { keys.all.count == 3 }
      #expect(ids.all == [2])
    }
  }

  @Test func keyThatIsNotUTF8IsReportedAsMissed() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Seat.self)
      let changes = try await cluster.changes(on: Seat.self)
      try await cluster.execute("INSERT INTO seat (row, letter) VALUES (3, CAST(x'ff' AS TEXT))")
      var keys: [[DatabaseValue]?] = []
      for await change in changes {
        switch change {
        case .row(let row): keys.append(row.key)
        case .missed:
          keys.append(nil)
          try await Seat(row: 4, letter: "a").insert().run(cluster)
        }
        if keys.last??.first == .integer(4) { break }
      }
      #expect(keys == [nil, [.integer(4), .text("a")]])
    }
  }

  /// For arbitrary writes of two clients, the events are the ordered difference of the table.
  @Test func eventsMatchTheDifferenceOfTheTable() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let changes = try await cluster.changes(on: Person.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<3 {
          group.addTask {
            let own = try SqliteCluster(nodes: nodes.addresses)
            defer { own.close() }
            for _ in 0..<40 {
              let id = Int.random(in: 1...20)
              switch Int.random(in: 0..<4) {
              case 0: try await Person.delete(Person.id == id).run(own)
              case 1: try await Person.update(Person.name.set(to: "\(client)")).filter(Person.id == id).run(own)
              default: try await Person(id: id, name: "\(client)").insert().ignoreOnConflict().run(own)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try await Person(id: 1_000, name: "end").insert().run(cluster)
      var ids: Set<Int> = []
      for await event in changes {
        guard case .row(let row) = event else {
          Issue.record("something was missed")
          break
        }
        switch row.change {
        case .insert: #expect(ids.insert(row.id).inserted)
        case .update: #expect(ids.contains(row.id))
        case .delete: #expect(ids.remove(row.id) != nil)
        }
        if row.id == 1_000 { break }
      }
      #expect(Set(try await Person.read().run(cluster).compactMap(\.id)) == ids)
    }
  }

  @Test func liveResultIsReadAgainWhenItsTableChanges() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self, Bicycle.self)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      var reds = Bicycle.count().filter(Bicycle.color == "red").updates(in: cluster).makeAsyncIterator()
      #expect(try await reds.next() == 0)
      _ = try await Bicycle(name: "a", color: "red").insert().run(other)
      #expect(try await reds.next() == 1)
      // These rows don't change the count, so no result follows.
      _ = try await Bicycle(name: "b", color: "blue").insert().run(other)
      _ = try await Person(id: nil, name: "x").insert().run(other)
      _ = try await Bicycle(name: "c", color: "red").insert().run(other)
      #expect(try await reds.next() == 2)
      let owners = Person.read().orderBy(Person.id).including(Bicycle.read(), by: Bicycle.ownerId)
      var live = owners.updates(in: cluster).makeAsyncIterator()
      #expect(try await live.next()?.map { $0.1.count } == [0])
      _ = try await Bicycle(name: "d", color: "red", ownerId: 1).insert().run(other)
      #expect(try await live.next()?.map { $0.1.count } == [1])
      cluster.close()
      #expect(try await reds.next() == nil)
    }
  }

  @Test func liveResultOfSQLTextIsReadAgainWhenItsTableChanges() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self, Bicycle.self)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      let color = "red"
      let names = SQL("SELECT name FROM bicycle WHERE color = \(color) ORDER BY name").rows(as: String.self)
      var reds = names.updates(in: cluster).makeAsyncIterator()
      #expect(try await reds.next() == [])
      try await Bicycle(name: "a", color: "red").insert().run(other)
      #expect(try await reds.next() == ["a"])
      try await Bicycle(name: "b", color: "blue").insert().run(other)
      try await other.execute("UPDATE bicycle SET color = 'red' WHERE name = 'b'")
      #expect(try await reds.next() == ["a", "b"])
      var writes = SQL("DELETE FROM bicycle RETURNING id").rows(as: Int.self).updates(in: cluster).makeAsyncIterator()
      let error = await failure { _ = try await writes.next() }
      #expect(error?.kind == .invalidStatement("a statement that writes has no live result"))
    }
  }

  @Test func unobservableTablesAreRefused() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      var writes = Person.deleteAll().updates(in: cluster).makeAsyncIterator()
      let error = await failure { _ = try await writes.next() }
      #expect(error?.kind == .invalidStatement("a statement that writes has no live result"))
      let none = await failure { _ = try await cluster.changes(on: Bicycle.self) }
      #expect(none?.kind == .schema(.missingTable("bicycle")))
    }
  }

  /// Dropping a table drops its triggers. A new table with the same name is followed again.
  @Test func recreatedTableIsFollowedAgain() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      let changes = try await cluster.changes(on: Person.self)
      try await other.execute("DROP TABLE person")
      try await other.createTables(Person.self)
      var events = changes.makeAsyncIterator()
      #expect(await events.next() == .missed)
      var event: ChangeEvent<RowChange>?
      try await until("the new table is followed") {
        let count = try await other.query(
          "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'person'", as: Int.self)
        return count == [3]
      }
      _ = try await Person(id: 7, name: "x").insert().run(other)
      repeat { event = await events.next() } while event == .missed
      if case .row(let row)? = event { #expect(row.id == 7) } else { Issue.record("\(String(describing: event))") }
    }
  }

  /// The other table's rows arrive once, regardless of the dropped table.
  @Test func aTableThatIsDroppedDisturbsNoOther() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self, Mark.self)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      let changes = try await cluster.changes(on: Person.self)
      let marks = try await cluster.changes(on: Mark.self)
      try await Person(id: 1, name: "a").insert().run(other)
      var events = changes.makeAsyncIterator()
      var seen: [Int] = []
      while seen.isEmpty, let event = await events.next() {
        if case .row(let row) = event { seen.append(row.id) }
      }
      try await other.execute("DROP TABLE mark")
      try await Task.sleep(for: .milliseconds(300))
      try await Person(id: 2, name: "b").insert().run(other)
      while seen.count == 1, let event = await events.next() {
        if case .row(let row) = event { seen.append(row.id) }
      }
      #expect(seen == [1, 2])
      withExtendedLifetime(marks) {}
    }
  }

  /// The numbers restart at 1, below the client's position.
  @Test func recreatedChangeTableIsReadFromItsStart() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let changes = try await cluster.changes(on: Person.self)
      try await Person.insert((1...5).map { Person(id: $0, name: "x") }).run(cluster)
      var events = changes.makeAsyncIterator()
      for id in 1...5 { if case .row(let row)? = await events.next() { #expect(row.id == id) } }
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      // One transaction drops and recreates the table, so the client never sees it missing.
      try await other.transaction { tx in
        let log = try await tx.query(
          "SELECT sql FROM sqlite_schema WHERE name = 'sqlable_change' OR name LIKE 'sqlable_change_%'", as: String.self
        )
        try await tx.execute("DROP TABLE sqlable_change")
        try await tx.execute(SQL(verbatim: log[0]))
      }
      // The client sees a schema change with the changes of the next commit, or at once.
      var event: ChangeEvent<RowChange>?
      try await Person(id: 7, name: "x").insert().run(other)
      repeat { event = await events.next() } while event == .missed
      if case .row(let row)? = event { #expect(row.id == 7) } else { Issue.record("\(String(describing: event))") }
    }
  }

  @Test func changesTrimmedBeforeTheClientReadThemAreReported() async throws {
    try await withClient { _, nodes in
      var configuration = ClusterConfiguration()
      configuration.pollInterval = .seconds(60)
      let slow = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { slow.close() }
      try await slow.createTables(Person.self)
      let changes = try await slow.changes(on: Person.self)
      // The client reads the change table immediately.
      try await Task.sleep(for: .milliseconds(300))
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      try await Person.insert((1...5).map { Person(id: $0, name: "x") }).run(other)
      try await other.execute("DELETE FROM sqlable_change WHERE number <= 3")
      // A client reads immediately after its own commit.
      try await Person(id: 6, name: "y").insert().run(slow)
      var events = changes.makeAsyncIterator()
      #expect(await events.next() == .missed)
    }
  }

  @Test func changeTableKeepsAboutAHundredThousandChanges() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let changes = try await cluster.changes(on: Person.self, buffering: 1_000)
      try await cluster.execute(
        """
        INSERT INTO person (name) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 210000)
        SELECT i FROM n
        """)
      try await until("the log is trimmed") {
        let count = try await cluster.query("SELECT count(*) FROM sqlable_change", as: Int.self)[0]
        #expect(count >= 100_000)
        return count < 120_000
      }
      withExtendedLifetime(changes) {}
    }
  }

  /// The guide documents this limit.
  @Test func aRowThatReplaceRemovesIsNotReported() async throws {
    try await withClient { cluster, _ in
      try await cluster.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
      let changes = try await cluster.changes(on: Person.self)
      try await cluster.execute("INSERT INTO person VALUES (1, 'a')")
      try await cluster.execute("INSERT OR REPLACE INTO person VALUES (2, 'a')")
      try await cluster.execute("DELETE FROM person")
      var seen: [String] = []
      for await case .row(let row) in changes {
        seen.append("\(row)")
        if seen.count == 3 { break }
      }
      #expect(seen == ["insert of person 1", "insert of person 2", "delete of person 2"])
    }
  }

  /// The order of the key differs from the order of the columns.
  @Test func compositeKeyIsReportedInTheOrderOfTheKey() async throws {
    try await withClient { cluster, _ in
      try await cluster.execute("CREATE TABLE seat (letter TEXT, \"row\" INT, PRIMARY KEY (\"row\", letter))")
      let changes = try await cluster.changes(on: Seat.self)
      try await cluster.execute("INSERT INTO seat VALUES ('C', 3)")
      var events = changes.makeAsyncIterator()
      if case .row(let row)? = await events.next() {
        #expect(row.key == [.integer(3), .text("C")])
        #expect(row.id == 1)
      } else {
        Issue.record("no row")
      }
    }
  }
}

/// The values passed to a closure.
private final class Heard<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var values: [Value] = []

  func add(_ value: Value) { lock.withLock { values.append(value) } }

  var all: [Value] { lock.withLock { values } }
}
