#if ClusterNode
import Sqlable

/// The settings of one node of a cluster.
///
/// ```swift
/// var configuration = ClusterNodeConfiguration()
/// configuration.networkLatency = .milliseconds(100)     // nodes in two data centres
/// configuration.allowsUnencryptedNetwork = true         // they are in a network of their own
/// ```
public struct ClusterNodeConfiguration: Sendable, Hashable {
  /// The time that a message takes from node to node. Between 1 millisecond and 1 hour, in whole milliseconds.
  ///
  /// The leader sends a heartbeat every 1.5 latencies. A node that receives no heartbeat for 15 to 30 latencies
  /// proposes itself as leader. The default, 50 milliseconds, gives a new leader one to two seconds after the old one
  /// dies. Nodes that share two busy processors keep their leader with 50 milliseconds, and lose their leader with 5.
  public var networkLatency: Duration
  /// The number of commits after which a node writes a snapshot of its databases. Default: 1,024, as dqlite's.
  public var snapshotThreshold: Int
  /// The number of commits that a node keeps after a snapshot, in memory and on disk. A node that was away for more
  /// commits receives a whole snapshot. Default: 1,024.
  ///
  /// A commit takes the size of its changed pages. A commit that many writes share can take a megabyte, so dqlite's own
  /// default, 8,192, takes gigabytes.
  public var snapshotTrailing: Int
  /// The free space of the disk below which the node hands leadership over and stops, in bytes. Default: 64 MiB.
  ///
  /// dqlite 1.11 ends the whole process if it leads and can't write its log. So the node stops earlier, and does not
  /// start with less free space. ``SqliteClusterNode/stopReason`` and the health give the reason. The node checks the
  /// free space four times a second.
  public var minimumFreeBytes: Int
  /// The processor time that a statement may take on the node; a longer statement ends with `.interrupted`. Default: 10
  /// seconds. If several nodes run in one process, the limit of the node that started last applies to all.
  ///
  /// A node runs one statement at a time, and answers no other node meanwhile. A statement that takes longer than the
  /// other nodes wait for a heartbeat costs the node its leadership anyway.
  public var maximumStatementTime: Duration
  /// A number shared by nodes that fail together, such as the nodes of one rack. Shown with the node; default: 0.
  public var failureDomain: Int
  /// The address to listen on, such as `0.0.0.0:9001` for all interfaces; nil for the address of the node.
  public var bindAddress: String?
  /// True if the node may use addresses other than loopback. Default: false, and such an address is refused.
  ///
  /// dqlite encrypts nothing and asks for no password: a machine that reaches the port can read and write all
  /// databases. Set this only for a network of trusted machines, or use a tunnel, as the guide of clusters describes.
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

  /// Returns the network latency in milliseconds, for dqlite. Throws `.misuse` unless the latency is a whole number of
  /// milliseconds from 1 to 3,600,000.
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
    else { throw SqlError.misuse("the snapshot threshold must be at least 1, and the trailing entries at least 0") }
    return (threshold, trailing)
  }
}
#endif
