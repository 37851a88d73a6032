#if Cluster
import Sqlable

/// Management of a cluster's nodes. All methods send their requests to the leader. A method waits until a leader exists
/// and other membership changes are complete, and throws `.unavailable` after the configuration's timeout.
extension SqliteCluster {
  private var membership: ClusterMembership { ClusterMembership(leader) }

  /// Returns the nodes of the cluster with their roles, sorted by id.
  ///
  /// ```swift
  /// let voters = try await cluster.members().filter { $0.role == .voter }
  /// ```
  public func members() async throws -> [ClusterMember] {
    try await membership.members(before: Deadline.after(configuration.timeout)).sorted { $0.id < $1.id }
  }

  /// Removes a node, for example after the loss of its machine. If the node is a voter, nodes that answer are first
  /// promoted until three other voters exist: stand-bys first, then spares.
  ///
  /// ```swift
  /// try await cluster.removeMember(2)
  /// ```
  ///
  /// The node's id must not be used again. Does nothing if the cluster has no such node. Throws `.misuse` if the node
  /// is the only node of the cluster.
  public func removeMember(_ id: UInt64) async throws {
    try await membership.remove(id, before: Deadline.after(configuration.timeout))
  }

  /// Removes a node that still answers. If the node is a voter, other nodes that answer first become voters, until
  /// three other voters exist: stand-bys first, then spares. If the node is the leader, another voter becomes the
  /// leader first.
  ///
  /// ```swift
  /// try await cluster.retireMember(2)     // then stop its process
  /// ```
  ///
  /// The node's id must not be used again. Throws `.misuse` if the cluster has no such node or only this node. Throws
  /// `.unavailable` if the node does not answer; use ``removeMember(_:)`` for a lost node.
  public func retireMember(_ id: UInt64) async throws {
    try await membership.remove(id, mustAnswer: true, before: Deadline.after(configuration.timeout))
  }

  /// Assigns a role to a node, and returns when the node has the role. A node becomes a voter only when it has all
  /// commits.
  ///
  /// ```swift
  /// try await cluster.assign(.standby, to: 3)
  /// ```
  ///
  /// Throws `.misuse` if the node is the leader, or if the cluster has no such node.
  public func assign(_ role: ClusterRole, to id: UInt64) async throws {
    try await membership.assign(role, to: id, before: Deadline.after(configuration.timeout))
  }

  /// Makes a voter the leader. Without an id, chooses a voter that answers and is not the present leader. Throws
  /// `.misuse` if the node is not a voter, and `.unavailable` if no other voter answers.
  ///
  /// ```swift
  /// try await cluster.transferLeadership(to: 2)
  /// ```
  public func transferLeadership(to id: UInt64? = nil) async throws {
    try await membership.transfer(to: id, before: Deadline.after(configuration.timeout))
  }
}
#endif
