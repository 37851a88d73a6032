#if ClusterNode
import Sqlable

/// The configuration of a cluster node.
///
/// ```swift
/// var configuration = ClusterNodeConfiguration()
/// configuration.networkLatency = .milliseconds(100)     // nodes in two data centres
/// configuration.allowsUnencryptedNetwork = true         // they are in a network of their own
/// ```
public struct ClusterNodeConfiguration: Sendable, Hashable {
  /// The expected latency of a message between two nodes. Between 1 millisecond and 1 hour, in whole milliseconds.
  ///
  /// The leader sends a heartbeat every 1.5 latencies. A node that receives no heartbeat for 15 to 30 latencies
  /// proposes itself as leader. With the default, 50 milliseconds, a new leader is elected one to two seconds after the
  /// old leader dies. On two busy processors, nodes keep their leader with 50 milliseconds but lose the leader with 5
  /// milliseconds.
  public var networkLatency: Duration
  /// The number of commits between two snapshots of a node's databases. Default: 1,024, as in dqlite.
  public var snapshotThreshold: Int
  /// The number of commits that a node keeps in memory and on disk after a snapshot. A node that missed more commits
  /// receives a complete snapshot. Default: 1,024.
  ///
  /// The size of a commit is the size of its changed pages. A commit of many writes can take a megabyte, so 8,192
  /// commits, dqlite's own default, can take gigabytes.
  public var snapshotTrailing: Int
  /// The minimum free disk space, in bytes. With less space, the node transfers leadership and stops. Default: 64 MiB.
  ///
  /// In dqlite 1.11, a leader that can't write its log ends the whole process. So the node stops earlier, and does not
  /// start with less free space. ``SqliteClusterNode/stopReason`` and the health report the reason. The node checks the
  /// free space four times a second.
  public var minimumFreeBytes: Int
  /// The maximum processor time of a statement on the node. A longer statement ends with `.interrupted`. Default: 10
  /// seconds. If several nodes run in one process, the limit of the last started node applies to all nodes.
  ///
  /// A node runs one statement at a time, and does not answer other nodes during the statement. A statement that delays
  /// a heartbeat for too long costs the node its leadership, even within this limit.
  public var maximumStatementTime: Duration
  /// A number that nodes share if they can fail together, such as the nodes of one rack. dqlite only reports the
  /// number. Default: 0.
  public var failureDomain: Int
  /// The address to listen on, such as `0.0.0.0:9001` for all interfaces. If nil, the node listens on its own address.
  public var bindAddress: String?
  /// True if the node is allowed to use addresses other than loopback addresses. If false, such an address is refused.
  /// Default: false.
  ///
  /// dqlite has no encryption and no passwords. Any machine that reaches the port can read and write all databases. Set
  /// this only for a network of trusted machines, or use a tunnel, as the guide of clusters describes.
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

  /// Returns the latency in milliseconds. Throws `.misuse` unless the latency is a whole number from 1 to 3,600,000.
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
