import Foundation
import Sqlable
import SqlableChanges
import SqlableCluster
import Testing

/// Tests of named consumers of a cluster's change log.
@Suite struct ClusterConsumerTests {
  @Test func consumerGetsASnapshotAndThenEachChange() async throws {
    try await withLog { cluster, nodes in
      _ = try await Person.insert([Person(id: 1, name: "Ada"), Person(id: 2, name: "Bob")]).run(cluster)
      var batches = cluster.changes(on: Person.self, as: "index").makeAsyncIterator()
      let rows = try #require(try await batches.next())
      #expect(rows.isSnapshot)
      let all = try await rows.all().map(\.row)
      #expect(all == [.insert(Person(id: 1, name: "Ada")), .insert(Person(id: 2, name: "Bob"))])
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      _ = try await Person.insert((3...2_502).map { Person(id: $0, name: "x") }).run(other)
      let changes = try #require(try await batches.next())
      #expect(!changes.isSnapshot)
      #expect(try await changes.all().count == 2_500)
      try await changes.acknowledge()
      let consumer = try #require(try await cluster.changeConsumers().first)
      #expect(consumer.name == "index")
      #expect(consumer.position == changes.position)
      #expect((consumer.isNew, consumer.isOwned, consumer.lag) == (false, true, 0))
      #expect(consumer.ownerProcess == Int(getpid()))
    }
  }

  @Test func unacknowledgedBatchIsDeliveredAgain() async throws {
    try await withLog { cluster, _ in
      let first = Task {
        for try await batch in cluster.changes(as: "all", startingWith: .now) { Issue.record("\(batch.position)") }
      }
      try await until("the consumer is known", within: .seconds(300)) {
        try await cluster.changeConsumers().count == 1
      }
      first.cancel()
      await #expect(throws: CancellationError.self) { try await first.value }
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      for _ in 0..<2 {
        for try await batch in cluster.changes(as: "all") {
          #expect(try await batch.all().map(\.change) == [.insert])
          break
        }
      }
      try await cluster.removeChangeConsumer("all")
      #expect(try await cluster.changeConsumers().isEmpty)
    }
  }

  @Test func oneLoopAtATimeOwnsAConsumer() async throws {
    try await withLog { cluster, nodes in
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      var owner = cluster.changes(on: Person.self, as: "index", lease: .seconds(2)).makeAsyncIterator()
      let rows = try #require(try await owner.next())
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      let waiting = Task {
        for try await batch in other.changes(on: Person.self, as: "index", lease: .seconds(2)) {
          return try await batch.all().count
        }
        return 0
      }
      // The owner answers each claim, so the other loop waits.
      try await Task.sleep(for: .seconds(5))
      try await rows.acknowledge()
      try await Person(id: 2, name: "Bob").insert().run(cluster)
      let changes = try #require(try await owner.next())
      #expect(try await changes.all().map(\.row) == [.insert(Person(id: 2, name: "Bob"))])
      // A client that closes does not answer.
      cluster.close()
      #expect(try await waiting.value == 1)
    }
  }

  /// The trim deletes the last change before the snapshot.
  @Test func snapshotCanBeAcknowledgedAfterATrim() async throws {
    try await withLog { cluster, _ in
      var batches = cluster.changes(on: Person.self, as: "index").makeAsyncIterator()
      let rows = try #require(try await batches.next())
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      #expect(try await rows.all().count == 1)
      try await Person(id: 2, name: "Bob").insert().run(cluster)
      #expect(try await ChangeLog.trim(cluster, keeping: .count(1)) == 1)
      try await rows.acknowledge()
      let changes = try #require(try await batches.next())
      #expect(try await changes.all().map(\.row) == [.insert(Person(id: 2, name: "Bob"))])
    }
  }

  @Test func consumerThatCanNotReadTheLogIsNotStored() async throws {
    try await withLog { cluster, _ in
      try await ChangeLog(Person.self, keeping: .keys).create(cluster)
      let loop = await failure { for try await _ in cluster.changes(on: Person.self, as: "index") {} }
      let consuming = await failure { try await cluster.consume("index", on: Person.self) { _, _ in } }
      #expect(loop?.isMisuse == true && consuming?.isMisuse == true)
      try await cluster.execute("ALTER TABLE person ADD COLUMN age INTEGER")
      try await ChangeLog(Person.self).create(cluster)
      try await cluster.execute("ALTER TABLE person ADD COLUMN height INTEGER")
      let all = await failure { for try await _ in cluster.changes(as: "all") {} }
      if case .schema(.mismatch)? = all?.kind {} else { Issue.record("\(String(describing: all))") }
      #expect(try await cluster.changeConsumers().isEmpty)
    }
  }

  @Test func trimKeepsWhatAConsumerNeeds() async throws {
    try await withLog { cluster, _ in
      var batches = cluster.changes(on: Person.self, as: "index", startingWith: .log).makeAsyncIterator()
      _ = try await Person.insert((1...10).map { Person(id: $0, name: "x") }).run(cluster)
      let batch = try #require(try await batches.next())
      #expect(try await ChangeLog.trim(cluster, keeping: .unacknowledged) == 0)
      try await batch.acknowledge()
      #expect(try await ChangeLog.trim(cluster, keeping: .unacknowledged) == 9)
      _ = try await Person.insert((11...20).map { Person(id: $0, name: "x") }).run(cluster)
      #expect(try await ChangeLog.trim(cluster, keeping: .count(1)) > 0)
      let error = await failure { _ = try await batches.next() }
      #expect(error?.kind == .changeLog(.trimmed))
    }
  }

  @Test func consumerCallsInATransactionAreRefused() async throws {
    try await withLog { cluster, _ in
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      var batches = cluster.changes(on: Person.self, as: "index").makeAsyncIterator()
      let batch = try #require(try await batches.next())
      let error = await failure { try await cluster.transaction { _ in try await batch.acknowledge() } }
      #expect(error?.isMisuse == true)
      let consuming = await failure {
        try await cluster.transaction { _ in try await cluster.consume("x", on: Person.self) { _, _ in } }
      }
      #expect(consuming?.isMisuse == true)
      let other = await failure { for try await _ in cluster.changes(on: Mark.self, as: "index") {} }
      #expect(other?.isMisuse == true)
    }
  }

  @Test func consumedChangeAndItsEffectAreStoredTogether() async throws {
    try await withLog { cluster, _ in
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      struct Refused: Error {}
      await #expect(throws: Refused.self) {
        try await cluster.consume("marks", on: Person.self) { tx, change in
          guard case .insert(let person) = change.row, let id = person.id else { return }
          try await Mark(id: id).insert().run(tx)
          if id == 2 { throw Refused() }
          if id == 1 { try await Person(id: 2, name: "Bob").insert().run(tx) }
        }
      }
      #expect(try await Mark.read().run(cluster) == [Mark(id: 1)])
      let consumer = try #require(try await cluster.changeConsumers().first)
      #expect((consumer.isNew, consumer.lag) == (false, 1))
      let consuming = Task {
        try await cluster.consume("marks", on: Person.self) { tx, change in
          if case .insert(let person) = change.row, let id = person.id { try await Mark(id: id).insert().run(tx) }
        }
      }
      _ = try await Person.insert((3...2_500).map { Person(id: $0, name: "x") }).run(cluster)
      try await until("all is consumed", within: .seconds(300)) { try await Mark.count().run(cluster) == 2_500 }
      consuming.cancel()
      await #expect(throws: CancellationError.self) { try await consuming.value }
    }
  }

  /// Two consumers of one name, and the loss of leaders, lose and double no effect.
  @Test func effectsAreExactWhileLeadersAreKilled() async throws {
    try await withLog { cluster, nodes in
      let other = try SqliteCluster(nodes: nodes.addresses, configuration: cluster.configuration)
      defer { other.close() }
      let consuming = [cluster, other].map { client in
        Task {
          try await client.consume("cars", on: Person.self, startingWith: .log) { tx, change in
            guard case .insert(let person) = change.row, let id = person.id else { return }
            // A second effect of the same change throws.
            try await Mark(id: id).insert().run(tx)
          }
        }
      }
      let writer = Task {
        for id in 1...400 {
          do { try await Person(id: id, name: "x").insert().run(cluster) } catch let error as SqlError {
            guard error.kind == .outcomeUnknown else { throw error }
          }
        }
      }
      for _ in 0..<2 {
        try await Task.sleep(for: .milliseconds(700))
        let leader = try await nodes.leader()
        await nodes.node(leader).kill()
        try await Task.sleep(for: .milliseconds(500))
        try await nodes.restart(leader)
      }
      try await writer.value
      let ids = try await cluster.query("SELECT id FROM person ORDER BY id", as: Int.self)
      try await until("all is consumed", within: .seconds(300)) {
        try await cluster.query("SELECT id FROM mark ORDER BY id", as: Int.self) == ids
      }
      for task in consuming {
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
    }
  }

  @Test func killedConsumerLosesItsLeaseAndNoChange() async throws {
    try await withLog { cluster, nodes in
      let consumer = try ConsumerProcess(nodes.addresses)
      defer { consumer.kill() }
      var id = 0
      // The process acknowledges changes, and is killed between two of them.
      for _ in 0..<3 {
        try await until("the process consumes", within: .seconds(300)) {
          id += 1
          try await Person(id: id, name: "x").insert().run(cluster)
          return try await Mark.count().run(cluster) >= id / 2 && id % 50 == 0
        }
        consumer.kill()
        try consumer.start()
      }
      consumer.kill()
      try await Person(id: 100_000, name: "end").insert().run(cluster)
      for try await batch in cluster.changes(on: Person.self, as: "process", lease: .seconds(1)) {
        for try await change in batch.changes {
          guard case .insert(let person) = change.row, let id = person.id else { continue }
          try await Mark(id: id).insert().ignoreOnConflict().run(cluster)
        }
        try await batch.acknowledge()
        if try await cluster.query("SELECT max(id) FROM mark", as: Int.self) == [100_000] { break }
      }
      let ids = try await cluster.query("SELECT id FROM person ORDER BY id", as: Int.self)
      #expect(try await cluster.query("SELECT id FROM mark ORDER BY id", as: Int.self) == ids)
    }
  }
}

/// Calls `body` with a client of a cluster that logs persons.
private func withLog(_ body: (SqliteCluster, TestCluster) async throws -> Void) async throws {
  try await withCluster(3) { nodes in
    var configuration = ClusterConfiguration()
    configuration.timeout = .seconds(300)
    let cluster = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
    defer { cluster.close() }
    try await cluster.createTables(Person.self, Mark.self)
    try await ChangeLog(Person.self).create(cluster)
    try await body(cluster, nodes)
  }
}

/// A process with a named consumer; see the program `ClusterNodeProcess`.
private final class ConsumerProcess: Sendable {
  private let nodes: [String]
  private let process = Locked<(Process, Pipe)?>(nil)

  init(_ nodes: [String]) throws {
    self.nodes = nodes
    try start()
  }

  func start() throws {
    let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let (process, input) = (Process(), Pipe())
    process.executableURL = products.appendingPathComponent("ClusterNodeProcess")
    process.arguments = ["consume"] + nodes
    process.standardInput = input
    try process.run()
    self.process.with { $0 = (process, input) }
  }

  func kill() {
    self.process.with { started in
      guard let (process, _) = started else { return }
      Foundation.kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      started = nil
    }
  }
}
