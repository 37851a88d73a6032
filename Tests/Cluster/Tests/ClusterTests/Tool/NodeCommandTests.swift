import Foundation
import Sqlable
import Testing

@testable import SqlableCluster
@testable import SqlableCore

/// Tests of `sqlable node` and `sqlable cluster` as processes.
@Suite(.serialized, .timeLimit(.minutes(2))) struct NodeCommandTests {
  private static let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("sqlable").path

  private final class Started {
    let process = Process()
    let output = Pipe()
    let errors = Pipe()
    private(set) var log = ""

    init(_ words: [String]) throws {
      process.executableURL = URL(fileURLWithPath: NodeCommandTests.path)
      process.arguments = words
      process.standardOutput = output
      process.standardError = errors
      try process.run()
    }

    /// The standard output of the ended process; `log` is its standard error.
    func end() -> String {
      func text(_ pipe: Pipe) -> String {
        String(decoding: (try? pipe.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
      }
      let printed = text(output)
      log = text(errors)
      process.waitUntilExit()
      return printed
    }

    /// The output of the process.
    func all() -> String {
      let printed = end()
      return printed + log
    }
  }

  private func node(_ id: Int, _ address: String, _ directory: String, _ others: String...) throws -> Started {
    try Started(["node", "--id", "\(id)", "--address", address, "--directory", directory] + others)
  }

  @Test func threeProcessesFormAClusterAndStopOnRequest() async throws {
    try await withDirectory { path in
      let addresses = (1...3).map { _ in freeAddress() }
      let first = try node(1, addresses[0], path + "/1")
      let others = try (2...3).map { try node($0, addresses[$0 - 1], "\(path)/\($0)", "--join", addresses[0]) }
      let cluster = try SqliteCluster(nodes: addresses)
      try await until("there are three voters") {
        (try? await cluster.members().filter { $0.role == .voter }.count) == 3
      }
      try await cluster.execute("CREATE TABLE t (a INTEGER)")
      let list = try Started(["cluster", addresses[2]]).end()
      #expect(list == (1...3).map { "\($0)  \(addresses[$0 - 1])  voter\n" }.joined())
      #expect(try Started(["cluster", addresses[0], "--lead", "2"]).end() == list)
      #expect(await Probe.leads(addresses[1]))
      let refusal = try Started(["cluster", addresses[0], "--assign", "2=spare"]).all()
      #expect(refusal.hasPrefix("sqlable: SqlError.misuse: node 2 is the leader"))

      let file = path + "/backup.sqlite"
      try await cluster.execute("INSERT INTO t VALUES (7)")
      #expect(try Started(["cluster", addresses[0], "--backup", file]).end() == "done\n")
      try await cluster.execute("DELETE FROM t")
      #expect(try Started(["cluster", addresses[0], "--restore", file, "--seconds", "60"]).end() == "done\n")
      #expect(try await cluster.query("SELECT a FROM t", as: Int.self) == [7])
      let both = try Started(["cluster", addresses[0], "--backup", file, "--lead", "1"])
      #expect(both.all().contains("use only one of"))
      #expect(both.process.terminationStatus == 2)
      let stray = try Started(["cluster", addresses[0], "--database", "other"])
      #expect(stray.all().contains("need --backup"))
      #expect(stray.process.terminationStatus == 2)

      others[0].process.terminate()
      #expect(others[0].end() == "node 2 runs on \(addresses[1])\nnode 2 has stopped\n")
      #expect(others[0].process.terminationStatus == 0)
      try await cluster.execute("INSERT INTO t VALUES (1)")
      let removed = try Started(["cluster", addresses[0], "--remove", "2", "--json"]).end()
      #expect(removed.contains("\"id\" : 3"))
      #expect(!removed.contains("\"id\" : 2"))
      for started in [others[1], first] {
        started.process.interrupt()
        #expect(started.end().hasSuffix("has stopped\n"))
        #expect(started.process.terminationStatus == 0)
      }
    }
  }

  @Test func failedStartNamesItsCause() throws {
    let refused = try node(1, "10.1.2.3:9001", "/tmp/no-such-node")
    #expect(refused.all().contains("dqlite sends data unencrypted"))
    #expect(refused.process.terminationStatus == 1)
    let malformed = try node(0, "127.0.0.1:9001", "/tmp/no-such-node")
    #expect(malformed.all().hasPrefix("sqlable: The value '0' is invalid for '--id <number>'"))
    #expect(malformed.process.terminationStatus == 2)
    let joining = try node(
      1, freeAddress(), NSTemporaryDirectory() + "sqlable-\(UUID().uuidString)", "--join", freeAddress())
    #expect(joining.all().contains("node 1 always starts a new cluster"))
  }

  /// Calls `body` with three nodes and ends those that still run.
  private func withNodes(
    _ body: (_ nodes: [Started], _ addresses: [String], _ path: String) async throws -> Void
  ) async throws {
    try await withDirectory { path in
      let addresses = (1...3).map { _ in freeAddress() }
      var nodes = [try node(1, addresses[0], path + "/1")]
      defer { for node in nodes where node.process.isRunning { kill(node.process.processIdentifier, SIGKILL) } }
      let cluster = try SqliteCluster(nodes: addresses)
      defer { cluster.close() }
      for id in 2...3 {
        nodes.append(try node(id, addresses[id - 1], "\(path)/\(id)", "--join", addresses[0]))
        try await until("there are \(id) voters") {
          (try? await cluster.members().filter { $0.role == .voter }.count) == id
        }
      }
      try await body(nodes, addresses, path)
    }
  }

  private func end(_ process: Process, _ number: Int32) async throws {
    kill(process.processIdentifier, number)
    try await until("the process has ended") { !process.isRunning }
  }

  @Test func healthPrintsALineForEachProblem() async throws {
    try await withNodes { nodes, addresses, _ in
      func health() throws -> (lines: [String], status: Int32) {
        let started = try Started(["cluster", "health", addresses[0], "--seconds", "3"])
        let lines = started.all().split(separator: "\n").map(String.init)
        return (lines, started.process.terminationStatus)
      }
      #expect(try health() == (["healthy"], 0))
      try await end(nodes[2].process, SIGKILL)
      #expect(try health() == (["voter 3 does not answer"], 1))
      try await end(nodes[1].process, SIGKILL)
      let (lines, status) = try health()
      #expect(status == 1, "\(lines)")
      try #require(lines.count == 3, "\(lines)")
      #expect(lines[0].hasPrefix("a read was not answered"), "\(lines)")
      #expect(lines.suffix(2) == ["1 of 3 voters answers; a majority is needed", "the voters 2, 3 do not answer"])
      let wrong = try Started(["cluster", "health"])
      #expect(wrong.all().contains("Missing expected argument '<host:port> ...'"))
      #expect(wrong.process.terminationStatus == 2)
    }
  }

  @Test func aNodeThatLeavesHandsOverAndItsProcessEnds() async throws {
    try await withNodes { nodes, addresses, path in
      let cluster = try SqliteCluster(nodes: addresses)
      defer { cluster.close() }
      let standby = try node(4, freeAddress(), path + "/4", "--join", addresses[0])
      defer { if standby.process.isRunning { kill(standby.process.processIdentifier, SIGKILL) } }
      try await until("there are four nodes") { (try? await cluster.members().count) == 4 }
      try await cluster.transferLeadership(to: 2)
      let left = try Started(["cluster", "leave", "2", addresses[0]])
      let list = left.all()
      #expect(left.process.terminationStatus == 0)
      #expect(list.split(separator: "\n").map { $0.prefix(1) } == ["1", "3", "4"], "\(list)")
      #expect(list.split(separator: "\n").allSatisfy { $0.hasSuffix("voter") }, "\(list)")
      #expect(nodes[1].end() == "node 2 runs on \(addresses[1])\nnode 2 has stopped\n")
      #expect(nodes[1].process.terminationStatus == 0)
      #expect(nodes[1].log.contains(" node 2 was removed from its cluster, and stops\n"), "\(nodes[1].log)")
      try await end(nodes[2].process, SIGKILL)
      let silent = try Started(["cluster", "leave", "3", addresses[0]])
      #expect(silent.all().contains("node 3 does not answer; remove the node if its machine is lost"))
      #expect(silent.process.terminationStatus == 1)
      let unknown = try Started(["cluster", "leave", "9", addresses[0]])
      #expect(unknown.all().contains("the cluster has no node 9"))
      #expect(unknown.process.terminationStatus == 1)
    }
  }

  @Test func remainingNodeContinuesAlone() async throws {
    try await withNodes { nodes, addresses, path in
      let cluster = try SqliteCluster(nodes: addresses)
      try await cluster.execute("CREATE TABLE t (a INTEGER)")
      try await cluster.execute("INSERT INTO t VALUES (7)")
      // A follower receives a commit slightly later than the leader.
      try await Task.sleep(for: .milliseconds(500))
      cluster.close()
      let recovery = ["cluster", "recover-alone", path + "/2"]
      let running = try Started(recovery + ["--abandon-other-copies"])
      #expect(running.all().contains("another node runs in the directory"))
      #expect(running.process.terminationStatus == 1)
      try await end(nodes[1].process, SIGKILL)
      let early = try Started(recovery + ["--abandon-other-copies"])
      #expect(early.all().contains("a majority of the voters answers"))
      #expect(early.process.terminationStatus == 1)
      for id in [0, 2] { try await end(nodes[id].process, SIGKILL) }
      let unconfirmed = try Started(recovery)
      #expect(unconfirmed.all().contains("would lose commits that only other nodes have"))
      #expect(unconfirmed.process.terminationStatus == 1)
      let done = try Started(recovery + ["--abandon-other-copies"])
      #expect(done.all().hasPrefix("node 2 is now the only node of its cluster"))
      #expect(done.process.terminationStatus == 0)
      let alone = try node(2, addresses[1], path + "/2")
      let client = try SqliteCluster(nodes: [addresses[1]])
      defer { client.close() }
      #expect(try await client.query("SELECT a FROM t", as: Int.self) == [7])
      #expect(try await client.members().map(\.id) == [2])
      alone.process.terminate()
      #expect(alone.end().hasSuffix("has stopped\n"))
      let nowhere = try Started(["cluster", "recover-alone", path])
      #expect(
        nowhere.all().contains("the directory does not belong to a node"))
      #expect(nowhere.process.terminationStatus == 1)
      let stray = try Started(["cluster", addresses[1], "--abandon-other-copies"])
      #expect(stray.all().contains("Unknown option '--abandon-other-copies'"))
      #expect(stray.process.terminationStatus == 2)
    }
  }

  @Test func nodeLogsItsRoleRefusalsAndEnd() async throws {
    try await withNodes { nodes, addresses, path in
      let cluster = try SqliteCluster(nodes: addresses)
      defer { cluster.close() }
      try await cluster.execute("CREATE TABLE t (a INTEGER)")
      let error = await failure {
        try await withSession(to: addresses) { session in
          try await session.execute("PRAGMA journal_mode = DELETE", before: .now + .seconds(30))
        }
      }
      #expect(error?.code == 23)
      // Each node checks once per second.
      try await Task.sleep(for: .seconds(3))
      try await cluster.transferLeadership(to: 3)
      try await Task.sleep(for: .seconds(3))
      try FileManager.default.removeItem(atPath: path + "/1")
      #expect(nodes[0].end() == "node 1 runs on \(addresses[0])\n")
      #expect(nodes[0].process.terminationStatus == 1)
      let lines = nodes[0].log.split(separator: "\n").map(String.init)
      #expect(lines.contains { $0.contains("Z node 1 is a voter, and leads, in term ") }, "\(lines)")
      #expect(lines.contains { $0.contains("Z node 1 is a voter, and follows node 3, in term ") }, "\(lines)")
      let refused = "Z node 1 refused a statement: SqlError.misuse: a node does not allow this PRAGMA"
      #expect(lines.contains { $0.contains(refused) && $0.hasSuffix("in: PRAGMA journal_mode = DELETE") }, "\(lines)")
      #expect(lines.contains { $0.contains("Z node 1 ends: SqlError.io: the directory of the node was removed") })
      nodes[1].process.terminate()
      _ = nodes[1].end()
      #expect(nodes[1].log.contains("Z node 2 received SIGTERM, transfers leadership and stops\n"), "\(nodes[1].log)")
    }
  }
}
