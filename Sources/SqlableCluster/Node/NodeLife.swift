#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// Starts the node: begins a cluster, joins a cluster, or resumes in the cluster that the node belongs to.
  ///
  /// ```swift
  /// try await first.start()
  /// try await second.start(joining: ["10.0.0.1:9001", "10.0.0.3:9001"])
  /// ```
  ///
  /// Node 1 with a new directory begins a cluster. Every other new node joins the cluster of the named nodes; one of
  /// them that answers is enough. The new node becomes a voter while there are fewer than three voters, and a stand-by
  /// after that. The call returns when the node has its role and all commits. A node that has joined before starts
  /// without asking, whatever nodes are named. Does nothing if the node runs.
  ///
  /// If the call throws, nothing runs. Throws `.misuse` for a directory of another node, and for a new node that names
  /// no cluster. Also throws `.misuse` for an id or address that the cluster has given to another node. Throws `.busy`
  /// if a node runs in the directory, in any process. Throws `.cannotOpen` if the directory or the address can't be
  /// used, and `.full` if the disk has too little space. Throws `.corrupt` if a part of the log is damaged or missing.
  /// Throws `.unavailable` if the cluster has no leader within 30 seconds, or before the deadline of `withDeadline`.
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
        // A voter that has lost its log could vote for a leader that lacks a commit the voter has acknowledged.
        guard member == nil || existingRecord != nil else { throw SqlError.lostDirectory(id) }
        try await launch(in: directory, writing: record)
        do {
          try await membership.join(id, nodeAddress, before: deadline)
          // The cluster commits the role of a stand-by before this node has received that commit.
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

  /// Records this node as the owner of the directory, and starts dqlite there. If the start fails before dqlite has
  /// written a log, a new directory loses its record again.
  private func launch(in directory: NodeDirectory, writing record: NodeDirectory.Record) async throws {
    let isNew = try directory.record() == nil
    try directory.write(record)
    do { try await launch(in: directory) } catch {
      if isNew, try !directory.hasLog() { try directory.removeRecord() }
      throw error
    }
  }

  /// Hands leadership over, if the node leads and another voter can take over, and stops the node. Does nothing if the
  /// node does not run.
  ///
  /// A `start` that still waits is cancelled. The node can be started again, also by another object or process.
  public func stop() async throws {
    cancelTurns()
    try await inTurn(isCancellable: false) { [self] in
      if isRunning { await handOver() }
      try await halt()
    }
  }

  /// Waits while the node runs, and stops it when the task is cancelled.
  ///
  /// ```swift
  /// try await node.start(joining: others)
  /// try await node.runUntilCancelled()
  /// ```
  ///
  /// Throws the ``stopReason`` of the node if the node stopped by itself.
  public func runUntilCancelled() async throws {
    do {
      while isRunning { try await Task.sleep(for: .milliseconds(100)) }
    } catch {
      // The task is cancelled, but stopping sends requests, so a new task stops the node.
      try await Task { try await stop() }.value
    }
    if let reason = stopReason { throw reason }
  }

  /// Removes the node from its cluster, and stops the node. If the node was a voter, a stand-by becomes a voter. If the
  /// node leads, another voter becomes the leader.
  ///
  /// The directory and the id can't be used again. Throws `.misuse` if the node does not run, or is the only node of
  /// its cluster. Throws `.unavailable` if there is no leader within 30 seconds, or before the deadline of
  /// `withDeadline`; the node then keeps running.
  public func leave() async throws {
    let deadline = Deadline.after(.seconds(30))
    try await inTurn { [self] in
      guard let directory = lockedDirectory else { throw SqlError.misuse("node \(id) can't leave: it is not running") }
      // A node that is not a voter does not know the leader, but knows the voters.
      let members = await state(before: deadline)?.members ?? []
      let nodes = Set([nodeAddress] + members.compactMap { try? NodeAddress($0.address) })
      try await ClusterMembership(ClusterLeader(nodes: Array(nodes))).remove(id, before: deadline)
      var record = NodeDirectory.Record(id: id, address: address)
      (record.hasJoined, record.hasLeft) = (true, true)
      try directory.write(record)
      try await halt()
    }
  }

  /// True if the node knows the leader, and its own role as a voter or stand-by.
  private func hasFinalRole(before deadline: ContinuousClock.Instant) async -> Bool {
    guard let state = await state(before: deadline), state.leader != nil else { return false }
    return state.members.contains { $0.id == id && $0.role != .spare }
  }

  /// Transfers leadership to another voter, if this node leads. If no transfer succeeds within 3 seconds, the other
  /// nodes elect a leader.
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
      // No need to wait: the new leader knows its role before this node does.
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
