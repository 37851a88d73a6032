#if ClusterNode
extension SqliteClusterNode {
  /// Starts the node: begins a cluster, or goes on in the one that the node belongs to.
  public func start() async throws {
    try await inTurn { [self] in
      guard !isRunning else { return }
      let (directory, record) = try await lockDirectory()
      guard id == 1 || record?.hasJoined == true else {
        throw SqlError.misuse("node \(id) is not in a cluster yet: name nodes of the one to join")
      }
      var kept = record ?? .init(id: id, address: address, hasJoined: false)
      try directory.write(kept)
      try await launch(in: directory)
      kept.hasJoined = true
      try directory.write(kept)
    }
  }

  /// Stops the node.
  public func stop() async throws {
    cancelTurns()
    try await inTurn { [self] in try await halt() }
  }
}
#endif
