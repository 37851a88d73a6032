import ArgumentParser
import Foundation
import Sqlable
import SqlableCluster

struct NodeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "node", abstract: "Runs a node of a cluster; needs the package trait ClusterNode.",
    discussion: """
      Runs a node of a cluster in a directory until SIGTERM or SIGINT. Then the node transfers leadership and exits \
      within 30 seconds. Node 1 starts the cluster; every other node joins the cluster, and is still a member after a \
      restart.

      The standard error has a line for each change of the role, the leader and the problems, for each refused or \
      ended statement, and for the reason of the exit. The node also exits when it is removed from its cluster.

      Exit codes: 0 stopped or removed, 1 failed, 2 a mistake on the command line.
      """)

  @Option(
    help: ArgumentHelp(
      "The id of the node, from 1; an id that no other node of the cluster has or had.", valueName: "number"),
    transform: number(1...UInt64.max))
  var id: UInt64

  @Option(help: ArgumentHelp("The address for clients and other nodes.", valueName: "host:port"))
  var address: String

  @Option(help: ArgumentHelp("The directory of the node; created if missing.", valueName: "path"))
  var directory: String

  @Option(
    name: .customLong("join"),
    help: ArgumentHelp("A node of the cluster to join. Of several, one must answer.", valueName: "host:port"))
  var joined: [String] = []

  @Option(
    help: ArgumentHelp("The address to listen on, if different from the address of the node.", valueName: "host:port"))
  var bind: String?

  @Option(
    help: ArgumentHelp("The latency of a message between nodes; 50 by default.", valueName: "milliseconds"),
    transform: number(1...3_600_000))
  var latency = 50

  @Flag(help: "Allow an address other than loopback, although dqlite does not encrypt.")
  var allowUnencryptedNetwork = false

  #if ClusterNode
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
        log.write("stopped before the node started")
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
        log.write("received \(number == SIGTERM ? "SIGTERM" : "SIGINT"), transfers leadership and stops")
        task.cancel()
        // A running statement, or a disk that does not respond, can prevent the node from stopping.
        DispatchQueue.global().asyncAfter(deadline: .now() + NodeCommand.patience) {
          log.write(
            "exits without a clean stop after 30 seconds: a statement is still running, or a disk does not answer")
          _exit(1)
        }
      }
      source.resume()
      return source
    }
    defer { for source in sources { source.cancel() } }
    // The task can be cancelled during the start.
    do { try await task.value } catch is CancellationError {}
  }
  #else
  func run() throws { throw FileProblem.needsTrait("ClusterNode") }
  #endif
}
