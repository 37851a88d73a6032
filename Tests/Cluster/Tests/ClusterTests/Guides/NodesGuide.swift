import Foundation
import Sqlable
import SqlableCluster
import Testing

/// The examples of the section "Nodes" of Docs/Cluster.md.
@Suite(.timeLimit(.minutes(2))) struct NodesGuide {
  /// Placeholder addresses and directories: this code is compiled but not run.
  private func begin() async throws {
    let node = try SqliteClusterNode(id: 2, address: "127.0.0.1:9002", directory: "node2")
    try await node.start(joining: ["127.0.0.1:9001", "127.0.0.1:9003"])
    try await node.runUntilCancelled()  // then it hands over, and stops
  }

  private func configure() throws -> SqliteClusterNode {
    var configuration = ClusterNodeConfiguration()
    configuration.networkLatency = .milliseconds(20)
    let quick = try SqliteClusterNode(
      id: 3, address: "127.0.0.1:9003", directory: "node3", configuration: configuration)
    return quick
  }

  private struct Unready: Error {
    let problems: [SqliteClusterNode.Health.Problem]
  }

  private func probe(_ node: SqliteClusterNode) async throws {
    let health = await node.health()
    guard health.isHealthy else { throw Unready(problems: health.problems) }
  }

  private func recover(_ node: SqliteClusterNode) async throws {
    try await node.recoverAlone()
    try await node.start()
  }

  @Test func removedNodeIsReplacedByAnother() async throws {
    try await withClient { cluster, nodes in
      try await withDirectory { path in
        let node = try SqliteClusterNode(id: 4, address: freeAddress(), directory: path + "/node4")
        try await node.start(joining: nodes.addresses)
        let running = Task { try await node.runUntilCancelled() }
        try await probe(node)
        await nodes.node(2).kill()
        func change() async throws -> [ClusterMember] {
          try await cluster.removeMember(2)
          try await cluster.assign(.voter, to: 4)
          try await cluster.transferLeadership(to: 4)
          let members = try await cluster.members()
          return members
        }
        _ = try await change()
        // A new leader may still report the previous list of nodes.
        try await until("the nodes are 1, 3 and 4") { try await cluster.members().map(\.id) == [1, 3, 4] }
        await #expect(throws: Unready.self) {
          try await probe(SqliteClusterNode(id: 5, address: "127.0.0.1:1", directory: path))
        }
        running.cancel()
        try await running.value
        #expect(!node.isRunning)
      }
    }
  }
}
