import Foundation
import Sqlable

/// `sqlable cluster recover-alone`: makes the node of a directory the only one of its cluster.
struct LoneRecovery {
  private let directory: String
  private let isConfirmed: Bool
  private let bind: String?
  private let allowsUnencryptedNetwork: Bool

  /// Nil for another command.
  init?(_ arguments: Arguments) throws {
    (isConfirmed, bind) = (arguments.has("--abandon-other-copies"), try arguments.value("--bind"))
    allowsUnencryptedNetwork = arguments.has("--allow-unencrypted-network")
    guard arguments.words.first == "recover-alone" else {
      guard !isConfirmed, bind == nil, !allowsUnencryptedNetwork else {
        throw UsageError(
          description: "--abandon-other-copies, --bind and --allow-unencrypted-network belong to recover-alone")
      }
      return nil
    }
    let others = ClusterCommand.options.subtracting(["--bind"])
    guard arguments.words.count == 2, others.allSatisfy({ arguments.all($0).isEmpty }), !arguments.has("--json") else {
      throw UsageError(description: "recover-alone takes one directory, and no option of another command")
    }
    directory = arguments.words[1]
  }

  #if ClusterNode
  func run() throws -> Int32 {
    let configuration = ClusterNodeConfiguration(
      bindAddress: bind, allowsUnencryptedNetwork: allowsUnencryptedNetwork)
    let node = try SqliteClusterNode(recordedIn: directory, configuration: configuration)
    guard isConfirmed else {
      throw FileProblem(
        description: """
          recover-alone makes node \(node.id) in \(directory) the only one of its cluster. Commits that only other \
          nodes have are lost. The other nodes must not start again, not even for a moment: delete their directories, \
          and let new nodes join. State --abandon-other-copies to do it; nothing was changed
          """)
    }
    try awaited { try await node.recoverAlone() }
    let text = """
      node \(node.id) is the only one of its cluster now; start it again with the same directory and address
      delete the directories of all other nodes, and let new nodes join with ids that the cluster never had

      """
    Output.write(text, to: STDOUT_FILENO)
    return 0
  }
  #else
  func run() throws -> Int32 {
    throw FileProblem(
      description: """
        recover-alone needs the package trait ClusterNode: swift run --traits ClusterNode sqlable cluster …
        """)
  }
  #endif
}
