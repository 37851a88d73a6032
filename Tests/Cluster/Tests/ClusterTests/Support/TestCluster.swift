import Foundation
import Sqlable

/// A cluster of separate node processes in a temporary directory.
final class TestCluster: Sendable {
  private let list: NodeList
  let network: TestNetwork?
  private let path: String
  private let disks: [TestDisk]
  private let links: [SlowLink]
  private let clocks: [TestClock]

  var addresses: [String] { nodes.map(\.address) }

  /// - Parameters:
  ///   - isolated: Whether each node has a network namespace, so that the network can be cut.
  ///   - megabytes: The size of each node's disk; nil for the machine's disk.
  ///   - snapshots: The number of commits between two snapshots, and kept after one; nil for the default.
  ///   - delay: The delay of each node's link, for nodes and clients.
  ///   - clocks: Whether each node has a separate wall clock.
  init(
    _ count: Int, isolated: Bool = false, megabytes: Int? = nil, latency: Int = 50, snapshots: Int? = nil,
    delay: SlowLink.Delay? = nil, clocks: Bool = false
  ) throws {
    path = NSTemporaryDirectory() + "sqlable-cluster-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let network = isolated ? try TestNetwork(count) : nil
    self.network = network
    let path = path
    disks =
      try megabytes.map { size in try (1...count).map { try TestDisk("\(path)/disk\($0)", megabytes: size) } } ?? []
    let directories = (1...count).map { megabytes == nil ? "\(path)/\($0)" : "\(path)/disk\($0)/node" }
    let own = (1...count).map { number in network.map { "\($0.host(number)):9001" } ?? freeAddress() }
    let links = try delay.map { delay in try own.map { try SlowLink(to: $0, delay) } } ?? []
    let clocks = try clocks ? (1...count).map { try TestClock("\(path)/clock\($0)") } : []
    (self.links, self.clocks) = (links, clocks)
    list = NodeList(
      (1...count).map { number in
        TestNode(
          number, links.isEmpty ? own[number - 1] : links[number - 1].address, directories[number - 1],
          namespace: network?.name(number), latency: latency, snapshots: snapshots,
          bind: links.isEmpty ? nil : own[number - 1],
          environment: clocks.isEmpty ? [:] : clocks[number - 1].environment)
      })
  }

  var nodes: [TestNode] { list.nodes }

  /// Replaces a node.
  func replace(_ id: Int, with node: TestNode) { list.nodes[id - 1] = node }

  /// The number of the leader, from 1.
  func leader() async throws -> Int {
    while true {
      for (place, node) in nodes.enumerated() where await Probe.leads(node.address) { return place + 1 }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  func node(_ id: Int) -> TestNode { nodes[id - 1] }

  func link(_ id: Int) -> SlowLink { links[id - 1] }

  func clock(_ id: Int) -> TestClock { clocks[id - 1] }

  func disk(_ id: Int) -> TestDisk { disks[id - 1] }

  /// Starts all nodes: the first creates the cluster, the others join.
  func start() async throws {
    try await nodes[0].start()
    for node in nodes.dropFirst() { try await node.start(joining: [nodes[0].address]) }
  }

  /// Starts a node that was killed or stopped.
  func restart(_ id: Int) async throws {
    try await node(id).start(joining: id == 1 ? [] : addresses.filter { $0 != node(id).address })
  }

  func remove() async {
    for node in nodes { await node.kill() }
    for link in links { link.close() }
    network?.remove()
    for disk in disks { disk.remove() }
    try? FileManager.default.removeItem(atPath: path)
  }
}

private final class NodeList: @unchecked Sendable {
  private let lock = NSLock()
  private var value: [TestNode]

  init(_ nodes: [TestNode]) { value = nodes }

  var nodes: [TestNode] {
    get { lock.withLock { value } }
    set { lock.withLock { value = newValue } }
  }
}

/// Asks a node whether it leads, in raw bytes of the protocol, because the client is under test.
enum Probe {
  static func leads(_ address: String) async -> Bool {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: leader(at: address) == address) }
    }
  }

  /// The leader's address according to a node; nil without an answer.
  static func leader(at address: String) -> String? {
    let parts = address.split(separator: ":")
    guard parts.count == 2, let port = UInt16(parts[1]) else { return nil }
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var limit = timeval(tv_sec: 0, tv_usec: 300_000)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    var peer = sockaddr_in()
    peer.sin_family = sa_family_t(AF_INET)
    peer.sin_port = port.bigEndian
    peer.sin_addr.s_addr = inet_addr(String(parts[0]))
    let isConnected = withUnsafePointer(to: &peer) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { return nil }
    let request: [UInt64] = [1, 1, 0]
    let sent = request.map(\.littleEndian).withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard sent == 24 else { return nil }
    var answer = [UInt8](repeating: 0, count: 512)
    var count = 0
    while count < 32 {
      let more = recv(descriptor, &answer[count], answer.count - count, 0)
      guard more > 0 else { break }
      count += more
    }
    guard count > 16 else { return nil }
    return String(decoding: answer[16..<count].prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// Calls `body` with a running cluster and ends its processes afterwards.
func withCluster<Result>(
  _ count: Int, isolated: Bool = false, megabytes: Int? = nil, latency: Int = 50, snapshots: Int? = nil,
  delay: SlowLink.Delay? = nil, clocks: Bool = false, _ body: (TestCluster) async throws -> Result
) async throws -> Result {
  let cluster = try TestCluster(
    count, isolated: isolated, megabytes: megabytes, latency: latency, snapshots: snapshots, delay: delay,
    clocks: clocks)
  do {
    try await cluster.start()
    let result = try await body(cluster)
    await cluster.remove()
    return result
  } catch {
    await cluster.remove()
    throw error
  }
}
