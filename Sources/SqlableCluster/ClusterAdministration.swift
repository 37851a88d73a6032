#if Cluster
import Sqlable

/// The nodes of a cluster. All methods ask the leader; they wait for one and for other changes, and throw
/// `.unavailable` after the configuration's timeout.
extension SqliteCluster {
  private var membership: ClusterMembership { ClusterMembership(leader) }

  /// Returns the nodes of the cluster with their roles, in the order of their ids.
  ///
  /// ```swift
  /// let voters = try await cluster.members().filter { $0.role == .voter }
  /// ```
  public func members() async throws -> [ClusterMember] {
    try await membership.members(before: Deadline.after(configuration.timeout)).sorted { $0.id < $1.id }
  }

  /// Removes a node, such as one whose machine is lost. If it was a voter, a stand-by that answers becomes one.
  ///
  /// ```swift
  /// try await cluster.removeMember(2)
  /// ```
  ///
  /// Its id must not be used again. Does nothing if the cluster has no such node; throws `.misuse` for its only one.
  public func removeMember(_ id: UInt64) async throws {
    try await membership.remove(id, before: Deadline.after(configuration.timeout))
  }

  /// Takes a node that answers out of the cluster. If it was a voter, a stand-by becomes one first; if it leads,
  /// another voter does.
  ///
  /// ```swift
  /// try await cluster.retireMember(2)     // then stop its process
  /// ```
  ///
  /// Its id must not be used again. Throws `.misuse` for a node that the cluster does not have, and its only one, and
  /// `.unavailable` if the node does not answer: ``removeMember(_:)`` removes one that is lost.
  public func retireMember(_ id: UInt64) async throws {
    try await membership.remove(id, mustAnswer: true, before: Deadline.after(configuration.timeout))
  }

  /// Gives a node another role. It returns once the node has what the role needs: a voter has all commits.
  ///
  /// ```swift
  /// try await cluster.assign(.standby, to: 3)
  /// ```
  ///
  /// Throws `.misuse` for the node that leads, and one that the cluster does not have.
  public func assign(_ role: ClusterRole, to id: UInt64) async throws {
    try await membership.assign(role, to: id, before: Deadline.after(configuration.timeout))
  }

  /// Makes a voter the leader; without an id, any other than the one that leads.
  ///
  /// ```swift
  /// try await cluster.transferLeadership(to: 2)
  /// ```
  public func transferLeadership(to id: UInt64? = nil) async throws {
    try await membership.transfer(to: id, before: Deadline.after(configuration.timeout))
  }
}
#endif
