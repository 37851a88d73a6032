import Sqlable
import Testing

/// What a client says of its cluster.
@Suite struct HealthTests {
  @Test func aClientSaysWhichNodesAnswer() async throws {
    try await withClient { cluster, nodes in
      let well = await cluster.health()
      #expect(well.isHealthy && well.isServing && well.voters == 3)
      #expect(well.members.map(\.id) == [1, 2, 3] && well.members.contains { $0 == well.leader })
      #expect(well.answer.map { $0 < .seconds(1) } == true)

      let leader = try await nodes.leader()
      let follower = try #require([1, 2, 3].first { $0 != leader })
      await nodes.node(follower).kill()
      let weak = await cluster.health(within: .seconds(2))
      #expect(weak.problems == [.unreachable([UInt64(follower)])] && weak.isServing)

      await nodes.node(leader).kill()
      let begin = ContinuousClock.now
      let gone = await cluster.health()
      #expect(begin.duration(to: .now) < .seconds(3))
      #expect(!gone.isServing && gone.leader == nil)
      #expect(gone.problems.first == .noAnswer(.unavailable) || gone.problems.first == .noAnswer(.timeout))

      cluster.close()
      #expect(await cluster.health().problems.first == .closed)
    }
  }

  @Test func aClusterThatSurvivesNoLossIsNotHealthy() async throws {
    try await withCluster(1) { nodes in
      let cluster = try SqliteCluster(nodes: nodes.addresses)
      defer { cluster.close() }
      let health = await cluster.health()
      #expect(health.problems == [.fewVoters(1)] && health.isServing && health.leader?.id == 1)
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
