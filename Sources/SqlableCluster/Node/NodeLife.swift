#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// Starts the node. The node creates a cluster, joins a cluster, or resumes in its cluster.
  ///
  /// ```swift
  /// try await first.start()
  /// try await second.start(joining: ["10.0.0.1:9001", "10.0.0.3:9001"])
  /// ```
  ///
  /// Node 1 with a new directory creates a cluster. Every other new node joins the cluster of the named nodes; one
  /// answering node is enough. The new node becomes a voter if the cluster has fewer than three voters, otherwise a
  /// stand-by. The call returns when the node has its role and all commits. A node that joined earlier starts without
  /// asking other nodes, and ignores `nodes`. Does nothing if the node is running.
  ///
  /// If the call throws, the node is not running. Throws `.misuse` for the directory of another node, for a new node
  /// without `nodes`, and for an id or address that another member has. Throws `.busy` if any process runs a node in
  /// the directory. Throws `.cannotOpen` if the directory or the address is unusable, and `.full` if the disk has too
  /// little space. Throws `.corrupt` if a part of the log is damaged or missing. Throws `.unavailable` if the cluster
  /// has no leader within 30 seconds, or before the deadline of `withDeadline`.
  public func start(joining nodes: [String] = []) async throws {
    let nodesToJoin = try nodes.map { try NodeAddress($0, "the address to join") }.filter { $0 != nodeAddress }
    let deadline = Deadline.after(.seconds(30))
    try await inTurn { [self] in
      guard !isRunning else { return }
      let (directory, existingRecord) = try await lockDirectory()
      var record = existingRecord ?? .init(id: id, address: address)
      if record.hasJoined {
        try await launch(in: directory)
      } else if id == 1 {
        guard nodesToJoin.isEmpty else { throw SqlError.firstNodeJoins }
        try await launch(in: directory, writing: record)
      } else {
        guard !nodesToJoin.isEmpty else {
          throw SqlError.misuse("node \(id) has not joined a cluster; pass addresses of the cluster's nodes")
        }
        let membership = ClusterMembership(ClusterLeader(nodes: nodesToJoin))
        let members = try await membership.members(before: deadline)
        let member = try ClusterMembership.member(id, nodeAddress, of: members)
        // A voter that has lost its log has also lost commits that it acknowledged. Its vote could elect a leader
        // without these commits.
        guard member == nil || existingRecord != nil else { throw SqlError.lostDirectory(id) }
        try await launch(in: directory, writing: record)
        do {
          try await membership.join(id, nodeAddress, before: deadline)
          // Wait for the role: `join` returns when the cluster has committed the role, but this node can receive the
          // commit later.
          while await !hasFinalRole(before: deadline) {
            guard deadline > .now else { throw SqlError.unavailable(nil) }
            try await Task.sleep(for: .milliseconds(20))
          }
        } catch {
          try? await halt()
          throw error
        }
      }
      guard !record.hasJoined || existingRecord == nil else { return }
      record.hasJoined = true
      try directory.write(record)
    }
  }

  /// Records this node as the owner of the directory, and starts dqlite. Removes the record from a new directory if the
  /// start fails before dqlite has written a log.
  private func launch(in directory: NodeDirectory, writing record: NodeDirectory.Record) async throws {
    let isNew = try directory.record() == nil
    try directory.write(record)
    do { try await launch(in: directory) } catch {
      if isNew, try !directory.hasLog() { try directory.removeRecord() }
      throw error
    }
  }

  /// Stops the node. If the node is the leader and another voter can take over, leadership is transferred first. Does
  /// nothing if the node is not running.
  ///
  /// A `start` that is still waiting is cancelled. The node can be started again, also by another object or process.
  public func stop() async throws {
    cancelTurns()
    try await inTurn(isCancellable: false) { [self] in
      if isRunning { await handOver() }
      try await halt()
    }
  }

  /// Waits while the node is running. Stops the node when the task is cancelled.
  ///
  /// ```swift
  /// try await node.start(joining: others)
  /// try await node.runUntilCancelled()
  /// ```
  ///
  /// Throws the node's ``stopReason`` if the node stopped because of an error.
  public func runUntilCancelled() async throws {
    do {
      while isRunning { try await Task.sleep(for: .milliseconds(100)) }
    } catch {
      // A new task stops the node, because stopping sends requests, and the present task is cancelled.
      try await Task { try await stop() }.value
    }
    if let reason = stopReason { throw reason }
  }

  /// Removes the node from its cluster, and stops the node. If the node is a voter, nodes that answer are first
  /// promoted until three other voters exist: stand-bys first, then spares. If the node is the leader, another voter
  /// becomes the leader first.
  ///
  /// The directory and the id can't be used again. Throws `.misuse` if the node is not running, or is the only node of
  /// its cluster. Throws `.unavailable` if the cluster has no leader within 30 seconds, or before the deadline of
  /// `withDeadline`; the node then keeps running.
  public func leave() async throws {
    let deadline = Deadline.after(.seconds(30))
    try await inTurn { [self] in
      guard let directory = lockedDirectory else { throw SqlError.misuse("node \(id) can't leave: it is not running") }
      // Ask the node for the members: a node that is not a voter can't name the leader, but can list the voters.
      let members = await state(before: deadline)?.members ?? []
      let nodes = Set([nodeAddress] + members.compactMap { try? NodeAddress($0.address) })
      try await ClusterMembership(ClusterLeader(nodes: Array(nodes))).remove(id, before: deadline)
      var record = NodeDirectory.Record(id: id, address: address)
      (record.hasJoined, record.hasLeft) = (true, true)
      try directory.write(record)
      try await halt()
    }
  }

  /// Returns true if the node reports a leader, and its own role as voter or stand-by.
  private func hasFinalRole(before deadline: ContinuousClock.Instant) async -> Bool {
    guard let state = await state(before: deadline), state.leader != nil else { return false }
    return state.members.contains { $0.id == id && $0.role != .spare }
  }

  /// Hands the leadership to another voter. If no voter takes over within 3 seconds, the other nodes elect a leader.
  private func handOver() async {
    let deadline = ContinuousClock.now + .seconds(3)
    guard let connection = try? await NodeConnection.open(to: nodeAddress, before: deadline) else { return }
    defer { connection.close() }
    guard case .node(id, _) = try? await connection.send(.leader, before: deadline),
      case .nodes(let members) = try? await connection.send(.nodes, before: deadline)
    else { return }
    for member in members where member.role == .voter && member.id != id {
      guard await NodeConnection.answers(member.address),
        case .empty = try? await connection.send(.transfer(id: member.id), before: deadline)
      else { continue }
      // Don't wait for the transfer: the new leader starts to lead before this node notices.
      return
    }
  }
}

extension SqlError {
  fileprivate static var firstNodeJoins: SqlError {
    misuse(
      """
      node 1 always starts a new cluster, and can't join an existing cluster; to replace a lost node, join a new node \
      with an id that the cluster never had
      """)
  }

  fileprivate static func lostDirectory(_ id: UInt64) -> SqlError {
    misuse(
      """
      the cluster already has a node \(id), but this directory is new; remove node \(id), and join a new node with an \
      id that the cluster never had
      """)
  }
}
#endif
