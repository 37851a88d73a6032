import Foundation
import Sqlable
import SqlableCluster

/// A node of a cluster as a process, which the tests start, stop and kill.
///
///     ClusterNodeProcess ID ADDRESS DIRECTORY JOIN[,JOIN…]|- MILLISECONDS SNAPSHOT-COMMITS|- BIND|-
///
/// Prints a line when it runs, or the error. Ends when its standard input does, as it does when the tests die; a line
/// there stops the node first. `ClusterNodeProcess consume ADDRESS…` runs a ``ConsumerProcess`` instead.
@main
struct NodeProcess {
  static func main() async {
    let words = CommandLine.arguments
    do {
      if words[1] == "consume" {
        report("running")
        return try await ConsumerProcess(nodes: Array(words[2...])).run()
      }
      var configuration = ClusterNodeConfiguration(networkLatency: .milliseconds(Int(words[5]) ?? 50))
      configuration.allowsUnencryptedNetwork = true
      if let count = words.dropFirst(6).first.flatMap({ Int($0) }) {
        (configuration.snapshotThreshold, configuration.snapshotTrailing) = (count, count)
      }
      if let bind = words.dropFirst(7).first, bind != "-" { configuration.bindAddress = bind }
      let node = try SqliteClusterNode(
        id: UInt64(words[1]) ?? 0, address: words[2], directory: words[3], configuration: configuration)
      try await node.start(joining: words[4] == "-" ? [] : words[4].split(separator: ",").map(String.init))
      report("running on \(node.bindAddress ?? "nothing")")
      // Ends by itself when the node does.
      let life = Task {
        try await node.runUntilCancelled()
      }
      Task.detached {
        if readLine() == nil { exit(3) }
        life.cancel()
      }
      try await life.value
      report("stopped")
    } catch {
      report("\(error)")
      exit(1)
    }
  }

  private static func report(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }
}
