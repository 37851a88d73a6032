import ArgumentParser
import Foundation
import Sqlable
import SqlableCluster

struct LoneRecovery: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover-alone",
    abstract: "Makes the node of a directory the only node of its cluster; needs the package trait ClusterNode.",
    discussion: """
      Use this after the permanent loss of a majority of the voters. Commits that only the other nodes have are lost. \
      Delete the directories of the other nodes: if they start again, they may elect another leader. The node must not \
      run.
      """)

  @Argument(help: "The directory of the node.")
  var directory: String

  @Flag(help: "Confirm that all other copies of the databases become useless.")
  var abandonOtherCopies = false

  @Option(
    help: ArgumentHelp("The address to listen on, if different from the address of the node.", valueName: "host:port"))
  var bind: String?

  @Flag(help: "Allow an address other than loopback.")
  var allowUnencryptedNetwork = false

  #if ClusterNode
  func run() async throws {
    let configuration = ClusterNodeConfiguration(
      bindAddress: bind, allowsUnencryptedNetwork: allowUnencryptedNetwork)
    let node = try SqliteClusterNode(recordedIn: directory, configuration: configuration)
    guard abandonOtherCopies else {
      throw FileProblem(
        description: """
          Nothing was changed. recover-alone would make node \(node.id) in \(directory) the only node of its cluster, \
          and would lose commits that only other nodes have. The other nodes must never start again: delete their \
          directories, and join new nodes. Use --abandon-other-copies to confirm
          """)
    }
    try await node.recoverAlone()
    let text = """
      node \(node.id) is now the only node of its cluster; start it again with the same directory and address
      delete the directories of all other nodes, and join new nodes with ids that the cluster never had

      """
    Output.write(text, to: STDOUT_FILENO)
  }
  #else
  func run() throws { throw FileProblem.needsTrait("ClusterNode") }
  #endif
}
