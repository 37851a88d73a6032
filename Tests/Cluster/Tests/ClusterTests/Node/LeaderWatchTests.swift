import Foundation
import Sqlable
import Testing

@testable import SqlableCluster
@testable import SqlableCore

/// Tests of the watch that restarts a node whose raft has stopped: the others have a leader, this node has none.
@Suite(.timeLimit(.minutes(2))) struct LeaderWatchTests {
  /// Counts the restarts that a watch asks for in six seconds.
  private func restarts(_ node: FakeNode) async throws -> Int {
    let watch = LeaderWatch(1, try NodeAddress(node.address), networkLatency: .milliseconds(1))
    let count = Locked(0)
    watch.begin(term: { 1 }, restart: { count.with { $0 += 1 } })
    try await Task.sleep(for: .seconds(6))
    watch.end()
    return count.with { $0 }
  }

  @Test func nodeWithoutALeaderIsRestarted() async throws {
    let (node, leader, other) = (try FakeNode(), try FakeNode(), try FakeNode())
    defer { for node in [node, leader, other] { node.close() } }
    let voters = [node, leader, other].map(\.address)
    for node in [node, leader, other] { node.name(leader: "", voters: voters.filter { $0 != node.address }) }
    // No node has a leader, so an election may be in progress.
    #expect(try await restarts(node) == 0)
    leader.name(leader: nil, voters: [node.address, other.address])
    #expect(try await restarts(node) == 1)
    // The node has a leader.
    node.name(leader: leader.address, voters: [leader.address, other.address])
    #expect(try await restarts(node) == 0)
  }

  @Test func restartKeepsTheNodeRunningWithItsData() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: path + "/node")
      try await node.start()
      let client = try SqliteCluster(nodes: [node.address])
      try await client.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
      let life = Task { try await node.runUntilCancelled() }
      for number in 1...3 {
        await node.restart()
        #expect(node.isRunning)
        #expect(node.restarts == number)
        try await client.execute("INSERT INTO t VALUES (\(number))")
        #expect(try await client.query("SELECT count(*) FROM t", as: Int.self) == [number])
      }
      #expect(await node.health().restarts == 3)
      life.cancel()
      try await life.value
      #expect(!node.isRunning)
      await node.restart()
      #expect(!node.isRunning)
      #expect(node.restarts == 3)
      client.close()
    }
  }

  @Test func aLeaderCommitsItsTerm() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: path + "/node")
      try await node.start()
      for _ in 0..<2 {
        try await until("the term is committed", within: .seconds(10)) {
          let request = SqlRequest(sql: "SELECT term FROM term", values: [], isReadOnly: true)
          let answer = try? await withSession(to: [node.address], database: "sqlable-term") { session in
            try await session.answer(to: request, before: .now + .seconds(5))
          }
          guard case .integer(let term)? = answer?.rows.first?.first else { return false }
          return Int(term) == node.lockedDirectory?.term
        }
        try await node.stop()
        try await node.start()
      }
      try await node.stop()
    }
  }
}
