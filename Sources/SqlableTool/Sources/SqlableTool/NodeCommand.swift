import ArgumentParser
import Foundation
import Sqlable
import SqlableCluster

/// `sqlable node`: runs a node of a cluster until the process is asked to end.
struct NodeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "node", abstract: "Runs a node of a cluster; needs the package trait ClusterNode.",
    discussion: """
      Runs a node of a cluster, in a directory, until SIGTERM or SIGINT: then it hands over leadership if it leads, \
      and ends, after 30 seconds at the latest. Node 1 begins the cluster; every other one joins it, and later goes on \
      in it.

      Its standard error is a log, a line for each change of its role, of the leader and of its problems, for each \
      statement that it refuses or ends, and for why it ends. It ends, too, when it was removed from its cluster.

      Exit codes: 0 it was asked to end or was removed, 1 it can't start or go on, 2 a mistake on the command line.
      """)

  @Option(
    help: ArgumentHelp("From 1; an id that no other node of the cluster has, or had.", valueName: "number"),
    transform: number(1...UInt64.max))
  var id: UInt64

  @Option(help: ArgumentHelp("Under which clients and other nodes reach it.", valueName: "host:port"))
  var address: String

  @Option(help: ArgumentHelp("Its files; created if it is not there.", valueName: "path"))
  var directory: String

  @Option(
    name: .customLong("join"),
    help: ArgumentHelp("A node of the cluster to join; one that answers is enough.", valueName: "host:port"))
  var joined: [String] = []

  @Option(help: ArgumentHelp("Where to listen, if that is not the address.", valueName: "host:port"))
  var bind: String?

  @Option(
    help: ArgumentHelp("The time of a message from node to node; 50 without it.", valueName: "milliseconds"),
    transform: number(1...3_600_000))
  var latency = 50

  @Flag(help: "Use an address other than loopback, although dqlite encrypts nothing.")
  var allowUnencryptedNetwork = false

  #if ClusterNode
  /// The time that the node may take to stop.
  private static let patience = DispatchTimeInterval.seconds(30)

  func run() async throws {
    let configuration = ClusterNodeConfiguration(
      networkLatency: .milliseconds(latency), bindAddress: bind, allowsUnencryptedNetwork: allowUnencryptedNetwork)
    let node = try SqliteClusterNode(id: id, address: address, directory: directory, configuration: configuration)
    let joined = joined
    let log = NodeLog(node)
    let task = Task.detached {
      let refusals = Task.detached { await log.writeRefusals() }
      defer { refusals.cancel() }
      do {
        try await node.start(joining: joined)
        Output.write("node \(node.id) runs on \(node.bindAddress ?? node.address)\n", to: STDOUT_FILENO)
        let running = Task { try await node.runUntilCancelled() }
        let watching = Task { if await log.writeChanges() { running.cancel() } }
        defer { watching.cancel() }
        try await withTaskCancellationHandler {
          try await running.value
        } onCancel: {
          running.cancel()
        }
      } catch let error as CancellationError {
        log.write("stopped before the start")
        throw error
      } catch {
        log.write("ends: \(error)")
        throw error
      }
      Output.write("node \(node.id) has stopped\n", to: STDOUT_FILENO)
    }
    let sources = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        log.write("received \(number == SIGTERM ? "SIGTERM" : "SIGINT"), hands over and stops")
        task.cancel()
        // A statement that runs, or a disk that does not answer, may keep the node from stopping.
        DispatchQueue.global().asyncAfter(deadline: .now() + NodeCommand.patience) {
          log.write("exits without stopping after 30 seconds: a statement runs, or a disk does not answer")
          _exit(1)
        }
      }
      source.resume()
      return source
    }
    defer { for source in sources { source.cancel() } }
    // Cancelled while it starts.
    do { try await task.value } catch is CancellationError {}
  }
  #else
  func run() throws { throw FileProblem.needsTrait("ClusterNode") }
  #endif
}
