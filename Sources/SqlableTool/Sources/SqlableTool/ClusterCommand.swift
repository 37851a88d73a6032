import ArgumentParser
import Foundation
import Sqlable
import SqlableCluster

struct ClusterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster",
    abstract: "Lists and changes the nodes of a cluster, or backs up a database; needs the package trait Cluster.",
    discussion: """
      Asks the leader of a cluster. One named node that answers is enough to find the leader. sqlable cluster \
      HOST:PORT is short for sqlable cluster members HOST:PORT.

      Exit codes: 0 done, or healthy; 1 failed, or not healthy; 2 a mistake on the command line.
      """,
    subcommands: [ClusterMembersCommand.self, ClusterHealthCommand.self, ClusterLeaveCommand.self, LoneRecovery.self],
    defaultSubcommand: ClusterMembersCommand.self)
}

struct ClusterPlace: ParsableArguments {
  @Argument(help: ArgumentHelp("A node of the cluster.", valueName: "host:port"))
  var nodes: [String]

  #if Cluster
  func cluster(database: String? = nil) throws -> SqliteCluster {
    var configuration = ClusterConfiguration()
    if let database { configuration.database = database }
    return try SqliteCluster(nodes: nodes, configuration: configuration)
  }
  #endif
}

#if Cluster
extension SqliteCluster {
  func printMembers(asJSON: Bool) async throws {
    let members = try await members()
    let text = members.map { "\($0.id)  \($0.address)  \($0.role)\n" }.joined()
    Output.write(asJSON ? try Output.json(members) : text.visible(keeping: ["\n"]), to: STDOUT_FILENO)
  }
}
#endif

struct ClusterHealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Reads, writes, checks that all voters answer, and prints a line for each problem.")

  @OptionGroup var location: ClusterPlace

  @Option(help: ArgumentHelp("The database to write to.", valueName: "name"))
  var database = "main"

  @Option(
    help: ArgumentHelp("The time limit in seconds; 5 by default.", valueName: "number"),
    transform: number(1...1_000_000))
  var seconds = 5

  func run() async throws {
    #if Cluster
    let health = try await location.cluster(database: database).health(within: .seconds(seconds))
    let lines = health.isHealthy ? ["healthy"] : health.problems.map { "\($0)" }
    Output.write(lines.map { $0 + "\n" }.joined().visible(keeping: ["\n"]), to: STDOUT_FILENO)
    if !health.isHealthy { throw ExitCode.failure }
    #else
    throw FileProblem.needsTrait("Cluster")
    #endif
  }
}

struct ClusterLeaveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "leave", abstract: "Removes a reachable node from its cluster.",
    discussion: """
      A standby becomes a voter in place of the node, and another voter becomes the leader if the node was the leader. \
      The process of sqlable node exits a few seconds later. Prints the remaining nodes.
      """)

  @Argument(help: ArgumentHelp("The id of the node.", valueName: "number"), transform: number(1...UInt64.max))
  var id: UInt64

  @OptionGroup var location: ClusterPlace

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    #if Cluster
    let cluster = try location.cluster()
    try await cluster.retireMember(id)
    try await cluster.printMembers(asJSON: json)
    #else
    throw FileProblem.needsTrait("Cluster")
    #endif
  }
}
