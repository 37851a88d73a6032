#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// The health of a node, for the readiness probe of a service.
  public struct Health: Sendable, Hashable {
    /// A problem that needs an operator's attention.
    public enum Problem: Sendable, Hashable {
      /// The node is not running. The kind is that of the error that stopped the node; nil if the node was stopped
      /// without an error.
      case stopped(SqlError.Kind?)
      /// The node did not answer within the time limit of the check.
      case noAnswer
      /// The node has no known leader. Either the voters have no majority, or the node is a spare, which no leader
      /// contacts.
      case noLeader
      /// The node was removed from the cluster.
      case notAMember
      /// These voters do not answer this node.
      case unreachable([UInt64])
      /// The cluster has too few voters to survive the loss of a voter.
      case fewVoters(Int)
      /// The file system has only this many bytes left.
      case littleSpace(bytes: Int)
    }

    public let problems: [Problem]
    /// The role of the node in its cluster; nil if the node does not answer or is not a member.
    public let role: ClusterRole?
    /// The leader that this node reports; nil if the node reports no leader.
    public let leader: ClusterMember?
    /// The members of the cluster, as this node reports them; empty if the node does not answer.
    public let members: [ClusterMember]
    /// The term, which grows with every vote for a leader; nil if the node is not running.
    public let term: Int?
    /// The time until the node answered; nil if the node did not answer.
    public let answer: Duration?
    /// The size of the directory, in bytes.
    public let size: Int
    /// The free space of the file system, in bytes; nil if the node is not running or the system does not report the
    /// value.
    public let freeBytes: Int?
    /// The number of automatic restarts of the node: ``SqliteClusterNode/restarts``.
    public let restarts: Int

    public var isHealthy: Bool { problems.isEmpty }
    public var isLeader: Bool { leader?.id == id }
    /// The number of voters.
    public var voters: Int { members.count { $0.role == .voter } }

    let id: UInt64
  }

  /// Checks whether the node is running and has a leader, whether the voters answer, and whether the disk has free
  /// space.
  ///
  /// ```swift
  /// let health = await node.health()
  /// return health.isHealthy ? .ok : .serviceUnavailable     // health.problems say why
  /// ```
  ///
  /// The check ends within `limit` and never throws. Each problem prints as a sentence. A cluster with fewer than three
  /// voters is never healthy.
  public func health(within limit: Duration = .seconds(1), minimumFreeBytes: Int = 256 << 20) async -> Health {
    let begin = ContinuousClock.now
    let deadline = begin + limit
    var problems: [Health.Problem] = []
    let directory = lockedDirectory
    if directory == nil { problems.append(.stopped(stopReason?.kind)) }
    let free = directory?.freeBytes
    if let free, free < minimumFreeBytes { problems.append(.littleSpace(bytes: free)) }
    var (members, leader, answer): ([ClusterMember], ClusterMember?, Duration?) = ([], nil, nil)
    if directory != nil {
      if let reported = await state(before: deadline) {
        (members, leader, answer) = (reported.members, reported.leader, begin.duration(to: .now))
        if leader == nil { problems.append(.noLeader) }
        let isRemoved = await isRemoved(members, leader, before: deadline)
        if isRemoved { problems.append(.notAMember) }
        let silent = await ClusterMembership.silentVoters(of: members.filter { $0.id != id }, before: deadline)
        if !silent.isEmpty { problems.append(.unreachable(silent)) }
        let voters = members.count { $0.role == .voter }
        if !members.isEmpty, voters < ClusterMembership.voters { problems.append(.fewVoters(voters)) }
      } else {
        problems.append(.noAnswer)
      }
    }
    return Health(
      problems: problems, role: members.first { $0.id == id }?.role, leader: leader, members: members,
      term: directory?.term, answer: answer, size: (try? directory?.size()) ?? 0, freeBytes: free,
      restarts: restarts, id: id)
  }

  /// Returns true if this node was removed from the cluster. A node that is not a voter gets no notification of its
  /// removal, so the leader is asked.
  private func isRemoved(
    _ members: [ClusterMember], _ leader: ClusterMember?, before deadline: ContinuousClock.Instant
  ) async -> Bool {
    guard let member = members.first(where: { $0.id == id }) else { return !members.isEmpty }
    guard member.role != .voter, let leader, let address = try? NodeAddress(leader.address),
      let known = await NodeConnection.members(namedBy: address, before: deadline)
    else { return false }
    return !known.isEmpty && !known.contains { $0.id == id }
  }

  func state(
    before deadline: ContinuousClock.Instant
  ) async -> (members: [ClusterMember], leader: ClusterMember?)? {
    guard let connection = try? await NodeConnection.open(to: nodeAddress, before: deadline) else { return nil }
    defer { connection.close() }
    guard case .node(let leader, let address) = try? await connection.send(.leader, before: deadline),
      case .nodes(let members) = try? await connection.send(.nodes, before: deadline)
    else { return nil }
    if let leaderMember = members.first(where: { $0.id == leader }) { return (members, leaderMember) }
    guard leader == 0 else { return (members, ClusterMember(id: leader, address: address, role: .voter)) }
    // Only a voter reports its leader. A voter that knows no leader might have been removed from the cluster without
    // being notified.
    let voters = members.filter { $0.role == .voter }
    let isVoter = voters.contains { $0.id == id }
    let otherVoters = voters.filter { $0.id != id }.compactMap { try? NodeAddress($0.address) }
    let end = isVoter ? min(deadline, .now + .milliseconds(300)) : deadline
    guard !otherVoters.isEmpty, let leaderAddress = try? await ClusterLeader(nodes: otherVoters).find(before: end)
    else {
      return (members, nil)
    }
    guard isVoter else { return (members, members.first { $0.address == "\(leaderAddress)" }) }
    guard let leading = try? await NodeConnection.open(to: leaderAddress, before: end) else { return (members, nil) }
    defer { leading.close() }
    guard case .nodes(let known) = try? await leading.send(.nodes, before: end) else { return (members, nil) }
    return (known, nil)
  }
}
#endif
