import ArgumentParser
import BikeService

@main
struct BikeServer: AsyncParsableCommand {
  @Option(help: "The database, made when it is missing.")
  var database = "bikes.sqlite"

  @Option(help: "Where to listen. Only this machine is served by default.")
  var hostname = "127.0.0.1"

  @Option(help: "Which port to listen on.")
  var port = 8080

  @Option(help: "How many seconds a request has, waiting included. Not for --cluster.")
  var deadline = 2

  @Flag(help: "Keep the bicycles on a cluster, of which this process is a node. Needs --traits Cluster.")
  var cluster = false

  @Option(help: "With --cluster: the number of the node; the first has 1.")
  var id = 1

  @Option(help: "With --cluster: where the node listens, for other nodes and their clients.")
  var node = "127.0.0.1:9000"

  @Option(help: "With --cluster: the directory of the node, made when it is missing.")
  var directory = "node"

  @Option(help: "With --cluster: the addresses of other nodes, separated by commas; none for the first.")
  var join = ""

  func run() async throws {
    guard (1...86_400).contains(deadline) else {
      throw ValidationError("--deadline must be between 1 and 86400 seconds")
    }
    guard !cluster || deadline == 2 else { throw ValidationError("--deadline is not for --cluster") }
    guard cluster else {
      var service = try BikeService(filepath: database)
      service.deadline = .seconds(deadline)
      return try await service.run(hostname: hostname, port: port)
    }
    #if Cluster
    let nodes = join.split(separator: ",").map { String($0) }
    try await ClusterBikeService(id: UInt64(id), address: node, directory: directory, joining: nodes)
      .run(hostname: hostname, port: port)
    #else
    throw ValidationError("--cluster needs a build with --traits Cluster")
    #endif
  }
}
