#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// Starts the node: begins a cluster, joins one, or goes on in the one that it belongs to.
  ///
  /// ```swift
  /// try await first.start()
  /// try await second.start(joining: ["10.0.0.1:9001", "10.0.0.3:9001"])
  /// ```
  ///
  /// The node 1 with a new directory begins a cluster. Every other one joins that of the named nodes, of which one that
  /// answers is enough: as a voter while there are fewer than three, then as a stand-by. It returns when the node has
  /// its role and all commits. A node that has joined before starts without asking, whatever is named. Does nothing if
  /// the node runs.
  ///
  /// Nothing runs if it throws: `.misuse` for a directory of another node, an id or address that the cluster has given
  /// to another, and a new node that names no cluster; `.busy` if a node runs in the directory, in whichever process;
  /// `.cannotOpen` if the directory or the address can't be used; `.full` if the disk has too little space; `.corrupt`
  /// if a part of the log is damaged or missing; `.unavailable` if the cluster has no leader within 30 seconds, or
  /// before the deadline of `withDeadline`.
  public func start(joining nodes: [String] = []) async throws {
    let others = try nodes.map { try NodeAddress($0, "the address to join") }.filter { $0 != nodeAddress }
    let deadline = Deadline.after(.seconds(30))
    try await inTurn { [self] in
      guard !isRunning else { return }
      let (directory, found) = try await lockDirectory()
      var record = found ?? .init(id: id, address: address)
      if record.hasJoined {
        try await launch(in: directory)
      } else if id == 1 {
        guard others.isEmpty else { throw SqlError.firstNodeJoins }
        try await launch(in: directory, writing: record)
      } else {
        guard !others.isEmpty else {
          throw SqlError.misuse("node \(id) is not in a cluster yet: name nodes of the one to join")
        }
        let membership = ClusterMembership(ClusterLeader(nodes: others))
        let members = try await membership.members(before: deadline)
        let member = try ClusterMembership.member(id, nodeAddress, of: members)
        // A voter that has lost its log may vote for a leader without a commit that it has acknowledged.
        guard member == nil || found != nil else { throw SqlError.lostDirectory(id) }
        try await launch(in: directory, writing: record)
        do {
          try await membership.join(id, nodeAddress, before: deadline)
          // What makes it a stand-by is committed before it has that itself.
          while await !hasItsPlace(before: deadline) {
            guard deadline > .now else { throw SqlError.unavailable(nil) }
            try await Task.sleep(for: .milliseconds(20))
          }
        } catch {
          try? await halt()
          throw error
        }
      }
      guard !record.hasJoined || found == nil else { return }
      record.hasJoined = true
      try directory.write(record)
    }
  }

  /// Starts dqlite in a directory that is this node's from then on; if it does not start there, it is as before.
  private func launch(in directory: NodeDirectory, writing record: NodeDirectory.Record) async throws {
    let isNew = try directory.record() == nil
    try directory.write(record)
    do { try await launch(in: directory) } catch {
      if isNew, try !directory.hasLog() { try directory.removeRecord() }
      throw error
    }
  }

  /// Hands over leadership, if the node leads and another one can, and stops it. Does nothing if the node does not run.
  ///
  /// It ends what `start` is waiting for. The node can be started again, also by another object or process.
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
  /// Throws the node's ``stopReason`` if it stopped by itself.
  public func runUntilCancelled() async throws {
    do {
      while isRunning { try await Task.sleep(for: .milliseconds(100)) }
    } catch {
      // The task is cancelled, and stopping takes some requests.
      try await Task { try await stop() }.value
    }
    if let reason = stopReason { throw reason }
  }

  /// Takes the node out of its cluster, and stops it. If it was a voter a stand-by becomes one; if it leads, another
  /// voter does.
  ///
  /// The directory is of no use any more, nor is the id. Throws `.misuse` if the node does not run, or is the only one
  /// of its cluster, and `.unavailable` if there is no leader within 30 seconds, or before the deadline of
  /// `withDeadline`; then it goes on.
  public func leave() async throws {
    let deadline = Deadline.after(.seconds(30))
    try await inTurn { [self] in
      guard let directory = lockedDirectory else { throw SqlError.misuse("node \(id) does not run, and can't leave") }
      // A node that is no voter does not know the leader, but the voters.
      let members = await state(before: deadline)?.members ?? []
      let nodes = Set([nodeAddress] + members.compactMap { try? NodeAddress($0.address) })
      try await ClusterMembership(ClusterLeader(nodes: Array(nodes))).remove(id, before: deadline)
      var record = NodeDirectory.Record(id: id, address: address)
      (record.hasJoined, record.hasLeft) = (true, true)
      try directory.write(record)
      try await halt()
    }
  }

  /// Whether the node knows of the leader, and of its own role.
  private func hasItsPlace(before deadline: ContinuousClock.Instant) async -> Bool {
    guard let state = await state(before: deadline), state.leader != nil else { return false }
    return state.members.contains { $0.id == id && $0.role != .spare }
  }

  /// Makes another voter the leader, if this node leads. What does not succeed within seconds the others' vote does.
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
      // The new leader knows of itself before this node does.
      return
    }
  }
}

extension SqlError {
  fileprivate static var firstNodeJoins: SqlError {
    misuse(
      """
      node 1 begins a cluster, and has nothing to join; if it has lost its directory, let a new node join in its \
      place, with an id that the cluster never had
      """)
  }

  fileprivate static func lostDirectory(_ id: UInt64) -> SqlError {
    misuse(
      """
      the cluster has a node \(id), and this directory is new: remove that node, and let one join with an id that the \
      cluster never had
      """)
  }
}
#endif
