import Foundation
import Sqlable

/// `sqlable cluster`: lists and changes the nodes of a cluster.
struct ClusterCommand: Subcommand {
  static let name = "cluster"
  static let summary = "lists the nodes of a cluster, removes one, gives one a role; needs the package trait Cluster"
  static let usage = """
    Usage: sqlable cluster HOST:PORT… [--remove NUMBER | --assign NUMBER=ROLE | --lead NUMBER] [--json]

    Asks the leader of a cluster, which it finds through the nodes that are named: one that answers is enough. Lists the
    nodes with their roles, after a change if one is asked for. Needs the package trait Cluster.

      HOST:PORT                    a node of the cluster
      --remove NUMBER              remove the node with this id, such as one whose machine is lost
      --assign NUMBER=ROLE         make a node a voter, a standby or a spare
      --lead NUMBER                make a voter the leader
      --json                       print JSON

    Exit codes: 0 done, 1 it can't be done, 2 a mistake on the command line.
    """
  static let options: Set<String> = ["--remove", "--assign", "--lead"]
  static let flags: Set<String> = ["--json"]

  private enum Change {
    case remove(UInt64)
    case assign(UInt64, role: String)
    case lead(UInt64)
  }

  private let nodes: [String]
  private let change: Change?
  private let printsJSON: Bool

  init(_ arguments: Arguments) throws {
    guard !arguments.words.isEmpty else { throw UsageError(description: "cluster takes the address of a node") }
    (nodes, printsJSON) = (arguments.words, arguments.has("--json"))
    func id(_ text: some StringProtocol, _ option: String) throws -> UInt64 {
      guard let id = UInt64(text), id > 0 else { throw UsageError(description: "\(option) takes the id of a node") }
      return id
    }
    var changes: [Change] = []
    if let text = try arguments.value("--remove") { changes.append(.remove(try id(text, "--remove"))) }
    if let text = try arguments.value("--lead") { changes.append(.lead(try id(text, "--lead"))) }
    if let text = try arguments.value("--assign") {
      let parts = text.split(separator: "=", omittingEmptySubsequences: false)
      guard parts.count == 2, ["voter", "standby", "spare"].contains(parts[1]) else {
        throw UsageError(description: "--assign takes NUMBER=voter, NUMBER=standby or NUMBER=spare")
      }
      changes.append(.assign(try id(parts[0], "--assign"), role: String(parts[1])))
    }
    guard changes.count <= 1 else {
      throw UsageError(description: "--remove, --assign and --lead exclude each other")
    }
    change = changes.first
  }

  #if Cluster
  func run() throws -> Int32 {
    let cluster = try SqliteCluster(nodes: nodes)
    let change = change
    let members = try awaited {
      switch change {
      case .remove(let id): try await cluster.removeMember(id)
      case .assign(let id, let role): try await cluster.assign(ClusterRole(rawValue: role) ?? .spare, to: id)
      case .lead(let id): try await cluster.transferLeadership(to: id)
      case nil: break
      }
      return try await cluster.members()
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
