import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of three node processes: joining, leaving, kills and handovers.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ClusterLifeTests {
  @Test func threeNodesBecomeVoters() async throws {
    try await withCluster(3) { cluster in
      let client = try SqliteCluster(nodes: cluster.addresses)
      let members = try await client.members()
      #expect(members.map(\.id) == [1, 2, 3])
      #expect(members.map(\.address) == cluster.addresses)
      #expect(members.allSatisfy { $0.role == .voter })
    }
  }

  @Test func furtherNodesBecomeStandbys() async throws {
    try await withCluster(5) { cluster in
      let client = try SqliteCluster(nodes: cluster.addresses)
      let roles = try await client.members().map(\.role)
      #expect(roles == [.voter, .voter, .voter, .standby, .standby])
    }
  }

  /// A standby does not report the leader.
  @Test func aClientThatKnowsOnlyAStandbyFindsTheLeader() async throws {
    try await withCluster(4) { nodes in
      let client = try SqliteCluster(nodes: [nodes.addresses[3]])
      defer { client.close() }
      try await withDeadline(.seconds(20)) { try await client.execute("CREATE TABLE t (a)") }
      #expect(try await client.query("SELECT count(*) FROM t", as: Int.self) == [0])
    }
  }

  @Test func killedNodesRestartWithTheirData() async throws {
    try await withCluster(3) { cluster in
      let client = try SqliteCluster(nodes: cluster.addresses)
      try await client.execute("CREATE TABLE t (a INTEGER)")
      for round in 1...3 {
        try await client.execute("INSERT INTO t VALUES (\(round))")
        for node in cluster.nodes { await node.kill() }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for id in 1...3 { group.addTask { try await cluster.restart(id) } }
          try await group.waitForAll()
        }
        #expect(try await client.query("SELECT count(*) FROM t", as: Int.self) == [round])
      }
    }
  }

  @Test func aLeaderThatStopsHandsOver() async throws {
    try await withCluster(3) { cluster in
      let client = try SqliteCluster(nodes: cluster.addresses)
      try await client.execute("CREATE TABLE t (a INTEGER)")
      for _ in 0..<3 {
        let leader = try await cluster.leader()
        try await cluster.node(leader).stop()
        let begin = ContinuousClock.now
        try await client.execute("INSERT INTO t VALUES (1)")
        // An election after a failure takes more than one second.
        #expect(begin.duration(to: .now) < .milliseconds(700))
        #expect(try await cluster.leader() != leader)
        try await cluster.restart(leader)
      }
    }
  }

  @Test func nodeWithANewDirectoryDoesNotReplaceALostNode() async throws {
    try await withCluster(3) { cluster in
      for id in [1, 2] {
        let node = cluster.node(id)
        try await node.stop()
        try FileManager.default.removeItem(atPath: node.directory)
        await #expect(throws: CommandFailure.self) {
          try await node.start(joining: cluster.addresses.filter { $0 != node.address })
        }
        #expect(await !node.isRunning)
        // The other two nodes continue, and a new node replaces the lost one.
        let client = try SqliteCluster(nodes: cluster.addresses)
        try await client.removeMember(UInt64(id))
        let new = TestNode(id + 10, node.address, node.directory)
        try await new.start(joining: cluster.addresses.filter { $0 != node.address })
        #expect(try await client.members().first { $0.id == UInt64(id + 10) }?.role == .voter)
        await new.kill()
        try await new.start()
        try await new.stop()
        try await client.removeMember(UInt64(id + 10))
        try FileManager.default.removeItem(atPath: node.directory)
        let last = TestNode(id + 20, node.address, node.directory)
        try await last.start(joining: cluster.addresses.filter { $0 != node.address })
        cluster.replace(id, with: last)
      }
    }
  }

  @Test func duplicateAddressOrIdIsRefused() async throws {
    try await withCluster(2) { cluster in
      try await withDirectory { path in
        let sameId = try SqliteClusterNode(id: 2, address: freeAddress(), directory: path + "/a")
        let first = await failure { try await sameId.start(joining: cluster.addresses) }
        #expect(first?.message == "the cluster already has a node 2 at \(cluster.addresses[1])")
        await cluster.node(2).kill()
        let sameAddress = try SqliteClusterNode(id: 3, address: cluster.addresses[1], directory: path + "/b")
        try await cluster.restart(2)
        let second = await failure { try await sameAddress.start(joining: cluster.addresses) }
        #expect(
          second?.message
            == "address \(cluster.addresses[1]) belongs to node 2 of the cluster; remove node 2 first")
        #expect(!sameId.isRunning)
        #expect(!sameAddress.isRunning)
      }
    }
  }

  @Test func aNodeThatLeavesMakesRoom() async throws {
    try await withCluster(3) { cluster in
      try await withDirectory { path in
        let client = try SqliteCluster(nodes: cluster.addresses)
        let node = try SqliteClusterNode(id: 4, address: freeAddress(), directory: path + "/node")
        #expect(await failure { try await node.leave() }?.message == "node 4 can't leave: it is not running")
        try await node.start(joining: cluster.addresses)
        #expect(try await client.members().last?.role == .standby)
        let health = await node.health()
        #expect(health.isHealthy, "\(health.problems)")
        #expect(health.role == .standby)
        #expect(health.voters == 3)
        #expect(!health.isLeader)
        #expect(health.leader != nil)

        // The standby replaces a removed voter. It can lead, and hands over when it leaves.
        await cluster.node(3).kill()
        try await client.removeMember(3)
        #expect(try await client.members().map(\.role) == [.voter, .voter, .voter])
        try await client.transferLeadership(to: 4)
        try await until("node 4 leads") { await node.health().isLeader }
        try await node.leave()
        #expect(try await client.members().map(\.id) == [1, 2])
        #expect(!node.isRunning)
        #expect(
          await failure { try await node.start(joining: cluster.addresses) }?.message
            == "node 4 has left its cluster; join a new node with another id and an empty directory")
      }
    }
  }

  @Test func theOnlyNodeCantLeave() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: path + "/node")
      try await node.start()
      #expect(await failure { try await node.leave() }?.message == "node 1 is the only node of its cluster")
      #expect(node.isRunning)
      let health = await node.health()
      #expect(health.problems == [.fewVoters(1)])
      #expect(health.isLeader)
      #expect(health.role == .voter)
      #expect(health.term == 1)
      #expect(health.size > 0)
      try await node.stop()
      #expect(await node.health().problems == [.stopped(nil)])
    }
  }

  @Test func healthNamesEveryProblem() async throws {
    try await withCluster(2) { cluster in
      try await withDirectory { path in
        let node = try SqliteClusterNode(id: 3, address: freeAddress(), directory: path + "/node")
        try await node.start(joining: cluster.addresses)
        #expect(await node.health().problems == [])
        let little = await node.health(minimumFreeBytes: .max).problems
        guard case .littleSpace = little.first else {
          Issue.record("\(little)")
          return
        }
        await cluster.node(2).pause()
        #expect(await node.health(within: .milliseconds(500)).problems.contains(.unreachable([2])))
        await cluster.node(2).resume()
        await cluster.node(2).kill()
        await cluster.node(1).kill()
        try await until("there is no leader") { await node.health().problems.contains(.noLeader) }
        #expect(await node.health().problems.contains(.unreachable([1, 2])))
        try await cluster.restart(1)
        try await until("there is a leader") { await !node.health().problems.contains(.noLeader) }
        try await node.stop()
      }
    }
  }

  @Test func aNodeStopsBeforeItsDiskIsFull() async throws {
    guard TestDisk.isAvailable else { return }
    try await withDirectory { path in
      let disk = try TestDisk(path + "/disk", megabytes: 150)
      defer { disk.remove() }
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: disk.path + "/node")
      try await node.start()
      let client = try SqliteCluster(nodes: [node.address])
      try await client.execute("CREATE TABLE t (a INTEGER)")
      try await client.execute("INSERT INTO t VALUES (7)")
      try disk.fill()
      try await until("the node has stopped", within: .seconds(10)) { !node.isRunning }
      #expect(node.stopReason?.kind == .full)
      #expect(await node.health().problems == [.stopped(.full)])
      #expect(await failure { try await node.start() }?.kind == .full)
      try disk.free()
      try await node.start()
      #expect(node.stopReason == nil)
      #expect(try await client.query("SELECT a FROM t", as: Int.self) == [7])
      client.close()
      try await node.stop()
    }
  }

  @Test(arguments: ["directory", "moved", "files", "log"]) func aNodeStopsWhenItsFilesAreGone(_ loss: String)
    async throws
  {
    try await withDirectory { path in
      let directory = path + "/node"
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: directory)
      try await node.start()
      let client = try SqliteCluster(nodes: [node.address])
      try await client.execute("CREATE TABLE t (a INTEGER)")
      // The pause exceeds the interval of the disk watch; the files still exist.
      for number in 1...300 { try await client.execute("INSERT INTO t VALUES (\(number))") }
      try await Task.sleep(for: .seconds(3))
      #expect(node.isRunning)
      #expect(node.stopReason == nil)
      let files = FileManager.default
      switch loss {
      case "directory": try files.removeItem(atPath: directory)
      case "moved": try files.moveItem(atPath: directory, toPath: path + "/moved")
      case "files":
        for name in try files.contentsOfDirectory(atPath: directory) {
          try files.removeItem(atPath: directory + "/" + name)
        }
      default:
        for name in try files.contentsOfDirectory(atPath: directory) where name.hasPrefix("open-") {
          try files.removeItem(atPath: directory + "/" + name)
        }
      }
      // Writes are acknowledged until the stop and not afterwards.
      try await until("the node has stopped", within: .seconds(20)) { !node.isRunning }
      #expect(node.stopReason?.kind == .io, "\(String(describing: node.stopReason))")
      #expect(await node.health().problems == [.stopped(.io)])
      #expect(await !client.health(within: .seconds(2)).isServing)
      client.close()
      try await node.stop()
    }
  }

  @Test func aNodeEndsAStatementThatRunsForTooLong() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(
        id: 1, address: freeAddress(), directory: path + "/node",
        configuration: .init(maximumStatementTime: .milliseconds(500)))
      try await node.start()
      let client = try SqliteCluster(nodes: [node.address])
      try await client.execute("CREATE TABLE t (a INTEGER)")
      let endless = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
      let read = await failure { _ = try await client.query(SQL(verbatim: endless + "count(*) FROM c"), as: Int.self) }
      #expect(read?.kind == .interrupted, "\(String(describing: read))")
      let write = await failure { try await client.execute("INSERT INTO t " + endless + "x FROM c WHERE x < 0") }
      #expect(write?.kind == .interrupted, "\(String(describing: write))")
      // The node continues without any part of the write.
      try await client.execute("INSERT INTO t VALUES (1)")
      #expect(try await client.query("SELECT a FROM t", as: Int.self) == [1])
      // Many short statements may take longer in total.
      for number in 2...200 { try await client.execute("INSERT INTO t VALUES (\(number))") }
      #expect(try await client.query("SELECT count(*) FROM t", as: Int.self) == [200])
      client.close()
      try await node.stop()
    }
  }

  @Test func lastRemainingNodeContinuesAlone() async throws {
    try await withCluster(3) { cluster in
      let client = try SqliteCluster(nodes: cluster.addresses)
      try await client.execute("CREATE TABLE t (a INTEGER)")
      for number in 1...20 { try await client.execute("INSERT INTO t VALUES (\(number))") }
      // Followers receive a commit slightly later than the leader.
      try await Task.sleep(for: .milliseconds(500))
      await cluster.node(2).kill()
      try await withDirectory { path in
        let left = cluster.node(2)
        let node = try SqliteClusterNode(id: 2, address: left.address, directory: left.directory)
        #expect(
          await failure { try await node.recoverAlone() }?.message
            == "the cluster needs no recovery: a majority of the voters answers")
        for id in [1, 3] {
          await cluster.node(id).kill()
          try FileManager.default.removeItem(atPath: cluster.node(id).directory)
        }
        try await node.recoverAlone()
        #expect(!node.isRunning)
        try await node.start()
        let new = try SqliteClusterNode(id: 4, address: freeAddress(), directory: path + "/node")
        try await new.start(joining: [node.address])
        let other = try SqliteCluster(nodes: [node.address])
        #expect(try await other.query("SELECT count(*) FROM t", as: Int.self) == [20])
        #expect(try await other.members().map(\.id) == [2, 4])
        #expect(
          await failure { try await node.recoverAlone() }?.message == "node 2 can't be recovered: it is running")
        try await new.leave()
        try await node.stop()
      }
    }
  }

  /// The node was down during its removal.
  @Test func removedNodeReportsItsRemovalAndDoesNotRestart() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let lost = nodes.node(3)
      await lost.kill()
      try await cluster.removeMember(3)
      let node = try SqliteClusterNode(id: 3, address: lost.address, directory: lost.directory)
      try await node.start(joining: nodes.addresses)
      try await until("the node knows") { await node.health().problems.contains(.notAMember) }
      // The others have a leader, and the removed node has none.
      try await Task.sleep(for: .seconds(5))
      #expect(node.restarts == 0)
      try await node.stop()
    }
  }
}
