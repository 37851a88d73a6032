import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests that a read sees every earlier acknowledged write: the voters confirm the leader that answers.
@Suite(.timeLimit(.minutes(10))) struct ConfirmationTests {
  /// One node claims to lead, and two nodes follow another leader.
  private func withFormerLeader(
    confirms: Bool, _ body: (SqliteCluster, _ former: FakeNode, _ leader: FakeNode) async throws -> Void
  ) async throws {
    let (former, leader, other) = (try FakeNode(), try FakeNode(), try FakeNode())
    defer { for node in [former, leader, other] { node.close() } }
    former.name(leader: nil, voters: [leader.address, other.address])
    leader.name(leader: nil, voters: [former.address, other.address])
    other.name(leader: leader.address, voters: [former.address, leader.address])
    var configuration = ClusterConfiguration()
    configuration.timeout = .seconds(20)
    configuration.confirmsReads = confirms
    let cluster = try SqliteCluster(nodes: [former.address], configuration: configuration)
    defer { cluster.close() }
    try await body(cluster, former, leader)
  }

  @Test func aReadIsNotSentToALeaderThatTheVotersHaveLeft() async throws {
    try await withFormerLeader(confirms: true) { cluster, former, leader in
      await #expect(throws: SqlError.self) { try await cluster.query("SELECT 1", as: Int.self) }
      await #expect(throws: SqlError.self) {
        try await cluster.read { tx in try await tx.query("SELECT 1", as: Int.self) }
      }
      await #expect(throws: SqlError.self) { try await cluster.transaction { tx in try await tx.execute("SELECT 1") } }
      #expect(former.broken == 0)
      #expect(leader.broken > 0)
    }
    try await withFormerLeader(confirms: false) { cluster, former, _ in
      await #expect(throws: SqlError.self) { try await cluster.query("SELECT 1", as: Int.self) }
      #expect(former.broken > 0)
    }
  }

  @Test func readFailsWithoutAMajorityOfTheVoters() async throws {
    let (leader, gone) = (try FakeNode(), try FakeNode())
    defer { leader.close() }
    gone.close()
    leader.name(leader: nil, voters: [gone.address, "127.0.0.1:1"])
    var configuration = ClusterConfiguration()
    configuration.timeout = .seconds(2)
    let cluster = try SqliteCluster(nodes: [leader.address], configuration: configuration)
    defer { cluster.close() }
    let error = await #expect(throws: SqlError.self) { try await cluster.query("SELECT 1", as: Int.self) }
    #expect(error?.kind == .unavailable)
    #expect(error?.message.contains("fewer than a majority of the nodes confirmed the leader") == true)
    #expect(leader.broken == 0)
  }

  /// An update that leaves its row unchanged changes no page, and a commit without pages needs no majority.
  @Test(.enabled(if: TestNetwork.isAvailable)) func aLeaderThatIsCutOffAcknowledgesNoUpdate() async throws {
    try await withCluster(3, isolated: true) { nodes in
      let network = try #require(nodes.network)
      var configuration = ClusterConfiguration()
      configuration.timeout = .seconds(20)
      let client = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { client.close() }
      try await client.execute("CREATE TABLE bicycle (id INTEGER PRIMARY KEY, color TEXT UNIQUE)")
      try await client.execute("INSERT INTO bicycle VALUES (1, 'red')")
      for (sql, isDone) in [
        ("UPDATE bicycle SET id = 1 WHERE id = 1", true), ("UPDATE bicycle SET color = 'x' WHERE id = 2", true),
        ("INSERT INTO bicycle VALUES (2, 'red')", false),
      ] {
        let leader = try await nodes.leader()
        _ = try await client.query("SELECT 1", as: Int.self)
        try await client.execute("UPDATE bicycle SET color = 'red' WHERE id = 1")
        let commits = client.statistics.commits
        try network.split([leader], from: (1...3).filter { $0 != leader })
        let outcome = await Task { try await client.execute(SQL(verbatim: sql)) }.result
        // The old leader alone can't acknowledge. Either a new leader did, or the outcome is unknown.
        if client.statistics.commits > commits {
          #expect(client.statistics.leader != nodes.node(leader).address, "\(sql): \(outcome)")
        }
        if case .failure(let error as SqlError) = outcome {
          #expect(error.kind == .outcomeUnknown || !isDone, "\(sql): \(error)")
        }
        try network.heal()
        try await Task.sleep(for: .seconds(1))
      }
    }
  }

  /// An isolated leader continues for a while, and the others elect a new one.
  @Test(.enabled(if: TestNetwork.isAvailable)) func isolatedLeaderServesNoStaleReads() async throws {
    try await withCluster(3, isolated: true) { nodes in
      let network = try #require(nodes.network)
      let writer = try SqliteCluster(nodes: nodes.addresses)
      defer { writer.close() }
      try await writer.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
      try await writer.execute("INSERT INTO counter VALUES (1, 0)")
      let stored = Locked(0)
      var (reads, stale) = ([true: 0, false: 0], [true: 0, false: 0])
      for _ in 0..<KillTests.rounds {
        for confirms in [true, false] {
          let former = try await nodes.leader()
          var configuration = ClusterConfiguration()
          configuration.confirmsReads = confirms
          let reader = try SqliteCluster(nodes: [nodes.node(former).address], configuration: configuration)
          try network.split([former], from: (1...3).filter { $0 != former })
          let writes = Task {
            while !Task.isCancelled {
              let next = stored.with { $0 } + 1
              if (try? await writer.execute("UPDATE counter SET value = \(next)")) != nil { stored.with { $0 = next } }
            }
          }
          let end = ContinuousClock.now + .seconds(3)
          while .now < end {
            let floor = stored.with { $0 }
            guard let value = try? await reader.query("SELECT value FROM counter", as: Int.self).first else { continue }
            reads[confirms, default: 0] += 1
            if value < floor { stale[confirms, default: 0] += 1 }
          }
          writes.cancel()
          _ = await writes.result
          try network.heal()
          try await Task.sleep(for: .milliseconds(500))
          reader.close()
        }
      }
      print("reads while leaders are cut off: \(reads), keyed by whether they are confirmed; of them stale: \(stale)")
      #expect(stale[true] == 0)
    }
  }
}
