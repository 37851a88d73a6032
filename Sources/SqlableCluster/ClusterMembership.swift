#if Cluster
import Sqlable

/// Membership changes, which the leader makes one at a time.
///
/// Each change is sent again until the membership is as requested: the leader refuses a change while another change is
/// in progress, and a change whose answer was lost might already be complete.
struct ClusterMembership: Sendable {
  /// The number of nodes that become voters when they join. Three voters survive the loss of one voter.
  static let voters = 3

  let leader: ClusterLeader

  init(_ leader: ClusterLeader) { self.leader = leader }

  init(nodes: [String]) throws {
    guard !nodes.isEmpty else { throw SqlError.misuse("a cluster needs the address of at least one node") }
    leader = ClusterLeader(nodes: try nodes.map { try NodeAddress($0, "the address of a node") })
  }

  func members(before deadline: ContinuousClock.Instant) async throws -> [ClusterMember] {
    try await change(before: deadline) { _, _ in nil }
  }

  /// Sends the requests that `next` returns for the present members, until `next` returns nil. Returns the members.
  @discardableResult
  func change(
    before deadline: ContinuousClock.Instant,
    _ next: @Sendable (_ members: [ClusterMember], _ leader: NodeAddress) async throws -> WireRequest?
  ) async throws -> [ClusterMember] {
    var reason: (any Error)?
    while deadline > .now {
      let address = try await leader.find(before: deadline)
      do {
        let connection = try await NodeConnection.open(to: address, before: deadline) { [leader] in
          await leader.isElsewhere(than: $0)
        }
        defer { connection.close() }
        while deadline > .now {
          guard case .nodes(let members) = try await connection.answer(to: .nodes, before: deadline) else {
            throw SqlError.wire("an answer without nodes")
          }
          leader.note(members)
          guard let request = try await next(members, address) else { return members }
          do { _ = try await connection.answer(to: request, before: deadline) } catch let error as SqlError {
            guard !error.isNodeFailure else { throw error }
            // The leader has refused the change: another change is in progress, or this change is already complete.
            reason = error
            try await Task.sleep(for: .milliseconds(50))
          }
        }
      } catch let error as NodeFailure {
        reason = reason ?? error
      } catch let error as SqlError where error.isNodeFailure {
        reason = error
      }
      leader.forget(address)
      try await Task.sleep(for: .milliseconds(50))
    }
    throw SqlError.unavailable(reason)
  }

  static func silentVoters(
    of members: [ClusterMember], before deadline: ContinuousClock.Instant
  ) async -> [UInt64] {
    await withTaskGroup(of: UInt64?.self) { group in
      for member in members where member.role == .voter {
        group.addTask { await NodeConnection.answers(member.address, before: deadline) ? nil : member.id }
      }
      return await group.reduce(into: []) { if let id = $1 { $0.append(id) } }.sorted()
    }
  }

  static func survey(
    _ nodes: [NodeAddress], before deadline: ContinuousClock.Instant
  ) async -> (answering: Set<NodeAddress>, members: [ClusterMember]) {
    await withTaskGroup(of: (NodeAddress, [ClusterMember]?).self) { group in
      var asked: Set<NodeAddress> = []
      var answering: Set<NodeAddress> = []
      var lists: [[ClusterMember]: Int] = [:]
      func ask(_ nodes: [NodeAddress]) {
        for node in nodes where asked.insert(node).inserted {
          group.addTask { (node, await NodeConnection.members(namedBy: node, before: deadline)) }
        }
      }
      ask(nodes)
      for await (node, members) in group {
        guard let members else { continue }
        answering.insert(node)
        // A new node reports no members, so its list is ignored.
        if !members.isEmpty { lists[members.sorted { $0.id < $1.id }, default: 0] += 1 }
        ask(members.compactMap { try? NodeAddress($0.address) })
      }
      let best = lists.max { ($0.value, $0.key.count) < ($1.value, $1.key.count) }
      return (answering, best?.key ?? [])
    }
  }

  /// Adds a running node. The node becomes a voter if the cluster has fewer than three voters, otherwise a stand-by.
  func join(_ id: UInt64, _ address: NodeAddress, before deadline: ContinuousClock.Instant) async throws {
    try await change(before: deadline) { members, _ in
      guard let member = try ClusterMembership.member(id, address, of: members) else {
        return .add(id: id, address: "\(address)")
      }
      guard member.role == .spare else { return nil }
      let voters = members.count { $0.role == .voter }
      return .assign(id: id, role: voters < ClusterMembership.voters ? .voter : .standby)
    }
  }

  /// Removes a node. If the node is a voter, nodes that answer are first promoted until three other voters exist:
  /// stand-bys first, then spares. If the node is the leader, another voter that answers becomes the leader first.
  ///
  /// - Parameter mustAnswer: True to throw if the cluster has no such node, or if the node does not answer.
  func remove(_ id: UInt64, mustAnswer: Bool = false, before deadline: ContinuousClock.Instant) async throws {
    if mustAnswer {
      guard let member = try await members(before: deadline).first(where: { $0.id == id }) else {
        throw SqlError.misuse("the cluster has no node \(id)")
      }
      guard await NodeConnection.answers(member.address) else {
        throw SqlError(.unavailable, message: "node \(id) does not answer; remove the node if its machine is lost")
      }
    }
    let answering = LockedValue<[UInt64: Bool]>([:])
    @Sendable func answers(_ member: ClusterMember) async -> Bool {
      if let known = answering.withLock({ $0[member.id] }) { return known }
      let doesAnswer = await NodeConnection.answers(member.address)
      answering.withLock { $0[member.id] = doesAnswer }
      return doesAnswer
    }
    try await change(before: deadline) { members, leader in
      guard let member = members.first(where: { $0.id == id }) else { return nil }
      let remaining = members.filter { $0.id != id }
      guard !remaining.isEmpty else { throw SqlError.misuse("node \(id) is the only node of its cluster") }
      if member.role == .voter {
        let voters = remaining.filter { $0.role == .voter }
        if voters.count < ClusterMembership.voters {
          let successors = remaining.filter { $0.role == .standby } + remaining.filter { $0.role == .spare }
          for successor in successors where await answers(successor) {
            return .assign(id: successor.id, role: .voter)
          }
        }
        if member.address == "\(leader)" {
          for voter in voters where await answers(voter) { return .transfer(id: voter.id) }
          throw SqlError(.unavailable, message: "node \(id) can't leave: no other node can become the leader")
        }
      }
      return .remove(id: id)
    }
  }

  func assign(_ role: ClusterRole, to id: UInt64, before deadline: ContinuousClock.Instant) async throws {
    try await change(before: deadline) { members, leader in
      guard let member = members.first(where: { $0.id == id }) else {
        throw SqlError.misuse("the cluster has no node \(id)")
      }
      guard member.role != role else { return nil }
      guard member.address != "\(leader)" else {
        throw SqlError.misuse("node \(id) is the leader, and can't become a \(role); transfer leadership first")
      }
      return .assign(id: id, role: role)
    }
  }

  /// Makes a voter the leader. If `id` is nil, chooses a voter that answers and is not the present leader.
  func transfer(to id: UInt64?, before deadline: ContinuousClock.Instant) async throws {
    let former = LockedValue<NodeAddress?>(nil)
    try await change(before: deadline) { members, leader in
      let first = former.withLock { former in
        former = former ?? leader
        return former
      }
      guard let id else {
        guard leader == first else { return nil }
        for member in members where member.role == .voter && member.address != "\(leader)" {
          if await NodeConnection.answers(member.address) { return .transfer(id: member.id) }
        }
        throw SqlError(.unavailable, message: "no other node can become the leader")
      }
      guard let member = members.first(where: { $0.id == id }) else {
        throw SqlError.misuse("the cluster has no node \(id)")
      }
      guard member.role == .voter else { throw SqlError.misuse("node \(id) can't become the leader: only a voter can") }
      return member.address == "\(leader)" ? nil : .transfer(id: id)
    }
  }

  /// Returns the member with this id and this address; nil if no member has the id or the address. Throws if a member
  /// has only one of the two.
  static func member(_ id: UInt64, _ address: NodeAddress, of members: [ClusterMember]) throws -> ClusterMember? {
    if let other = members.first(where: { $0.address == "\(address)" && $0.id != id }) {
      throw SqlError.misuse(
        "address \(address) belongs to node \(other.id) of the cluster; remove node \(other.id) first")
    }
    guard let member = members.first(where: { $0.id == id }) else { return nil }
    guard member.address == "\(address)" else {
      throw SqlError.misuse("the cluster already has a node \(id) at \(member.address)")
    }
    return member
  }
}

extension NodeConnection {
  static func answers(_ address: String, before deadline: ContinuousClock.Instant? = nil) async -> Bool {
    let deadline = deadline ?? .now + .seconds(1)
    guard let address = try? NodeAddress(address),
      let connection = try? await NodeConnection.open(to: address, before: deadline)
    else { return false }
    defer { connection.close() }
    return (try? await connection.send(.leader, before: deadline)) != nil
  }

  static func members(
    namedBy address: NodeAddress, before deadline: ContinuousClock.Instant
  ) async -> [ClusterMember]? {
    guard let connection = try? await NodeConnection.open(to: address, before: deadline) else { return nil }
    defer { connection.close() }
    guard case .nodes(let members) = try? await connection.send(.nodes, before: deadline) else { return nil }
    return members
  }
}
#endif
