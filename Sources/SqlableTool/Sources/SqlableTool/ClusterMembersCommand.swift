import ArgumentParser
import Foundation
import Sqlable
import SqlableCluster

struct ClusterMembersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "members", abstract: "Lists the nodes with their roles, after the requested change.",
    discussion: """
      Can also back up a database of the cluster into a file, or replace its contents with those of a file. --remove \
      removes a lost node; sqlable cluster leave removes a node that answers.
      """)

  @OptionGroup var location: ClusterPlace

  @Option(
    help: ArgumentHelp("Remove the node with this id, for example if its machine is lost.", valueName: "number"),
    transform: number(1...UInt64.max))
  var remove: UInt64?

  @Option(
    help: ArgumentHelp("Make a node a voter, a standby or a spare.", valueName: "number=role"),
    transform: Assignment.init)
  var assign: Assignment?

  @Option(help: ArgumentHelp("Make a voter the leader.", valueName: "number"), transform: number(1...UInt64.max))
  var lead: UInt64?

  @Option(help: ArgumentHelp("Back up the database into an SQLite file.", valueName: "file"))
  var backup: String?

  @Option(
    help: ArgumentHelp("Replace the contents of the database with those of an SQLite file.", valueName: "file"))
  var restore: String?

  @Option(help: ArgumentHelp("The database to back up or restore; main by default.", valueName: "name"))
  var database: String?

  @Option(
    help: ArgumentHelp("The time limit of a backup or restore in seconds; 600 by default.", valueName: "number"),
    transform: number(1...1_000_000))
  var seconds: Int?

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    let changes = [remove != nil, assign != nil, lead != nil, backup != nil, restore != nil]
    guard changes.count(where: \.self) <= 1 else {
      throw ValidationError("use only one of --remove, --assign, --lead, --backup and --restore")
    }
    guard backup != nil || restore != nil || (database == nil && seconds == nil) else {
      throw ValidationError("--database and --seconds need --backup or --restore")
    }
  }

  func run() async throws {
    #if Cluster
    let cluster = try location.cluster(database: database)
    let limit = Duration.seconds(seconds ?? 600)
    if let backup { try await cluster.backup(to: backup, timeLimit: limit) }
    if let restore { try await cluster.restore(from: restore, timeLimit: limit) }
    guard backup == nil, restore == nil else { return Output.write("done\n", to: STDOUT_FILENO) }
    if let remove { try await cluster.removeMember(remove) }
    if let assign { try await cluster.assign(ClusterRole(rawValue: assign.role) ?? .spare, to: assign.node) }
    if let lead { try await cluster.transferLeadership(to: lead) }
    try await cluster.printMembers(asJSON: json)
    #else
    throw FileProblem.needsTrait("Cluster")
    #endif
  }
}

/// The assignment of a role to a node: `2=spare`.
struct Assignment {
  let node: UInt64
  let role: String

  init(_ text: String) throws {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let node = UInt64(parts[0]), node > 0, ["voter", "standby", "spare"].contains(parts[1])
    else {
      throw ValidationError("expected NUMBER=voter, NUMBER=standby or NUMBER=spare")
    }
    (self.node, role) = (node, parts[1])
  }
}
