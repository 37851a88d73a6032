#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// Creates the node that owns a directory, with the recorded id and address.
  ///
  /// ```swift
  /// let node = try SqliteClusterNode(recordedIn: "/var/lib/bikes/node")
  /// try await node.recoverAlone()
  /// ```
  ///
  /// Only reads the record; the node is not started. Throws `.cannotOpen` if the directory does not belong to a node,
  /// and `.corrupt` if the record can't be read. Also throws the errors of `init(id:address:directory:configuration:)`.
  public convenience init(recordedIn directory: String, configuration: ClusterNodeConfiguration = .init()) throws {
    let record = try NodeDirectory.record(at: directory)
    try self.init(id: record.id, address: record.address, directory: directory, configuration: configuration)
  }

  /// Makes this node the only member of its cluster, after the permanent loss of a majority of the voters. The node
  /// must be stopped before the call, and is stopped after the call.
  ///
  /// ```swift
  /// try await node.recoverAlone()
  /// try await node.start()
  /// ```
  ///
  /// Commits that only the lost nodes stored are lost. If several nodes remain, recover the node with the highest
  /// ``Health/term``. Among nodes with equal terms, choose the node with the highest number in its file names. Delete
  /// the directories of the other nodes, and let new nodes join. If an old node starts again, the old nodes might elect
  /// a separate leader.
  ///
  /// Throws `.misuse` if the node is running, if the node never joined a cluster, or if a majority of the voters
  /// answers. Also throws the errors of `start`.
  public func recoverAlone() async throws {
    try await inTurn { [self] in
      guard !isRunning else { throw SqlError.misuse("node \(id) can't be recovered: it is running") }
      let (directory, record) = try await lockDirectory()
      guard record?.hasJoined == true else { throw SqlError.misuse("node \(id) has not joined a cluster") }
      // Only a running node can list the other nodes.
      try await launch(in: directory)
      do { try await refuseToRecoverAmongOthers() } catch {
        try? await halt()
        throw error
      }
      try await halt()
      let (id, address) = (id, nodeAddress)
      // Lock the directory again, because stopping the node released the lock.
      let locked = try await lockDirectory().directory
      try await blocking { try RunningNode.leaveAlone(id, address, in: locked) }
    }
  }

  private func refuseToRecoverAmongOthers() async throws {
    let deadline = ContinuousClock.now + .seconds(2)
    guard let members = await state(before: deadline)?.members else {
      throw SqlError(.io, message: "node \(id) does not answer")
    }
    let voters = members.filter { $0.role == .voter }.map(\.id)
    let silent = await ClusterMembership.silentVoters(
      of: members.filter { $0.id != id }, before: .now + .seconds(2))
    guard voters.count - silent.count <= voters.count / 2 else {
      throw SqlError.misuse("the cluster needs no recovery: a majority of the voters answers")
    }
  }
}
#endif
