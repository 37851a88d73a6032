#if ClusterNode
import Sqlable
import CSqlableDqlite
import Glibc

/// A running dqlite node, and the lock of its directory.
///
/// Safe as `@unchecked Sendable`: the pointer never changes. All calls of dqlite with the pointer run on the owner's
/// queue, one at a time. The owner calls `stop()` once, as the last of these calls.
final class RunningNode: @unchecked Sendable {
  let directory: NodeDirectory
  let bindAddress: String
  private let node: OpaquePointer
  private let generation = ForkGuard.generation

  /// dqlite numbers its nodes with an unsynchronized counter, so only one node is created at a time.
  private static let creating = LockedValue(())

  /// Starts a node. Blocks until the node is listening.
  init(
    _ id: UInt64, _ address: NodeAddress, bind: NodeAddress, _ configuration: ClusterNodeConfiguration,
    in directory: NodeDirectory
  ) throws {
    let latency = try configuration.latencyMilliseconds()
    let snapshots = try configuration.snapshotParameters()
    let listening = try bind.numeric()
    try StatementWatch.begin(limit: Int64(configuration.maximumStatementTime / .nanoseconds(1)))
    try bind.testListening()
    ignoreBrokenPipes()
    let node = try RunningNode.created(id, address, in: directory)
    do {
      func check(_ code: Int32, _ what: String) throws {
        guard code == 0 else { throw RunningNode.error(code, what, node) }
      }
      try check(dqlite_node_set_bind_address(node, listening), "listen on \(listening)")
      try check(
        dqlite_node_set_connect_func(node, { PeerConnector.connect($1, $2) }, nil),
        "set the function that connects to other nodes")
      try check(dqlite_node_set_network_latency_ms(node, latency), "set the network latency")
      try check(
        dqlite_node_set_snapshot_params(node, snapshots.threshold, snapshots.trailing), "set the snapshot parameters")
      try check(
        dqlite_node_set_failure_domain(node, UInt64(configuration.failureDomain)), "set the failure domain")
      try check(dqlite_node_start(node), "start the node in \(directory.path)")
    } catch {
      dqlite_node_destroy(node)
      try RunningNode.refuse(try directory.damaged(), in: directory.path)
      throw error
    }
    self.node = node
    self.directory = directory
    bindAddress = dqlite_node_get_bind_address(node).map { String(cString: $0) } ?? listening
    do {
      // Refuse to run without a part of the log. dqlite quarantines a damaged part, and continues without its commits.
      try RunningNode.refuse(try directory.damaged(), in: directory.path)
    } catch {
      stop()
      throw error
    }
  }

  /// Makes a node the only member of its cluster, by changing the node's log. The node must be stopped.
  static func leaveAlone(_ id: UInt64, _ address: NodeAddress, in directory: NodeDirectory) throws {
    let node = try created(id, address, in: directory)
    defer { dqlite_node_destroy(node) }
    let code = "\(address)".withCString { text in
      var member = dqlite_node_info_ext(
        size: UInt64(MemoryLayout<dqlite_node_info_ext>.size), id: id, address: UInt64(UInt(bitPattern: text)),
        dqlite_role: ClusterRole.voter.code)
      return dqlite_node_recover_ext(node, &member, 1)
    }
    guard code == 0 else { throw error(code, "recover the node in \(directory.path)", node) }
    try refuse(try directory.damaged(), in: directory.path)
  }

  private static func created(
    _ id: UInt64, _ address: NodeAddress, in directory: NodeDirectory
  ) throws -> OpaquePointer {
    try refuse(try directory.damaged(), in: directory.path)
    var node: OpaquePointer?
    let code = creating.withLock { _ in dqlite_node_create(id, "\(address)", directory.path, &node) }
    guard code == 0, let node else {
      defer { if let node { dqlite_node_destroy(node) } }
      throw error(code, "create a node in \(directory.path)", node)
    }
    return node
  }

  /// Stops the node, and unlocks its directory. Blocks until the node's thread has ended.
  func stop() {
    // After a fork, the node's thread exists only in the process that started the node.
    guard ForkGuard.generation == generation else { return }
    dqlite_node_stop(node)
    dqlite_node_destroy(node)
    directory.unlock()
  }

  private static func refuse(_ damaged: [String], in path: String) throws {
    guard let first = damaged.first else { return }
    throw SqlError(
      .corrupt,
      message: """
        the Raft log of the node is damaged, and commits may be missing: \(path)/\(first); remove the node, and join a \
        new node with another id and an empty directory
        """)
  }

  private static func error(_ code: Int32, _ what: String, _ node: OpaquePointer?) -> SqlError {
    let text = node.flatMap { dqlite_node_errmsg($0) }.map { String(cString: $0) } ?? ""
    let kind: SqlError.Kind =
      switch code {
      case 22: .full
      case 12: .corrupt
      case 18: .io
      default: .cannotOpen
      }
    let reason =
      switch code {
      case 22: "no space left on device"
      case _ where text.isEmpty: "dqlite's error \(code)"
      default: text
      }
    return SqlError(kind, message: "can't \(what): \(reason)")
  }
}

/// Ignores SIGPIPE. Otherwise a write to a connection that the peer has closed would end the process.
private func ignoreBrokenPipes() {
  var action = sigaction()
  guard sigaction(SIGPIPE, nil, &action) == 0, action.__sigaction_handler.sa_handler == nil else { return }
  _ = signal(SIGPIPE, SIG_IGN)
}

extension NodeAddress {
  /// Tests whether a node can listen on the address, because dqlite does not report the reason for a failure.
  fileprivate func testListening() throws {
    try withSocketAddress { address, length in
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw SqlError.system("listen on", "\(self)", errno) }
      defer { close(descriptor) }
      var reuse: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
      guard bind(descriptor, address, length) == 0, listen(descriptor, 1) == 0 else {
        let code = errno
        throw SqlError(.cannotOpen, message: "can't listen on \(self): \(String(cString: strerror(code)))")
      }
    }
  }
}
#endif
