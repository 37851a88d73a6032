#if Lifecycle
import ServiceLifecycle
import Sqlable
import SqlableCluster

/// Needs the package trait `Lifecycle`.
extension SqlitePool: Service {
  /// Waits for a graceful shutdown or a cancellation, and closes the pool, as ``run(closingWithin:)`` does, within 10
  /// seconds.
  ///
  /// ```swift
  /// try await ServiceGroup(services: [pool, server], gracefulShutdownSignals: [.sigterm], logger: logger).run()
  /// ```
  ///
  /// A group shuts services down in reverse order: the pool stands before those that use it.
  public func run() async throws { try await run(closingWithin: .seconds(10)) }

  /// Waits for a graceful shutdown or a cancellation, and closes the pool.
  ///
  /// ```swift
  /// ClosureService { try await pool.run(closingWithin: .seconds(2)) }
  /// ```
  ///
  /// From then on new calls throw `.closed`. Those that run or wait have `duration` to end, then they are interrupted
  /// and rolled back. Then loops over changes and live results end, and the pool writes a checkpoint and closes its
  /// handles. Throws what `close(within:)` throws, also after a cancellation.
  public func run(closingWithin duration: Duration) async throws {
    // A cancellation is thrown, and is a reason to close as well.
    try? await gracefulShutdown()
    try await close(within: duration)
  }
}

#if Cluster
/// Needs the package trait `Lifecycle`.
extension SqliteCluster: Service {
  /// Waits for a graceful shutdown or a cancellation, and closes the client.
  ///
  /// ```swift
  /// try await ServiceGroup(services: [node, cluster, server], logger: logger).run()
  /// ```
  ///
  /// A group shuts services down in reverse order: the client stands before those that use it. Calls that still wait
  /// then throw `.closed`.
  public func run() async throws {
    try? await gracefulShutdown()
    close()
  }
}
#endif

#if ClusterNode
/// Needs the package trait `Lifecycle`.
extension SqliteClusterNode: Service {
  /// Waits while the node runs, and stops it at a graceful shutdown or a cancellation; then it hands over leadership.
  ///
  /// ```swift
  /// try await node.start(joining: others)
  /// try await ServiceGroup(services: [node, cluster, server], logger: logger).run()
  /// ```
  ///
  /// A group shuts services down in reverse order: the node stands before the clients of this process. Throws the
  /// node's `stopReason` if it stopped by itself, which ends the group.
  public func run() async throws {
    try await cancelWhenGracefulShutdown { try await self.runUntilCancelled() }
  }
}
#endif
#endif
