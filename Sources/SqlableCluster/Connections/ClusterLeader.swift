#if Cluster
import Sqlable

/// The search for the leader. Stores the last known leader and the known nodes.
final class ClusterLeader: Sendable {
  private struct State {
    let configured: [NodeAddress]
    var discovered: [NodeAddress] = []
    var leader: NodeAddress?
    /// The leader that was lost last. Nodes might still name this leader for a while.
    var lostLeader: NodeAddress?
    /// The last leader that a search found.
    var named: NodeAddress?
    var changes = 0
    /// True if the last complete search found no leader.
    var isMissing = false
    /// True if the leader might be lost, and the other nodes are being asked.
    var isDoubted = false
    var isClosed = false
  }

  private let state: LockedValue<State>
  private static let patience = Duration.milliseconds(500)
  /// The minimum wait for the remaining nodes after most nodes have answered. The wait is longer if the answers were
  /// slow.
  private static let grace = Duration.milliseconds(20)

  init(nodes: [NodeAddress]) { state = LockedValue(State(configured: nodes)) }

  var nodes: [NodeAddress] { state.withLock { $0.configured + $0.discovered } }
  var changes: Int { state.withLock { $0.changes } }
  var last: NodeAddress? { state.withLock { $0.leader } }

  func find(before deadline: ContinuousClock.Instant) async throws -> NodeAddress {
    if let leader = last { return leader }
    var backoff = Backoff(from: .milliseconds(10), upTo: .milliseconds(200))
    var reason: any Error = SqlError(.unavailable, message: "no node knows the leader")
    var isMissing = false
    while deadline > .now {
      try Task.checkCancellation()
      if state.withLock({ $0.isClosed }) { throw SqlError.closedCluster }
      let end = ContinuousClock.now + ClusterLeader.patience
      switch await ask(nodes, before: min(deadline, end)) {
      case .success(let leader):
        state.withLock { state in
          if state.named != leader { state.changes += 1 }
          (state.leader, state.named, state.lostLeader, state.isMissing) = (leader, leader, nil, false)
        }
        return leader
      case .failure(let error):
        reason = error
        // Report a missing leader, unless the call's deadline cut this search short. In that case, the nodes might
        // still know a leader.
        if (error as? NodeFailure)?.isLate != true || end <= deadline {
          isMissing = true
          state.withLock { $0.isMissing = true }
        }
      }
      try await Task.sleep(until: min(deadline, .now + backoff.next()), clock: .continuous)
    }
    guard isMissing else { throw SqlError.late("no node answered in time which node is the leader") }
    throw SqlError.unavailable(reason)
  }

  /// Returns the error for a call that timed out: `.unavailable` if the cluster has no leader, otherwise `error`.
  func meaning(ofLate error: any Error) -> any Error {
    let isMissing = state.withLock { $0.leader == nil && $0.isMissing }
    return (error as? SqlError)?.kind == .timeout && isMissing ? SqlError.unavailable(nil) : error
  }

  func forget(_ address: NodeAddress) {
    state.withLock { state in
      if state.leader == address { (state.leader, state.lostLeader) = (nil, address) }
    }
  }

  /// Handles an error of a call on the leader. Forgets the leader at once, unless the call timed out. After a timeout,
  /// forgets the leader only if the other nodes show that there is a new leader.
  func failed(_ address: NodeAddress, _ error: any Error) {
    guard (error as? NodeFailure)?.isLate == true else { return forget(address) }
    // The call timed out, possibly because the node is stopped. The other nodes show whether there is a new leader.
    let isFirst = state.withLock { state in
      defer { state.isDoubted = true }
      return !state.isDoubted
    }
    guard isFirst else { return }
    Task {
      if await isElsewhere(than: address) { forget(address) }
      state.withLock { $0.isDoubted = false }
    }
  }

  func close() { state.withLock { $0.isClosed = true } }

  /// Stores the nodes that a leader lists. A list from another node might be outdated, so the nodes of such a list are
  /// only added.
  func note(_ members: [ClusterMember], fromLeader: Bool = true) {
    let addresses = members.compactMap { try? NodeAddress($0.address) }
    state.withLock { state in
      let known = state.configured + (fromLeader ? [] : state.discovered)
      let new = addresses.filter { !known.contains($0) }
      state.discovered = fromLeader ? new : state.discovered + new
    }
  }

  /// After the node at `address` has not answered, asks the other nodes for the leader. Returns true if they name
  /// another node as the leader.
  func isElsewhere(than address: NodeAddress) async -> Bool {
    let otherNodes = nodes.filter { $0 != address }
    guard case .success(let leader) = await ask(otherNodes, before: .now + ClusterLeader.patience) else { return false }
    return leader != address
  }

  private enum Answer {
    case names(NodeAddress)
    case namesNone
    case failed(any Error)
    case timeIsUp
  }

  /// Asks all nodes at the same time, and returns the first named leader. The leader that this client has lost is
  /// returned only if most nodes name this leader, or if no node names another leader.
  private func ask(_ nodes: [NodeAddress], before end: ContinuousClock.Instant) async -> Result<NodeAddress, any Error>
  {
    let former = state.withLock { $0.lostLeader }
    let begin = ContinuousClock.now
    return await withTaskGroup(of: Answer.self) { group in
      for node in nodes { group.addTask { await self.answer(of: node, before: end) } }
      defer { group.cancelAll() }
      var outcome: Result<NodeAddress, any Error> = .failure(
        SqlError(.unavailable, message: "no node knows the leader"))
      var (answers, formers) = (0, 0)
      for await answer in group {
        answers += 1
        switch answer {
        case .names(let leader) where leader != former: return .success(leader)
        case .names(let leader):
          outcome = .success(leader)
          formers += 1
          if formers > nodes.count / 2 { return outcome }
        case .namesNone: break
        case .failed(let error): if case .failure = outcome { outcome = .failure(error) }
        case .timeIsUp: return outcome
        }
        if answers == nodes.count { return outcome }
        // Wait only briefly for the remaining nodes, because a machine that is down might never answer.
        if answers == nodes.count / 2 + 1 {
          let grace = max(ClusterLeader.grace, begin.duration(to: .now) * 3)
          group.addTask {
            try? await Task.sleep(for: grace)
            return .timeIsUp
          }
        }
      }
      return outcome
    }
  }

  private func answer(of node: NodeAddress, before end: ContinuousClock.Instant) async -> Answer {
    do {
      let connection = try await NodeConnection.open(to: node, before: end)
      defer { connection.close() }
      if case .node(let id, let address) = try await connection.send(.leader, before: end), id != 0 {
        return .names(try NodeAddress(address))
      }
      // A node that does not vote names no leader, but lists the voters. The voters are asked next.
      if case .nodes(let members) = try await connection.send(.nodes, before: end) {
        note(members, fromLeader: false)
      }
      return .namesNone
    } catch {
      return .failed(error)
    }
  }
}
#endif
