#if Lifecycle
import ServiceLifecycle
import Sqlable
import SqlableCluster
import SqlableTenants

/// Needs the package trait `Lifecycle`.
extension SqlitePool: Service {
  /// Waits for a graceful shutdown or a cancellation, then closes the pool within 10 seconds; see
  /// ``run(closingWithin:)``.
  ///
  /// ```swift
  /// try await ServiceGroup(services: [pool, server], gracefulShutdownSignals: [.sigterm], logger: logger).run()
  /// ```
  ///
  /// A group shuts services down in reverse order, so list the pool before the services that use the pool.
  public func run() async throws { try await run(closingWithin: .seconds(10)) }

  /// Waits for a graceful shutdown or a cancellation, then closes the pool.
  ///
  /// ```swift
  /// ClosureService { try await pool.run(closingWithin: .seconds(2)) }
  /// ```
  ///
  /// After the shutdown starts, new calls throw `.closed`. Calls that already run or wait have `duration` to end. Then
  /// the pool interrupts the remaining calls and rolls them back. Loops over changes and live results end, and the pool
  /// writes a checkpoint and closes its handles. Throws the errors of `close(within:)`, also after a cancellation.
  public func run(closingWithin duration: Duration) async throws {
    // Ignore the error of a cancellation, because a cancellation also closes the pool.
    try? await gracefulShutdown()
    try await close(within: duration)
  }
}

/// Needs the package trait `Lifecycle`.
extension SqliteTenants: Service {
  /// Waits for a graceful shutdown or a cancellation, then closes all tenants within 10 seconds.
  ///
  /// ```swift
  /// try await ServiceGroup(services: [tenants, server], gracefulShutdownSignals: [.sigterm], logger: logger).run()
  /// ```
  ///
  /// A group shuts services down in reverse order, so list the tenants before the services that use them. Throws the
  /// errors of `close(within:)`.
  public func run() async throws {
    try? await gracefulShutdown()
    try await close(within: .seconds(10))
  }
}

#if Cluster
/// Needs the package trait `Lifecycle`.
extension SqliteCluster: Service {
  /// Waits for a graceful shutdown or a cancellation, then closes the client.
  ///
  /// ```swift
  /// try await ServiceGroup(services: [node, cluster, server], logger: logger).run()
  /// ```
  ///
  /// A group shuts services down in reverse order, so list the client before the services that use the client. Calls
  /// that wait when the client closes throw `.closed`.
  public func run() async throws {
    try? await gracefulShutdown()
    close()
  }
}
#endif

#if ClusterNode
/// Needs the package trait `Lifecycle`.
extension SqliteClusterNode: Service {
  /// Waits while the node runs. A graceful shutdown or a cancellation stops the node, which then hands over leadership.
  ///
  /// ```swift
  /// try await node.start(joining: others)
  /// try await ServiceGroup(services: [node, cluster, server], logger: logger).run()
  /// ```
  ///
  /// A group shuts services down in reverse order, so list the node before the clients of this process. If the node
  /// stops by itself, throws the node's `stopReason`, which ends the group.
  public func run() async throws {
    try await cancelWhenGracefulShutdown { try await self.runUntilCancelled() }
  }
}
#endif
#endif
