#if Cluster
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import Sqlable
import SqlableCluster
import SqlableIntegrations

/// The service as one of several copies, which are the cluster: each has a node, and serves the same bicycles.
public struct ClusterBikeService: Sendable {
  let node: SqliteClusterNode
  let cluster: SqliteCluster
  let nodes: [String]
  let logger: Logger

  /// - Parameter nodes: The addresses of other copies' nodes; none for the first, which begins the cluster.
  public init(
    id: UInt64, address: String, directory: String, joining nodes: [String],
    logger: Logger = Logger(label: "BikeService")
  ) throws {
    node = try SqliteClusterNode(id: id, address: address, directory: directory)
    var configuration = ClusterConfiguration()
    configuration.database = "bikes"
    cluster = try SqliteCluster(nodes: [address] + nodes, configuration: configuration)
    (self.nodes, self.logger) = (nodes, logger)
  }

  /// Runs until SIGTERM or SIGINT; then it hands leadership over.
  public func run(hostname: String, port: Int) async throws {
    try await node.start(joining: nodes)
    try await cluster.createTables(Bicycle.self)
    let router = Router()
    router.get("hello") { _, _ in "hello" }
    router.get("health") { _, _ in
      let health = await node.health()
      let problems = health.problems.map { "\($0)" }.joined(separator: ", ")
      return Response(
        status: health.isHealthy ? .ok : .serviceUnavailable,
        body: ResponseBody(byteBuffer: ByteBuffer(string: "\(health.isLeader ? "leads" : "follows") \(problems)\n")))
    }
    router.addMiddleware {
      SqlErrorMiddleware()
      // An election takes a second or two.
      DeadlineMiddleware(duration: .seconds(10))
    }
    BicycleRoutes(db: cluster) { bicycle, key in
      try await cluster.run(bicycle.insert(), id: key)
    }.add(to: router.group("bicycles"))
    let application = Application(
      router: router, configuration: .init(address: .hostname(hostname, port: port), serverName: "BikeService"),
      services: [
        ClosureService {
          try? await gracefulShutdown()
          cluster.close()
          try await node.stop()
        }
      ], logger: logger)
    var configuration = ServiceGroupConfiguration(
      services: [application], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    configuration.maximumGracefulShutdownDuration = .seconds(10)
    try await ServiceGroup(configuration: configuration).run()
  }
}
#endif
