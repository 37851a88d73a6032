import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of the tunnels of Docs/Cluster.md: stunnel connects three machines, which are network namespaces here.
/// Requires root and stunnel4.
@Suite(.timeLimit(.minutes(3))) struct TunnelTests {
  private static let isAvailable =
    FileManager.default.isExecutableFile(atPath: "/usr/bin/stunnel4") && TestNetwork.isAvailable

  /// A running stunnel.
  private final class Tunnel {
    private let process = Process()

    init(_ configuration: String, at path: String, in namespace: String?) throws {
      try configuration.write(toFile: path, atomically: true, encoding: .utf8)
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments =
        (namespace.map { ["/usr/sbin/ip", "netns", "exec", $0] } ?? []) + ["/usr/bin/stunnel4", path]
      process.standardError = FileHandle(forWritingAtPath: "/dev/null")
      try process.run()
    }

    func end() {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
  }

  @Test(.enabled(if: isAvailable)) func nodesAndClientsConnectOnlyThroughTunnels() async throws {
    try await withDirectory { path in
      let network = try TestNetwork(3)
      defer { network.remove() }
      try Self.makeCertificates(in: path, network)
      // Each machine has the same three addresses. One belongs to the node; the others lead into tunnels.
      let ports = (1...3).map { _ in freePort() }
      let addresses = ports.map { "127.0.0.1:\($0)" }
      var tunnels: [Tunnel] = []
      defer { for tunnel in tunnels { tunnel.end() } }
      for machine in 0...3 {
        var text = """
          foreground = yes
          pid =
          debug = err
          cert = \(path)/node\(machine).pem
          CAfile = \(path)/ca.pem
          verifyChain = yes
          sslVersionMin = TLSv1.3
          socket = l:TCP_NODELAY=1
          socket = r:TCP_NODELAY=1

          """
        for node in 1...3 {
          text +=
            node == machine
            ? """
            [node\(node)]
            accept = \(network.host(node)):19001
            connect = 127.0.0.1:\(ports[node - 1])
            requireCert = yes

            """
            : """
            [node\(node)]
            client = yes
            accept = 127.0.0.1:\(ports[node - 1])
            connect = \(network.host(node)):19001
            checkIP = \(network.host(node))

            """
        }
        let namespace = machine == 0 ? nil : network.name(machine)
        tunnels.append(try Tunnel(text, at: "\(path)/stunnel\(machine).conf", in: namespace))
      }
      try await Task.sleep(for: .seconds(1))

      let nodes = (1...3).map {
        TestNode($0, addresses[$0 - 1], "\(path)/\($0)", namespace: network.name($0))
      }
      try await nodes[0].start()
      try await nodes[1].start(joining: [addresses[0]])
      try await nodes[2].start(joining: [addresses[0]])
      let client = try SqliteCluster(nodes: addresses)
      try await client.execute("CREATE TABLE t (a INTEGER)")
      try await client.execute("INSERT INTO t VALUES (1)")
      #expect(try await client.members().map(\.role) == [.voter, .voter, .voter])

      // Only the tunnel listens on the network, and it refuses clients without a certificate.
      #expect(Probe.leader(at: "\(network.host(1)):\(ports[0])") == nil)
      #expect(Probe.leader(at: "\(network.host(1)):19001") == nil)

      let leader = try #require(try await Self.leader(of: addresses))
      await nodes[leader].kill()
      try await client.execute("INSERT INTO t VALUES (2)")
      try await nodes[leader].start()
      try await until("all three answer") {
        addresses.allSatisfy { Probe.leader(at: $0)?.isEmpty == false }
      }
      #expect(try await client.query("SELECT count(*) FROM t", as: Int.self) == [2])
      client.close()
      for node in nodes { try await node.stop() }
    }
  }

  private static func leader(of addresses: [String]) async throws -> Int? {
    for (index, address) in addresses.enumerated() where await Probe.leads(address) { return index }
    return nil
  }

  /// A certificate authority, and a key with a certificate for each machine and the client.
  private static func makeCertificates(in path: String, _ network: TestNetwork) throws {
    try command(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/CN=bikes", "-keyout", path + "/ca.key", "-out", path + "/ca.pem")
    for machine in 0...3 {
      let name = "\(path)/node\(machine)"
      try command(
        "openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
        "/CN=node\(machine)", "-keyout", name + ".key", "-out", name + ".csr")
      try "subjectAltName = IP:\(machine == 0 ? "127.0.0.1" : network.host(machine))".write(
        toFile: name + ".ext", atomically: true, encoding: .utf8)
      try command(
        "openssl", "x509", "-req", "-in", name + ".csr", "-CA", path + "/ca.pem", "-CAkey", path + "/ca.key",
        "-CAcreateserial", "-days", "2", "-extfile", name + ".ext", "-out", name + ".crt")
      let text = try [".key", ".crt"].map { try String(contentsOfFile: name + $0, encoding: .utf8) }.joined()
      try text.write(toFile: name + ".pem", atomically: true, encoding: .utf8)
      chmod(name + ".pem", 0o600)
    }
  }
}
