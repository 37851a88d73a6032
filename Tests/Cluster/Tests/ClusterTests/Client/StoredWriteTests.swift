import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of writes that a client sends again: ids of transactions, evicted statements, lost connections.
@Suite struct StoredWriteTests {
  /// Some of these writes share a commit.
  @Test func aStatementWithAnIdIsStoredOnce() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let ids = (0..<20).map { _ in UUID() }
      let stored = try await withThrowingTaskGroup(of: Int?.self) { group in
        for number in 0..<60 {
          group.addTask { try await cluster.run(Person(id: nil, name: "x").insert(), id: ids[number % 20]) }
        }
        return try await group.reduce(into: [Int]()) { all, id in if let id { all.append(id) } }
      }
      #expect(Set(stored) == Set(1...20))
      #expect(stored.count == 20)
      #expect(try await Person.count().run(cluster) == 20)
      // A refused statement is not recorded.
      let id = UUID()
      let error = await failure { try await cluster.run(Person(id: 1, name: "y").insert(), id: id) }
      #expect(error?.kind == .constraint(.primaryKey))
      #expect(error?.table == "person")
      #expect(try await cluster.run(Person(id: 100, name: "y").insert(), id: id) == 100)
      try await cluster.transaction { _ in
        let error = await failure { try await cluster.run(Person(id: 1, name: "y").insert(), id: UUID()) }
        #expect(error?.message.contains("inside a transaction") == true)
      }
    }
  }

  /// Every statement has another text, and the cache holds two.
  @Test func evictedStatementsAreCompiledAgain() async throws {
    try await withClient { _, nodes in
      var configuration = ClusterConfiguration()
      (configuration.statementCacheSize, configuration.connections) = (2, 1)
      let cluster = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { cluster.close() }
      for round in 0..<3 {
        for number in 0..<6 {
          for _ in 0..<3 {
            let sum = try await cluster.query(SQL(verbatim: "SELECT \(number) + \(round)"), as: Int.self)
            #expect(sum == [number + round])
          }
        }
      }
    }
  }

  /// At least 100,000 ids are kept, because a clock may jump.
  @Test func expiredTransactionIdsAreDeleted() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let (first, second) = (UUID(), UUID())
      try await cluster.run(Person(id: nil, name: "x").insert(), id: first)
      try await cluster.run(Person(id: nil, name: "y").insert(), id: second)
      try await cluster.execute(
        """
        WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99000)
        INSERT INTO sqlable_transaction (id, at, attempt) SELECT randomblob(16), strftime('%s', 'now'), 0 FROM n
        """)
      try await cluster.execute("UPDATE sqlable_transaction SET at = at - 8 * 86400 WHERE number <= 2")
      try await cluster.execute("UPDATE sqlable_transaction SET number = 99500 WHERE number = 2")
      // One of 64 transactions deletes expired ids.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<1_000 {
          group.addTask { _ = try await cluster.run(Person(id: nil, name: "x").insert(), id: UUID()) }
        }
        try await group.waitForAll()
      }
      #expect(try await cluster.run(Person(id: nil, name: "again").insert(), id: first) != nil)
      #expect(try await cluster.run(Person(id: nil, name: "again").insert(), id: second) == nil)
    }
  }

  /// The task inherits the transaction, which has ended.
  @Test func aTaskThatOutlivesItsTransactionWritesByItself() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let task = try await cluster.transaction { _ in
        Task {
          try await Task.sleep(for: .milliseconds(200))
          return try await Person(id: nil, name: "later").insert().run(cluster)
        }
      }
      #expect(try await task.value == 1)
    }
  }

  @Test func repeatedTransactionIsStoredEvenIfItsRollbackFails() async throws {
    let node = try FakeNode()
    defer { node.close() }
    node.hasRecords(losing: 1)
    var configuration = ClusterConfiguration()
    configuration.confirmsReads = false
    let cluster = try SqliteCluster(nodes: [node.address], configuration: configuration)
    defer { cluster.close() }
    // A write that an earlier call stored succeeds.
    _ = try await cluster.run(SQL("DELETE FROM t"), id: UUID())
    #expect(node.broken == 1)
  }

  @Test func aLargeResultIsReceivedInLinearTime() async throws {
    try await withClient { cluster, _ in
      func time(_ count: Int) async throws -> Duration {
        let sql: SQL = """
          WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < \(count)) SELECT x FROM n
          """
        let begin = ContinuousClock.now
        #expect(try await cluster.query(sql, as: Int.self).count == count)
        return .now - begin
      }
      _ = try await time(1_000)
      let short = try await time(60_000)
      #expect(try await time(480_000) / short < 28)
    }
  }

  /// A statement that crashes a node would crash one node after the other.
  @Test func statementThatBreaksConnectionsIsAbandoned() async throws {
    let node = try FakeNode()
    defer { node.close() }
    let cluster = try SqliteCluster(nodes: [node.address])
    defer { cluster.close() }
    let reads = await failure { _ = try await cluster.query("SELECT 1", as: Int.self) }
    #expect(reads?.kind == .unavailable)
    #expect(node.broken == 3)
    let writes = await failure { try await cluster.execute("DELETE FROM t") }
    #expect(writes?.kind == .unavailable)
    #expect(node.broken == 6)
  }
}
