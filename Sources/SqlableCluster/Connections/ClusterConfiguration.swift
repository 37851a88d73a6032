#if Cluster
import Sqlable

/// The configuration of a ``SqliteCluster``.
public struct ClusterConfiguration: Sendable, Hashable {
  /// The name of the database on the nodes. A cluster can have several databases; a ``SqliteCluster`` uses one of them.
  public var database = "main"
  /// The maximum duration of a call, unless `withDeadline` sets an earlier end. The duration includes the search for a
  /// leader, the wait for the write lock and the execution.
  public var timeout: Duration = .seconds(30)
  /// The number of reads that run at the same time, each on a separate connection. Writes use one more connection. With
  /// ``confirmsReads``, the client also has a connection to each voter.
  public var connections = 4
  /// True if a read sees every commit that was acknowledged before the read, even while a former leader is cut off.
  /// Each read then first asks the voters, which costs a round trip. If false, a leader that was cut off answers with
  /// older data until the leader notices that it has lost the other nodes. In return, a client that reaches only the
  /// leader can read.
  public var confirmsReads = true
  /// The maximum number of writes that share a commit.
  public var maximumGroup = 256
  /// The time for which a group of writes can grow before the commit. If ten round trips take longer, the group grows
  /// for ten round trips instead, up to one second. With a shorter time, each commit over a slow network would contain
  /// few writes.
  public var maximumGroupTime: Duration = .milliseconds(50)
  /// The number of compiled statements that each connection keeps on its node.
  public var statementCacheSize = 128
  /// The time for which the cluster remembers the ids of `transaction(id:)`.
  public var transactionIdAge: Duration = .seconds(7 * 86_400)
  /// The interval at which observers, live results and loops over the change log poll for other clients' commits. A
  /// client polls from its first observer, live result or loop until the client closes.
  public var pollInterval: Duration = .milliseconds(50)
  /// The label in errors and trace events; nil for no label.
  public var label: String?

  /// The database in which each new leader stores its Raft term.
  static let termDatabase = "sqlable-term"

  public init() {}

  func check() throws {
    // A node's buffer for the name has a thousand bytes, and the node does not check the length. So the name is limited
    // here.
    guard 1...255 ~= database.utf8.count, !database.utf8.contains(0) else {
      throw SqlError.misuse("a database of a cluster needs a name of 1 to 255 bytes")
    }
    guard database != ClusterConfiguration.termDatabase else {
      throw SqlError.misuse("the database name \(database) is reserved")
    }
    guard timeout > .zero, maximumGroupTime >= .zero, transactionIdAge > .zero, pollInterval > .zero else {
      throw SqlError.misuse(
        "timeout, transactionIdAge and pollInterval must be above 0, and maximumGroupTime can't be negative")
    }
    guard connections >= 1, maximumGroup >= 1, statementCacheSize >= 1 else {
      throw SqlError.misuse("connections, maximumGroup and statementCacheSize must each be at least 1")
    }
  }
}
#endif
