#if ClusterNode
import Sqlable

/// How a node of a cluster behaves.
///
/// ```swift
/// var configuration = ClusterNodeConfiguration()
/// configuration.networkLatency = .milliseconds(100)     // nodes in two data centres
/// configuration.allowsUnencryptedNetwork = true         // they are in a network of their own
/// ```
public struct ClusterNodeConfiguration: Sendable, Hashable {
  /// The time that a message takes from node to node. Between 1 millisecond and 1 hour, in whole milliseconds.
  ///
  /// The leader sends a heartbeat every 1.5 times it. A node that receives none for 15 to 30 times it proposes itself
  /// as leader. So 50 milliseconds, the default, give a new leader one to two seconds after the old one dies; nodes
  /// that share two busy processors keep their leader with it, and lose it with 5 milliseconds.
  public var networkLatency: Duration
  /// The number of commits after which a node writes a snapshot of its databases. Default: 1,024, as dqlite's.
  public var snapshotThreshold: Int
  /// The number of commits that a node keeps after a snapshot, in memory and on disk. A node that was away for longer
  /// receives a whole snapshot. Default: 1,024.
  ///
  /// A commit takes the size of the pages that it changed, and one that many writes share can have a megabyte. dqlite's
  /// own default, 8,192, so takes gigabytes.
  public var snapshotTrailing: Int
  /// The free space of the disk below which the node hands over and stops, in bytes. Default: 64 MiB.
  ///
  /// dqlite 1.11 ends the whole process when it leads and can't write its log. So the node stops before, and does not
  /// start with less; ``SqliteClusterNode/stopReason`` and the health say why. It checks four times a second.
  public var minimumFreeBytes: Int
  /// The processor time that a statement may take on the node, which ends it with `.interrupted` then. Default: 10
  /// seconds. Of several nodes in one process that of the last to start counts.
  ///
  /// A node runs one statement at a time, and answers no other node meanwhile: one that takes longer than they wait for
  /// a heartbeat costs the node its leadership anyway.
  public var maximumStatementTime: Duration
  /// A number that nodes share that fail together, such as those in one rack. Shown with the node; default: 0.
  public var failureDomain: Int
  /// The address to listen on, if it is not the address of the node: `0.0.0.0:9001` for all interfaces.
  public var bindAddress: String?
  /// Whether the node may use addresses other than loopback. Default: false, and such an address is refused.
  ///
  /// dqlite encrypts nothing and asks for no password: a machine that reaches the port can read and write all
  /// databases. State it only for a network of trusted machines, or use a tunnel, as the guide of clusters describes.
  public var allowsUnencryptedNetwork: Bool

  public init(
    networkLatency: Duration = .milliseconds(50), snapshotThreshold: Int = 1_024, snapshotTrailing: Int = 1_024,
    minimumFreeBytes: Int = 64 << 20, maximumStatementTime: Duration = .seconds(10), failureDomain: Int = 0,
    bindAddress: String? = nil,
    allowsUnencryptedNetwork: Bool = false
  ) {
    (self.networkLatency, self.failureDomain) = (networkLatency, failureDomain)
    (self.minimumFreeBytes, self.maximumStatementTime) = (minimumFreeBytes, maximumStatementTime)
    (self.snapshotThreshold, self.snapshotTrailing) = (snapshotThreshold, snapshotTrailing)
    (self.bindAddress, self.allowsUnencryptedNetwork) = (bindAddress, allowsUnencryptedNetwork)
  }

  /// What dqlite takes, from 1 to 3,600,000.
  func latencyMilliseconds() throws -> UInt32 {
    let milliseconds = networkLatency.wholeMicroseconds / 1_000
    guard (1...3_600_000).contains(milliseconds), networkLatency == .milliseconds(milliseconds) else {
      throw SqlError.misuse("the network latency must be whole milliseconds, from 1 millisecond to 1 hour")
    }
    return UInt32(milliseconds)
  }

  func snapshotParameters() throws -> (threshold: UInt32, trailing: UInt32) {
    guard let threshold = UInt32(exactly: snapshotThreshold), let trailing = UInt32(exactly: snapshotTrailing),
      threshold > 0
    else { throw SqlError.misuse("the snapshot threshold must be at least 1, and what trails it at least 0") }
    return (threshold, trailing)
  }
}
#endif
