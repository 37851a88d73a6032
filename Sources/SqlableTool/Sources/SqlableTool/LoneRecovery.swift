import ArgumentParser
import Foundation
import Sqlable
import SqlableCluster

/// `sqlable cluster recover-alone`: makes the node of a directory the only one of its cluster.
struct LoneRecovery: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover-alone",
    abstract: "Makes the node of a directory the only one of its cluster; needs the package trait ClusterNode.",
    discussion: """
      After a majority of the voters is lost for good. What only the others have is lost, and their directories must \
      be deleted: one that starts again may elect a leader of its own. The node must not run.
      """)

  @Argument(help: "The directory of the node.")
  var directory: String

  @Flag(help: "Do it, although all other copies of the databases are of no use afterwards.")
  var abandonOtherCopies = false

  @Option(help: ArgumentHelp("Where the node listens, if that is not its address.", valueName: "host:port"))
  var bind: String?

  @Flag(help: "The node has an address other than loopback.")
  var allowUnencryptedNetwork = false

  #if ClusterNode
  func run() async throws {
    let configuration = ClusterNodeConfiguration(
      bindAddress: bind, allowsUnencryptedNetwork: allowUnencryptedNetwork)
    let node = try SqliteClusterNode(recordedIn: directory, configuration: configuration)
    guard abandonOtherCopies else {
      throw FileProblem(
        description: """
          recover-alone makes node \(node.id) in \(directory) the only one of its cluster. Commits that only other \
          nodes have are lost. The other nodes must not start again, not even for a moment: delete their directories, \
          and let new nodes join. State --abandon-other-copies to do it; nothing was changed
          """)
    }
    try await node.recoverAlone()
    let text = """
      node \(node.id) is the only one of its cluster now; start it again with the same directory and address
      delete the directories of all other nodes, and let new nodes join with ids that the cluster never had

      """
    Output.write(text, to: STDOUT_FILENO)
  }
  #else
  func run() throws { throw FileProblem.needsTrait("ClusterNode") }
  #endif
}
