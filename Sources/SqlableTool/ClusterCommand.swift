import Foundation
import Sqlable

/// `sqlable cluster`: lists and changes the nodes of a cluster, backs its database up and restores it.
struct ClusterCommand: Subcommand {
  static let name = "cluster"
  static let summary = "lists and changes the nodes of a cluster, backs it up; needs the package trait Cluster"
  static let usage = """
    Usage: sqlable cluster HOST:PORT… [--remove NUMBER | --assign NUMBER=ROLE | --lead NUMBER] [--json]
           sqlable cluster HOST:PORT… --backup FILE | --restore FILE [--database NAME] [--seconds NUMBER]
           sqlable cluster health HOST:PORT… [--database NAME] [--seconds NUMBER]
           sqlable cluster leave NUMBER HOST:PORT…
           sqlable cluster recover-alone DIRECTORY --abandon-other-copies [--bind HOST:PORT]
             [--allow-unencrypted-network]

    Asks the leader of a cluster, which it finds through the nodes that are named: one that answers is enough. Lists the
    nodes with their roles, after a change if one is asked for; or backs a database of the cluster up into a file, or
    replaces its contents with those of a file. Needs the package trait Cluster.

    health reads and writes, asks all voters whether they answer, and prints a line for each problem.

    leave takes a node that answers out of the cluster: a stand-by becomes a voter in its place, and another voter leads
    if it did. A process of sqlable node ends a few seconds later. --remove removes a node that is lost.

    recover-alone makes the node of a directory the only one of its cluster, after a majority of the voters is lost for
    good. What only the others have is lost, and their directories must be deleted: one that starts again may elect a
    leader of its own. The node must not run. Needs the package trait ClusterNode.

      HOST:PORT                    a node of the cluster
      --remove NUMBER              remove the node with this id, such as one whose machine is lost
      --assign NUMBER=ROLE         make a node a voter, a standby or a spare
      --lead NUMBER                make a voter the leader
      --backup FILE                back the database up into a file of SQLite
      --restore FILE               replace the database's contents with those of a file of SQLite
      --database NAME              the database to back up, to restore or to write to; main without it
      --seconds NUMBER             how long a backup or restore may take, 600 without it, or health, 5 without it
      --abandon-other-copies       do it, although all other copies of the databases are of no use afterwards
      --bind HOST:PORT             where the node listens, if that is not its address
      --allow-unencrypted-network  the node has an address other than loopback
      --json                       print JSON

    Exit codes: 0 done, or healthy; 1 it can't be done, or there are problems; 2 a mistake on the command line.
    """
  static let options: Set<String> = [
    "--remove", "--assign", "--lead", "--backup", "--restore", "--database", "--seconds", "--bind",
  ]
  static let flags: Set<String> = ["--json", "--abandon-other-copies", "--allow-unencrypted-network"]

  private enum Change {
    case health
    case leave(UInt64)
    case remove(UInt64)
    case assign(UInt64, role: String)
    case lead(UInt64)
    case backup(String)
    case restore(String)
  }

  private let nodes: [String]
  private let change: Change?
  private let database: String
  private let limit: Duration
  private let printsJSON: Bool
  private let recovery: LoneRecovery?

  init(_ arguments: Arguments) throws {
    guard !arguments.words.isEmpty else { throw UsageError(description: "cluster takes the address of a node") }
    printsJSON = arguments.has("--json")
    recovery = try LoneRecovery(arguments)
    func id(_ text: some StringProtocol, _ option: String) throws -> UInt64 {
      guard let id = UInt64(text), id > 0 else { throw UsageError(description: "\(option) takes the id of a node") }
      return id
    }
    var changes: [Change] = []
    var words = arguments.words[...]
    switch words.first {
    case "health":
      words = words.dropFirst()
      changes.append(.health)
    case "leave":
      changes.append(.leave(try id(words.dropFirst().first ?? "", "leave")))
      words = words.dropFirst(2)
    default: break
    }
    nodes = Array(words)
    guard !nodes.isEmpty else { throw UsageError(description: "\(arguments.words[0]) takes the address of a node") }
    if let text = try arguments.value("--remove") { changes.append(.remove(try id(text, "--remove"))) }
    if let text = try arguments.value("--lead") { changes.append(.lead(try id(text, "--lead"))) }
    if let text = try arguments.value("--assign") {
      let parts = text.split(separator: "=", omittingEmptySubsequences: false)
      guard parts.count == 2, ["voter", "standby", "spare"].contains(parts[1]) else {
        throw UsageError(description: "--assign takes NUMBER=voter, NUMBER=standby or NUMBER=spare")
      }
      changes.append(.assign(try id(parts[0], "--assign"), role: String(parts[1])))
    }
    if let path = try arguments.value("--backup") { changes.append(.backup(path)) }
    if let path = try arguments.value("--restore") { changes.append(.restore(path)) }
    guard changes.count <= 1 else {
      throw UsageError(
        description: "health, leave, --remove, --assign, --lead, --backup and --restore exclude each other")
    }
    change = changes.first
    let isCopy: Bool
    switch change {
    case .backup, .restore: isCopy = true
    case .health:
      guard !printsJSON else { throw UsageError(description: "health prints lines, and takes no --json") }
      isCopy = true
    default: isCopy = false
    }
    let (database, seconds) = (try arguments.value("--database"), try arguments.value("--seconds"))
    guard isCopy || (database == nil && seconds == nil) else {
      throw UsageError(description: "--database and --seconds belong to health, --backup and --restore")
    }
    let usual = if case .health = change { "5" } else { "600" }
    guard let limit = Int(seconds ?? usual), 1...1_000_000 ~= limit else {
      throw UsageError(description: "--seconds takes a number from 1 to 1000000")
    }
    self.database = database ?? "main"
    self.limit = .seconds(limit)
  }

  #if Cluster
  func run() throws -> Int32 {
    if let recovery { return try recovery.run() }
    var configuration = ClusterConfiguration()
    configuration.database = database
    let cluster = try SqliteCluster(nodes: nodes, configuration: configuration)
    let (change, limit) = (change, limit)
    if case .health = change {
      let health = try awaited { await cluster.health(within: limit) }
      let lines = health.isHealthy ? ["healthy"] : health.problems.map { "\($0)" }
      Output.write(lines.map { $0 + "\n" }.joined().visible(keeping: ["\n"]), to: STDOUT_FILENO)
      return health.isHealthy ? 0 : 1
    }
    let members: [ClusterMember]? = try awaited {
      switch change {
      case .health: break
      case .leave(let id): try await cluster.retireMember(id)
      case .backup(let path):
        try await cluster.backup(to: path, timeLimit: limit)
        return nil
      case .restore(let path):
        try await cluster.restore(from: path, timeLimit: limit)
        return nil
      case .remove(let id): try await cluster.removeMember(id)
      case .assign(let id, let role): try await cluster.assign(ClusterRole(rawValue: role) ?? .spare, to: id)
      case .lead(let id): try await cluster.transferLeadership(to: id)
      case nil: break
      }
      return try await cluster.members()
    }
    guard let members else {
      Output.write("done\n", to: STDOUT_FILENO)
      return 0
    }
    let text = members.map { "\($0.id)  \($0.address)  \($0.role)\n" }.joined()
    Output.write(printsJSON ? try Output.json(members) : text.visible(keeping: ["\n"]), to: STDOUT_FILENO)
    return 0
  }
  #else
  func run() throws -> Int32 {
    throw FileProblem(
      description: "cluster needs the package trait Cluster: swift run --traits Cluster sqlable cluster …")
  }
  #endif
}
