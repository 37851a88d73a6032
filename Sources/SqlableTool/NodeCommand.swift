import Foundation
import Sqlable

/// `sqlable node`: runs a node of a cluster until the process is asked to end.
struct NodeCommand: Subcommand {
  static let name = "node"
  static let summary = "runs a node of a cluster; needs the package trait ClusterNode"
  static let usage = """
    Usage: sqlable node --id NUMBER --address HOST:PORT --directory PATH [--join HOST:PORT]… [--bind HOST:PORT]
      [--latency MILLISECONDS] [--allow-unencrypted-network]

    Runs a node of a cluster, in the directory PATH, until SIGTERM or SIGINT: then it hands over leadership if it leads,
    and ends, after 30 seconds at the latest. Node 1 begins the cluster; every other one joins it, and later goes on in
    it. Needs the package trait ClusterNode: swift run --traits ClusterNode sqlable node …

    Its standard error is a log, a line for each change of its role, of the leader and of its problems, for each
    statement that it refuses or ends, and for why it ends. It ends, too, when it was removed from its cluster.

      --id NUMBER                  from 1; an id that no other node of the cluster has, or had
      --address HOST:PORT          under which clients and other nodes reach it
      --directory PATH             its files; created if it is not there
      --join HOST:PORT             a node of the cluster to join; one that answers is enough
      --bind HOST:PORT             where to listen, if that is not the address
      --latency MILLISECONDS       the time of a message from node to node; 50 unless given
      --allow-unencrypted-network  use an address other than loopback, although dqlite encrypts nothing

    Exit codes: 0 it was asked to end or was removed, 1 it can't start or go on, 2 a mistake on the command line.
    """
  static let options: Set<String> = ["--id", "--address", "--directory", "--join", "--bind", "--latency"]
  static let flags: Set<String> = ["--allow-unencrypted-network"]

  private let id: UInt64
  private let address: String
  private let directory: String
  private let joined: [String]
  private let bind: String?
  private let latency: Int
  private let allowsUnencryptedNetwork: Bool

  init(_ arguments: Arguments) throws {
    func required(_ option: String) throws -> String {
      guard let value = try arguments.value(option) else { throw UsageError(description: "node needs \(option)") }
      return value
    }
    guard arguments.words.isEmpty else {
      throw UsageError(description: "node takes no \(arguments.words[0]), only options")
    }
    guard let id = UInt64(try required("--id")), id > 0 else {
      throw UsageError(description: "--id takes a number from 1")
    }
    guard let latency = Int(try arguments.value("--latency") ?? "50"), (1...3_600_000).contains(latency) else {
      throw UsageError(description: "--latency takes a number of milliseconds from 1 to 3600000")
    }
    (self.id, self.latency) = (id, latency)
    (address, directory) = (try required("--address"), try required("--directory"))
    (joined, bind) = (arguments.all("--join"), try arguments.value("--bind"))
    allowsUnencryptedNetwork = arguments.has("--allow-unencrypted-network")
  }

  #if ClusterNode
  /// The time that the node may take to stop.
  private static let patience = DispatchTimeInterval.seconds(30)

  func run() throws -> Int32 {
    let configuration = ClusterNodeConfiguration(
      networkLatency: .milliseconds(latency), bindAddress: bind, allowsUnencryptedNetwork: allowsUnencryptedNetwork)
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
        log.write("ends before it has started")
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
          log.write("ends, since it did not stop within 30 seconds: a statement runs, or a disk does not answer")
          _exit(1)
        }
      }
      source.resume()
      return source
    }
    defer { for source in sources { source.cancel() } }
    // Cancelled while it starts.
    do { try awaited { try await task.value } } catch is CancellationError {}
    return 0
  }
  #else
  func run() throws -> Int32 {
    throw FileProblem(
      description: "node needs the package trait ClusterNode: swift run --traits ClusterNode sqlable node …")
  }
  #endif
}
