import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of the health that a client reports.
@Suite struct HealthTests {
  @Test func clientReportsRespondingNodes() async throws {
    try await withClient { cluster, nodes in
      let well = await cluster.health()
      #expect(well.isHealthy)
      #expect(well.isServing)
      #expect(well.voters == 3)
      #expect(well.members.map(\.id) == [1, 2, 3])
      #expect(well.members.contains { $0 == well.leader })
      #expect(well.answer.map { $0 < .seconds(1) } == true)

      let leader = try await nodes.leader()
      let follower = try #require([1, 2, 3].first { $0 != leader })
      await nodes.node(follower).kill()
      let weak = await cluster.health(within: .seconds(2))
      #expect(weak.problems == [.unreachable([UInt64(follower)])])
      #expect(weak.isServing)

      await nodes.node(leader).kill()
      let begin = ContinuousClock.now
      let gone = await cluster.health()
      #expect(begin.duration(to: .now) < .seconds(3))
      #expect(!gone.isServing)
      #expect(gone.leader == nil)
      #expect(gone.problems.first == .noAnswer(.unavailable) || gone.problems.first == .noAnswer(.timeout))

      cluster.close()
      #expect(await cluster.health().problems.first == .closed)
    }
  }

  @Test func clusterWithoutAMajorityIsReported() async throws {
    try await withClient { cluster, nodes in
      #expect(await cluster.health(within: .seconds(2)).isHealthy)
      let leader = try await nodes.leader()
      let others = [1, 2, 3].filter { $0 != leader }
      for id in others { await nodes.node(id).kill() }
      // A client that has never found a leader learns the voters from the remaining node.
      let other = try SqliteCluster(nodes: [nodes.addresses[leader - 1]])
      defer { other.close() }
      for client in [cluster, other] {
        try await until("the leader has stepped down") { await !client.health().isServing }
        let health = await client.health()
        #expect(!health.isHealthy)
        #expect(health.leader == nil)
        #expect(health.voters == 3)
        let lost = others.map { UInt64($0) }
        #expect(health.problems.contains(.noMajority(answering: 1, voters: 3)), "\(health.problems)")
        #expect(health.problems.contains(.unreachable(lost)), "\(health.problems)")
        let words = health.problems.map { "\($0)" }
        #expect(words.contains("1 of 3 voters answers; a majority is needed"), "\(words)")
        #expect(words.contains("the voters \(lost[0]), \(lost[1]) do not answer"), "\(words)")
        #expect(words.contains { $0.hasPrefix("a read was not answered") }, "\(words)")
      }
    }
  }

  /// The node stops, because its commits would only be in memory. The others elect a new leader.
  @Test func aClusterWhoseLeaderHasLostItsDiskIsNotHealthy() async throws {
    try await withClient { cluster, nodes in
      try await cluster.execute("CREATE TABLE t (a INTEGER)")
      let leader = try await nodes.leader()
      try FileManager.default.removeItem(atPath: nodes.node(leader).directory)
      try await until("the cluster is not healthy", within: .seconds(20)) { await !cluster.health().isHealthy }
      try await until("the others serve") { await cluster.health().isServing }
      let health = await cluster.health(within: .seconds(2))
      #expect(health.problems.map { "\($0)" } == ["voter \(leader) does not answer"])
      #expect(health.leader != nil)
      #expect(health.leader?.id != UInt64(leader))
    }
  }

  @Test func aClusterThatSurvivesNoLossIsNotHealthy() async throws {
    try await withCluster(1) { nodes in
      let cluster = try SqliteCluster(nodes: nodes.addresses)
      defer { cluster.close() }
      let health = await cluster.health()
      #expect(health.problems == [.fewVoters(1)])
      #expect(health.isServing)
      #expect(health.leader?.id == 1)
    }
  }

  @Test func aProbeIsNotTraced() async throws {
    try await withClient { cluster, _ in
      let count = Locked(0)
      cluster.trace { _ in count.with { $0 += 1 } }
      #expect(await cluster.health().isHealthy)
      #expect(count.with { $0 } == 0)
    }
  }
}
