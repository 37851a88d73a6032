import Foundation
import Sqlable
import SqlableChanges
import SqlableCluster
import Testing

/// Tests of loops over the change log of a cluster.
@Suite struct ClusterLogReadingTests {
  /// Calls `body` with a client of a cluster that logs persons, and the position before the first change.
  private func withLog(
    pollInterval: Duration = .milliseconds(50), isolated: Bool = false,
    _ body: (SqliteCluster, TestCluster, ChangePosition) async throws -> Void
  ) async throws {
    try await withCluster(3, isolated: isolated) { nodes in
      var configuration = ClusterConfiguration()
      configuration.pollInterval = pollInterval
      configuration.timeout = .seconds(300)
      let cluster = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { cluster.close() }
      try await cluster.createTables(Person.self, Bicycle.self)
      try await ChangeLog(Person.self, Bicycle.self).create(cluster)
      try await body(cluster, nodes, try await cluster.changePosition())
    }
  }

  @Test func loopHasTheChangesOfAllClientsAsStructs() async throws {
    try await withLog { cluster, nodes, start in
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      try await Person(id: 1, name: "Ada").insert().run(other)
      _ = try await Bicycle(name: "a", color: "red").insert().run(cluster)
      let later = Task {
        try await until("the loop waits") { cluster.statistics.commits > 0 }
        try await Person(id: 1, name: "Bob").update().run(other)
        try await Person.deleteAll().run(cluster)
      }
      var rows: [LoggedRow<Person>] = []
      for try await change in cluster.changes(on: Person.self, since: start) {
        rows.append(change.row)
        if rows.count == 3 { break }
      }
      try await later.value
      let (ada, bob) = (Person(id: 1, name: "Ada"), Person(id: 1, name: "Bob"))
      #expect(rows == [.insert(ada), .update(old: ada, new: bob), .delete(bob)])
    }
  }

  @Test func ownCommitWakesALoopBeforeThePoll() async throws {
    try await withLog(pollInterval: .seconds(86_400)) { cluster, _, start in
      let (rows, received) = AsyncStream<LoggedRow<Person>>.makeStream()
      let loop = Task {
        for try await change in cluster.changes(on: Person.self, since: start) { received.yield(change.row) }
      }
      var next = rows.makeAsyncIterator()
      for id in 1...3 {
        try await Task.sleep(for: .milliseconds(200))
        try await Person(id: id, name: "x").insert().run(cluster)
        #expect(await next.next() == .insert(Person(id: id, name: "x")))
      }
      loop.cancel()
    }
  }

  @Test func clientPollsTheLogOnlyWhileALoopRuns() async throws {
    try await withLog { cluster, nodes, start in
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      let reads = Locked(0)
      // Only the polls of the log have this alias.
      cluster.trace { event in if event.sql.contains("AS owners") { reads.with { $0 += 1 } } }
      // Loops over changed rows poll another table.
      var changes: [Changes<RowChange>] = []
      for _ in 0..<100 { changes.append(try await cluster.changes(on: Bicycle.self)) }
      for id in 1...2 {
        let loop = Task {
          for try await _ in cluster.changes(on: Person.self, as: "index", startingWith: .now) {}
        }
        try await until("the client polls", within: .seconds(300)) { reads.with { $0 } >= 20 }
        loop.cancel()
        await #expect(throws: CancellationError.self) { try await loop.value }
        try await until("the client is idle", within: .seconds(300)) {
          reads.with { $0 = 0 }
          try await Task.sleep(for: .seconds(1))
          return reads.with { $0 } == 0
        }
        // The next loop polls again.
        let next = Task {
          for try await change in cluster.changes(on: Person.self, since: start) {
            if case .insert(let person) = change.row, person.id == id { break }
          }
        }
        try await until("the next loop polls", within: .seconds(300)) { reads.with { $0 } >= 20 }
        try await Person(id: id, name: "x").insert().run(other)
        try await next.value
      }
      withExtendedLifetime(changes) {}
    }
  }

  @Test func textThatIsNotUTF8StopsNoLoop() async throws {
    try await withLog { cluster, _, start in
      try await cluster.execute("INSERT INTO person VALUES (1, 'Ada'), (2, CAST(x'ff61' AS TEXT)), (3, 'Cleo')")
      let rows: [[DatabaseValue]] = [
        [.integer(1), .text("Ada")], [.integer(2), .blob(Data([0xff, 0x61]))], [.integer(3), .text("Cleo")],
      ]
      var changes: [[DatabaseValue]?] = []
      for try await change in cluster.changes(since: start) {
        changes.append(change.new?.values)
        if changes.count == 3 { break }
      }
      #expect(changes == rows)
      for consumer in [ConsumerStart.rows, .log] {
        var batches = cluster.changes(as: "\(consumer)", startingWith: consumer).makeAsyncIterator()
        let batch = try #require(try await batches.next())
        #expect(try await batch.all().map(\.new?.values) == rows)
      }
      // Other results have the text.
      let texts = try await cluster.query("SELECT name FROM person ORDER BY id", as: StoredText.self)
      #expect(texts.map(\.bytes) == [Array("Ada".utf8), [0xff, 0x61], Array("Cleo".utf8)])
      let strings = await failure { _ = try await cluster.query("SELECT name FROM person", as: String.self) }
      let dynamic = await failure { _ = try await cluster.query("SELECT name FROM person", as: DynamicRow.self) }
      for error in [strings, dynamic] {
        if case .decoding? = error?.kind {} else { Issue.record("\(String(describing: error))") }
      }
      // As on a pool, a loop of structs has the earlier changes.
      var names: [LoggedRow<Person>] = []
      let error = await failure {
        for try await change in cluster.changes(on: Person.self, since: start) { names.append(change.row) }
      }
      #expect(names == [.insert(Person(id: 1, name: "Ada"))])
      guard case .decoding? = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func positionsAreOrderedAndEncoded() async throws {
    try await withLog { cluster, _, start in
      _ = try await Person.insert((1...2_500).map { Person(id: nil, name: "\($0)") }).run(cluster)
      let end = try await cluster.changePosition()
      #expect(start < end)
      #expect(try JSONDecoder().decode([ChangePosition].self, from: JSONEncoder().encode([end])) == [end])
      var positions: [ChangePosition] = []
      for try await change in cluster.changes(since: start) {
        positions.append(change.position)
        if change.position == end { break }
      }
      #expect(positions.count == 2_500)
      #expect(positions == positions.sorted())
      // The snapshot of a read has its position.
      let (count, inside) = try await cluster.read { tx in
        (try await Person.count().run(tx), try await cluster.changePosition())
      }
      #expect((count, inside) == (2_500, end))
    }
  }

  @Test func positionThatARestoreHasUndoneIsRefused() async throws {
    try await withLog { cluster, _, start in
      try await withDirectory { directory in
        try await Person(id: 1, name: "Ada").insert().run(cluster)
        let kept = try await cluster.changePosition()
        try await cluster.backup(to: directory + "/backup.sqlite")
        try await Person(id: 2, name: "Bob").insert().run(cluster)
        let undone = try await cluster.changePosition()
        let waiting = Task { await failure { for try await _ in cluster.changes(since: undone) {} } }
        try await Task.sleep(for: .milliseconds(200))
        try await cluster.restore(from: directory + "/backup.sqlite")
        // A loop that waits at the position notices the restore.
        #expect(await waiting.value?.kind == .changeLog(.otherHistory))
        try await Person(id: 3, name: "Eve").insert().run(cluster)
        let error = await failure { for try await _ in cluster.changes(since: undone) { break } }
        #expect(error?.kind == .changeLog(.otherHistory))
        var next = cluster.changes(on: Person.self, since: kept).makeAsyncIterator()
        #expect(try await next.next()?.row == .insert(Person(id: 3, name: "Eve")))
        // A file has another history.
        let file = try SqliteDatabase(filepath: directory + "/other.sqlite")
        try file.createTables(Person.self)
        try ChangeLog(Person.self).create(file)
        let foreign = try file.changePosition()
        let other = await failure { for try await _ in cluster.changes(since: foreign) { break } }
        #expect(other?.kind == .changeLog(.otherHistory))
        _ = start
      }
    }
  }

  /// Another client's `create` changes only the log's list of columns, and no schema.
  @Test func renamedColumnIsReadByAClientThatKnewTheOldName() async throws {
    try await withLog { cluster, nodes, start in
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      try await cluster.execute("INSERT INTO person (id, name) VALUES (1, 'Ada')")
      try await other.execute("ALTER TABLE person RENAME COLUMN name TO title")
      let stale = await failure { for try await _ in cluster.changes(since: start) { break } }
      if case .schema(.mismatch)? = stale?.kind {} else { Issue.record("\(String(describing: stale))") }
      try await ChangeLog().adding(Person.self, named: "person").create(other)
      for try await change in cluster.changes(since: start) {
        #expect(change.new?.columns == ["id", "title"])
        break
      }
    }
  }

  @Test func loopInATransactionIsRefused() async throws {
    try await withLog { cluster, _, start in
      let error = await failure {
        try await cluster.transaction { _ in for try await _ in cluster.changes(since: start) {} }
      }
      #expect(error?.isMisuse == true)
    }
  }

  /// The names of the log's own columns are names of the model's columns, too.
  @Test func columnsOfAModelCanHaveNamesOfTheLog() async throws {
    try await withLog { cluster, _, _ in
      try await cluster.execute("CREATE TABLE swapped (c1 INTEGER PRIMARY KEY)")
      try await ChangeLog().adding(Mark.self, named: "swapped").create(cluster)
      let start = try await cluster.changePosition()
      try await cluster.execute("INSERT INTO swapped (c1) VALUES (1)")
      try await cluster.execute("ALTER TABLE swapped ADD COLUMN c0 INTEGER")
      try await ChangeLog().adding(Mark.self, named: "swapped").create(cluster)
      try await cluster.execute("INSERT INTO swapped (c1, c0) VALUES (2, 7)")
      var rows: [LoggedRow<Swapped>] = []
      for try await change in cluster.changes(on: Swapped.self, since: start) {
        rows.append(change.row)
        if rows.count == 2 { break }
      }
      #expect(rows == [.insert(Swapped(c1: 1, c0: nil)), .insert(Swapped(c1: 2, c0: 7))])
    }
  }

  @Test func loopEndsWhenTheClientCloses() async throws {
    try await withLog { cluster, _, start in
      let loop = Task {
        for try await change in cluster.changes(since: start) { Issue.record("\(change)") }
      }
      try await Task.sleep(for: .milliseconds(200))
      cluster.close()
      try await loop.value
    }
  }

  @Test func observersDoNotDisturbTheLog() async throws {
    try await withLog { cluster, _, start in
      let observed = try await cluster.changes(on: Person.self)
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      var changes = cluster.changes(on: Person.self, since: start).makeAsyncIterator()
      #expect(try await changes.next()?.row == .insert(Person(id: 1, name: "Ada")))
      var events = observed.makeAsyncIterator()
      if case .row(let row)? = await events.next() { #expect(row.id == 1) } else { Issue.record("no row") }
      let version = try await cluster.query("SELECT schema_version FROM pragma_schema_version", as: Int.self)
      try await ChangeLog(Person.self, Bicycle.self).create(cluster)
      #expect(try await cluster.query("SELECT schema_version FROM pragma_schema_version", as: Int.self) == version)
    }
  }

  /// Every stored row is delivered once, in the order of the log, while leaders are killed.
  @Test func loopMissesNothingWhileLeadersAreKilled() async throws {
    try await withLog { cluster, nodes, start in
      try await follow(cluster, nodes, since: start) {
        let leader = try await nodes.leader()
        await nodes.node(leader).kill()
        try await Task.sleep(for: .milliseconds(500))
        try await nodes.restart(leader)
      }
    }
  }

  @Test(.enabled(if: TestNetwork.isAvailable)) func loopMissesNothingWhileTheLeaderIsCutOff() async throws {
    try await withLog(isolated: true) { cluster, nodes, start in
      try await follow(cluster, nodes, since: start) {
        let leader = try await nodes.leader()
        try nodes.network?.split([leader], from: (1...3).filter { $0 != leader })
        try await Task.sleep(for: .seconds(3))
        try nodes.network?.heal()
      }
    }
  }

  /// Inserts rows and follows the log while `disturb` runs twice.
  private func follow(
    _ cluster: SqliteCluster, _ nodes: TestCluster, since start: ChangePosition, _ disturb: () async throws -> Void
  ) async throws {
    let writer = Task {
      var (id, stored) = (0, Set<Int>())
      while !Task.isCancelled {
        id += 1
        do {
          try await Person(id: id, name: "\(id)").insert().run(cluster)
          stored.insert(id)
        } catch let error as SqlError where error.transaction == .unknown {
        } catch is CancellationError {}
        try? await Task.sleep(for: .milliseconds(5))
      }
      return stored
    }
    let reader = Task {
      var ids: [Int] = []
      for try await change in cluster.changes(on: Person.self, since: start) {
        guard case .insert(let person) = change.row, let id = person.id else { continue }
        if id == -1 { break }
        ids.append(id)
      }
      return ids
    }
    for _ in 0..<2 {
      try await Task.sleep(for: .milliseconds(500))
      try await disturb()
    }
    writer.cancel()
    let stored = try await writer.value
    try await Person(id: -1, name: "end").insert().run(cluster)
    let ids = try await reader.value
    #expect(!stored.isEmpty)
    #expect(stored.isSubset(of: ids))
    #expect(ids == ids.sorted())
    let rows = try await cluster.query("SELECT id FROM person WHERE id > 0 ORDER BY id", as: Int.self)
    #expect(ids == rows)
  }
}

private struct StoredText: SqlValue {
  let bytes: [UInt8]

  static var columnType: ColumnType { .text }
  var databaseValue: DatabaseValue { .blob(Data(bytes)) }

  init(bytes: [UInt8]) { self.bytes = bytes }

  init(databaseValue: DatabaseValue) { bytes = [] }

  static func read(from cell: ReadCell) throws -> StoredText { StoredText(bytes: try cell.textBytes()) }
}

private struct Swapped: Sqlable, Equatable {
  static let c1 = column("c1", Int.self, PrimaryKey())
  static let c0 = column("c0", Int?.self)
  static let tableLayout = [c1.column, c0.column]
  var c1: Int
  var c0: Int?

  init(c1: Int, c0: Int?) { (self.c1, self.c0) = (c1, c0) }

  init(row: ReadRow) throws {
    c1 = try row.get(Swapped.c1)
    c0 = try row.get(Swapped.c0)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Swapped.c1, c1)
    row.set(Swapped.c0, c0)
  }
}
