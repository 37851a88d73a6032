#if Cluster
import Sqlable

/// How a ``SqliteCluster`` behaves.
public struct ClusterConfiguration: Sendable, Hashable {
  /// The name of the database on the nodes. A cluster can have several; a ``SqliteCluster`` is one of them.
  public var database = "main"
  /// How long a call may take, unless `withDeadline` sets an earlier end. It covers the search for a leader, waiting
  /// for the write lock, and running.
  public var timeout: Duration = .seconds(30)
  /// How many reads run at a time, each on a connection of its own. Writes have one more connection.
  public var connections = 4
  /// Whether a read sees every commit that was acknowledged before it began, also while a leader is cut off. Each read
  /// then begins with a question to the voters, which costs a message and back. Without, a leader that was cut off
  /// answers with what was stored before, until it notices; and a client that reaches the leader alone can read.
  public var confirmsReads = true
  /// How many writes may share a commit.
  public var maximumGroup = 256
  /// How long a group of writes may grow before it is committed. Where messages are slow it is ten times the time of a
  /// message and back, up to a second: each write of a group takes one.
  public var maximumGroupTime: Duration = .milliseconds(50)
  /// How many statements each connection keeps compiled on its node.
  public var statementCacheSize = 128
  /// How long the ids of `transaction(id:)` are kept.
  public var transactionIdAge: Duration = .seconds(7 * 86_400)
  /// How often observers and live results ask for the commits of other clients. Without any nothing is asked.
  public var pollInterval: Duration = .milliseconds(50)
  /// Named in errors, and in the events of traces.
  public var label: String?

  /// The database in which a new leader commits its term.
  static let termDatabase = "sqlable-term"

  public init() {}

  func check() throws {
    // A node has room for a thousand bytes, and does not check.
    guard 1...255 ~= database.utf8.count, !database.utf8.contains(0) else {
      throw SqlError.misuse("a database of a cluster needs a name of at most 255 bytes")
    }
    guard database != ClusterConfiguration.termDatabase else {
      throw SqlError.misuse("the database \(database) is the nodes' own")
    }
    guard timeout > .zero, maximumGroupTime >= .zero, transactionIdAge > .zero, pollInterval > .zero else {
      throw SqlError.misuse("the durations of a cluster's configuration must be positive")
    }
    guard connections >= 1, maximumGroup >= 1, statementCacheSize >= 1 else {
      throw SqlError.misuse("a cluster needs at least one connection, one write in a group and one compiled statement")
    }
  }
}
#endif
