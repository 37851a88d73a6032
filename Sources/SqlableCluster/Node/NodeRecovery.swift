#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// Makes the node whose directory it is, with the id and address that are recorded there.
  ///
  /// ```swift
  /// let node = try SqliteClusterNode(recordedIn: "/var/lib/bikes/node")
  /// try await node.recoverAlone()
  /// ```
  ///
  /// Reads the record, and starts nothing. Throws `.cannotOpen` if the directory is not that of a node, `.corrupt` if
  /// the record can't be read, and what the other initializer throws.
  public convenience init(recordedIn directory: String, configuration: ClusterNodeConfiguration = .init()) throws {
    let record = try NodeDirectory.record(at: directory)
    try self.init(id: record.id, address: record.address, directory: directory, configuration: configuration)
  }

  /// Makes this node the only one of its cluster, after a majority of the voters is lost for good. It must not run, and
  /// does not afterwards.
  ///
  /// ```swift
  /// try await node.recoverAlone()
  /// try await node.start()
  /// ```
  ///
  /// What only the lost nodes had is lost. Of several nodes that are left take the one with the highest
  /// ``Health/term`` and, in that, the latest log; delete the directories of the others, and let new nodes join: an old
  /// one that starts again may elect a leader of its own.
  ///
  /// Throws `.misuse` if the node runs, if it was never in a cluster, and if a majority of the voters answers, and what
  /// `start` throws.
  public func recoverAlone() async throws {
    try await inTurn { [self] in
      guard !isRunning else { throw SqlError.misuse("node \(id) runs, and can't be recovered") }
      let (directory, record) = try await lockDirectory()
      guard record?.hasJoined == true else { throw SqlError.misuse("node \(id) is not in a cluster") }
      // The node knows the others once it runs.
      try await launch(in: directory)
      do { try await refuseToRecoverAmongOthers() } catch {
        try? await halt()
        throw error
      }
      try await halt()
      let (id, address) = (id, nodeAddress)
      // It was unlocked when the node stopped.
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
      throw SqlError.misuse("a majority of the voters answers, and elects a leader: nothing is to be recovered")
    }
  }
}
#endif
