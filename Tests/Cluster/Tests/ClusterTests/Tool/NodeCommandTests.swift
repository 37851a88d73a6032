import Foundation
import Sqlable
import Testing

/// `sqlable node` and `sqlable cluster`, as processes.
@Suite(.serialized, .timeLimit(.minutes(2))) struct NodeCommandTests {
  private static let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("sqlable").path

  private final class Started {
    let process = Process()
    let output = Pipe()

    init(_ words: [String]) throws {
      process.executableURL = URL(fileURLWithPath: NodeCommandTests.path)
      process.arguments = words
      process.standardOutput = output
      process.standardError = output
      try process.run()
    }

    /// All that it prints, once it has ended.
    func end() -> String {
      let text = String(decoding: (try? output.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
      process.waitUntilExit()
      return text
    }
  }

  private func node(_ id: Int, _ address: String, _ directory: String, _ others: String...) throws -> Started {
    try Started(["node", "--id", "\(id)", "--address", address, "--directory", directory] + others)
  }

  @Test func threeProcessesAreAClusterAndEndWhenTheyAreAsked() async throws {
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
      let refusal = try Started(["cluster", addresses[0], "--assign", "2=spare"]).end()
      #expect(refusal.hasPrefix("sqlable: SqlError.misuse: node 2 leads the cluster"))

      let file = path + "/backup.sqlite"
      try await cluster.execute("INSERT INTO t VALUES (7)")
      #expect(try Started(["cluster", addresses[0], "--backup", file]).end() == "done\n")
      try await cluster.execute("DELETE FROM t")
      #expect(try Started(["cluster", addresses[0], "--restore", file, "--seconds", "60"]).end() == "done\n")
      #expect(try await cluster.query("SELECT a FROM t", as: Int.self) == [7])
      let both = try Started(["cluster", addresses[0], "--backup", file, "--lead", "1"])
      #expect(both.end().contains("exclude each other") && both.process.terminationStatus == 2)
      let stray = try Started(["cluster", addresses[0], "--database", "other"])
      #expect(stray.end().contains("belong to --backup") && stray.process.terminationStatus == 2)

      others[0].process.terminate()
      #expect(others[0].end() == "node 2 runs on \(addresses[1])\nnode 2 has stopped\n")
      #expect(others[0].process.terminationStatus == 0)
      try await cluster.execute("INSERT INTO t VALUES (1)")
      let removed = try Started(["cluster", addresses[0], "--remove", "2", "--json"]).end()
      #expect(removed.contains("\"id\" : 3") && !removed.contains("\"id\" : 2"))
      for started in [others[1], first] {
        started.process.interrupt()
        #expect(started.end().hasSuffix("has stopped\n"))
        #expect(started.process.terminationStatus == 0)
      }
    }
  }

  @Test func whatCantStartSaysWhy() throws {
    let refused = try node(1, "10.1.2.3:9001", "/tmp/no-such-node")
    #expect(refused.end().contains("dqlite encrypts nothing"))
    #expect(refused.process.terminationStatus == 1)
    let malformed = try node(0, "127.0.0.1:9001", "/tmp/no-such-node")
    #expect(malformed.end().hasPrefix("sqlable: --id takes a number from 1"))
    #expect(malformed.process.terminationStatus == 2)
    let joining = try node(
      1, freeAddress(), NSTemporaryDirectory() + "sqlable-\(UUID().uuidString)", "--join", freeAddress())
    #expect(joining.end().contains("node 1 begins a cluster, and has nothing to join"))
  }
}
