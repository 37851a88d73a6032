import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of concurrent writes on a cluster: shared commits, savepoints, transactions.
@Suite struct WritingTests {
  @Test func aTableWithAnotherNameHasTheStatementsOfItsModel() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.execute(#"CREATE TABLE "old people" (id INTEGER PRIMARY KEY, name TEXT)"#)
      let archive = cluster.table(Person.self, named: "old people")
      #expect(try await archive.insert(Person(id: nil, name: "Ann")).run(archive) == 1)
      #expect(
        try await archive.insert([Person(id: 5, name: "Bob"), Person(id: nil, name: "Cy")]).run(archive) == [5, 6])
      try await archive.update(Person(id: 5, name: "Bo")).run(archive)
      try await archive.delete(Person.name == "Ann").run(archive)
      #expect(try await archive.byId(5).run(archive)?.name == "Bo")
      let names = try await cluster.transaction { tx in
        try await archive.save(Person(id: 7, name: "Di")).run(tx)
        return try await archive.read().orderBy(Person.id).run(tx).map(\.name)
      }
      #expect(names == ["Bo", "Cy", "Di"])
      #expect(try await Person.count().run(cluster) == 0)
      let missing = cluster.table(Person.self, named: "none")
      let error = await failure { _ = try await missing.count().run(missing) }
      #expect(error?.kind == .schema(.missingTable("none")))
    }
  }

  @Test func tasksShareCommits() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let before = cluster.statistics.commits
      let ids = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<500 { group.addTask { try await Person(id: nil, name: "\(number)").insert().run(cluster) } }
        return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
      }
      #expect(ids == Set(1...500))
      #expect(cluster.statistics.commits - before < 250)
      #expect(try await Person.count().run(cluster) == 500)
    }
  }

  @Test func aTransactionIsAllOrNothing() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      struct Stop: Error {}
      let ids = try await cluster.transaction { tx in
        let first = try await Person(id: nil, name: "a").insert().run(tx)
        // A call inside the closure joins the transaction without naming it.
        let second = try await Person(id: nil, name: "b").insert().run(cluster)
        #expect(try await Person.count().run(tx) == 2)
        await #expect(throws: Stop.self) {
          try await cluster.transaction { tx in
            _ = try await Person(id: nil, name: "c").insert().run(tx)
            throw Stop()
          }
        }
        return [first, second]
      }
      #expect(ids == [1, 2])
      await #expect(throws: Stop.self) {
        try await cluster.transaction { tx in
          try await Person.deleteAll().run(tx)
          throw Stop()
        }
      }
      #expect(try await Person.read().orderBy(Person.id).run(cluster).map(\.name) == ["a", "b"])
    }
  }

  @Test func aStatementThatFailsLeavesTheTransactionOpen() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.transaction { tx in
        _ = try await Person(id: 1, name: "a").insert().run(tx)
        let error = await failure { _ = try await Person(id: 1, name: "b").insert().run(tx) }
        #expect(error?.kind == .constraint(.primaryKey))
        #expect(error?.transaction == .untouched)
        _ = try await Person(id: 2, name: "c").insert().run(tx)
      }
      #expect(try await Person.count().run(cluster) == 2)
    }
  }

  @Test func aTransactionThatIsRolledBackByItsTriggerStoresNothing() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.execute(
        "CREATE TRIGGER bad BEFORE INSERT ON person WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
      let error = await failure {
        try await cluster.transaction { tx in
          _ = try await Person(id: 1, name: "a").insert().run(tx)
          let error = await failure { _ = try await Person(id: 2, name: "bad").insert().run(tx) }
          #expect(error?.transaction == .rolledBack)
          // Outside of the transaction, the statement would be stored.
          let next = await failure { _ = try await Person(id: 3, name: "c").insert().run(tx) }
          #expect(next?.transaction == .rolledBack)
        }
      }
      #expect(error?.transaction == .rolledBack)
      #expect(try await Person.count().run(cluster) == 0)
    }
  }

  @Test func deadlineErrorNamesTheSlowClosure() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let error = await failure {
        // The first insert ends before the deadline on a busy machine, too.
        try await withDeadline(.seconds(2)) {
          try await cluster.transaction { tx in
            try await Person(id: 1, name: "a").insert().run(tx)
            try await Task.sleep(for: .seconds(2.1))
            try await Person(id: 2, name: "b").insert().run(tx)
          }
        }
      }
      #expect(error?.kind == .timeout)
      #expect(error?.message == "the transaction did not end in time")
      #expect(error?.transaction == .rolledBack)
      #expect(try await Person.count().run(cluster) == 0)
    }
  }

  @Test func transactionEndsWithItsClosure() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let kept = try await cluster.transaction { $0 }
      let error = await failure { _ = try await Person.count().run(kept) }
      #expect(error?.kind == .misuse("the transaction has ended, and can't run another statement"))
      let writes = await failure {
        try await cluster.read { tx in _ = try await Person(id: 1, name: "a").insert().run(tx) }
      }
      #expect(writes?.kind == .readOnly)
      // No transaction stays open.
      #expect(try await Person(id: 1, name: "a").insert().run(cluster) == 1)
    }
  }

  @Test func readsOfOneClosureSeeOneSnapshot() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.read { tx in
        #expect(try await Person.count().run(tx) == 0)
        let other = Task.detached { try await Person(id: nil, name: "a").insert().run(cluster) }
        _ = try await other.value
        #expect(try await Person.count().run(tx) == 0)
      }
      #expect(try await Person.count().run(cluster) == 1)
    }
  }

  @Test func aTransactionWithAnIdIsStoredOnce() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let id = UUID()
      let first = try await cluster.transaction(id: id) { tx in try await Person(id: nil, name: "a").insert().run(tx) }
      let other = try SqliteCluster(nodes: nodes.addresses)
      let second = try await other.transaction(id: id) { tx in try await Person(id: nil, name: "a").insert().run(tx) }
      other.close()
      #expect(first == 1)
      #expect(second == nil)
      #expect(try await Person.count().run(cluster) == 1)
      // A failed transaction can be repeated with the same id.
      struct Stop: Error {}
      let next = UUID()
      await #expect(throws: Stop.self) { try await cluster.transaction(id: next) { _ in throw Stop() } }
      #expect(try await cluster.transaction(id: next) { _ in 7 } == 7)
    }
  }

  /// A call with an unknown commit outcome finds the record of the other client.
  @Test(arguments: [true, false])
  func callWithAnIdIgnoresTheCommitOfAnotherClient(_ isClosure: Bool) async throws {
    let atOnce = SlowLink.Delay(milliseconds: 0...0, bytesPerSecond: 1e9)
    try await withCluster(1, delay: atOnce) { nodes in
      let (cluster, other) = (try SqliteCluster(nodes: nodes.addresses), try SqliteCluster(nodes: nodes.addresses))
      defer { for client in [cluster, other] { client.close() } }
      try await cluster.createTables(Person.self)
      @Sendable func insert(_ name: String, _ cluster: SqliteCluster, _ id: UUID) async throws -> Int? {
        let insert = Person(id: nil, name: name).insert()
        return isClosure
          ? try await cluster.transaction(id: id) { tx in try await insert.run(tx) }
          : try await cluster.run(insert, id: id)
      }
      // At first, the call repeats its own lost commit.
      let mine = UUID()
      nodes.link(1).loseCommit {}
      #expect(try await insert("mine", cluster, mine) == 1)
      let shared = UUID()
      nodes.link(1).loseCommit {
        let isStored = DispatchSemaphore(value: 0)
        Task {
          _ = try? await insert("other", other, shared)
          isStored.signal()
        }
        isStored.wait()
      }
      #expect(try await insert("mine too", cluster, shared) == nil)
      let names = try await Person.read().run(cluster).map(\.name)
      #expect(names == ["mine", "other"])
    }
  }

  @Test func deadlinesAndCancellationEndWaits() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.transaction { tx in
        _ = try await Person(id: 1, name: "a").insert().run(tx)
        // This closure holds the writer.
        let late = Task.detached {
          await failure {
            try await withDeadline(.milliseconds(100)) { _ = try await Person(id: 2, name: "b").insert().run(cluster) }
          }
        }
        #expect(await late.value?.kind == .timeout)
        let cancelled = Task.detached { try await Person(id: 3, name: "c").insert().run(cluster) }
        try await Task.sleep(for: .milliseconds(50))
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
      }
      #expect(try await Person.read().run(cluster).map(\.id) == [1])
    }
  }

  /// Clients get the lock at random, so their shares differ, but each client gets the lock before its deadline.
  @Test func clientsOfSeveralProgramsTakeTurns() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let counts = TransactionCounts()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<4 {
          group.addTask {
            let own = try SqliteCluster(nodes: nodes.addresses)
            defer { own.close() }
            // Each client writes on until every client has written.
            while await counts.least < 5 {
              _ = try await own.transaction { tx in
                let id = try await Person(id: nil, name: "\(client)").insert().run(tx)
                return try await Person(id: id, name: "\(client).").update().run(tx)
              }
              await counts.add(client)
            }
          }
        }
        try await group.waitForAll()
      }
      let sum = await counts.sum
      #expect(try await Person.count().run(cluster) == sum)
    }
  }

  @Test func aClosedClientRefusesCalls() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      cluster.close()
      cluster.close()
      for error in [
        await failure { _ = try await Person.count().run(cluster) },
        await failure { _ = try await Person(id: nil, name: "a").insert().run(cluster) },
        await failure { try await cluster.transaction { _ in } },
      ] { #expect(error?.kind == .closed) }
    }
  }

  @Test func withoutALeaderACallEndsAtItsDeadline() async throws {
    let cluster = try SqliteCluster(nodes: [freeAddress(), freeAddress()])
    defer { cluster.close() }
    let begin = ContinuousClock.now
    for work in [0, 1] {
      let error = await failure {
        try await withDeadline(.milliseconds(300)) {
          if work == 0 { try await cluster.execute("DELETE FROM t") } else { _ = try await Person.count().run(cluster) }
        }
      }
      #expect(error?.kind == .unavailable || error?.kind == .timeout)
    }
    #expect(ContinuousClock.now - begin < .seconds(5))
  }

  @Test func badAddressesAndConfigurationsAreRefused() async throws {
    for nodes in [[], ["x"], ["x:"], ["x:0"], [":1"], ["x:99999"], ["a b:1"]] {
      let error = await failure { _ = try SqliteCluster(nodes: nodes) }
      guard case .misuse = error?.kind else {
        Issue.record("\(nodes): \(String(describing: error))")
        continue
      }
    }
    var configuration = ClusterConfiguration()
    configuration.connections = 0
    let error = await failure { _ = try SqliteCluster(nodes: ["x:1"], configuration: configuration) }
    #expect(error?.message.contains("connections") == true)
  }
}

/// The number of transactions of each of four clients.
private actor TransactionCounts {
  private var counts = [0, 0, 0, 0]

  var least: Int { counts.min() ?? 0 }
  var sum: Int { counts.reduce(0, +) }

  func add(_ client: Int) { counts[client] += 1 }
}
