#if Cluster
/// Finds the leader, and keeps in mind which node it was, and which nodes there are.
final class ClusterLeader: Sendable {
  private struct State {
    var nodes: [NodeAddress]
    var leader: NodeAddress?
    /// The leader that was lost last: nodes may name it for a while.
    var lost: NodeAddress?
    /// The leader that was found last.
    var named: NodeAddress?
    var changes = 0
    /// Whether the leader is doubted, and the others are asked.
    var isDoubted = false
    var isClosed = false
  }

  private let state: Guarded<State>
  private static let patience = Duration.milliseconds(500)

  init(nodes: [NodeAddress]) { state = Guarded(State(nodes: nodes)) }

  var nodes: [NodeAddress] { state.withLock { $0.nodes } }
  /// How many times another leader than before was found.
  var changes: Int { state.withLock { $0.changes } }
  /// The node that led when it was last asked.
  var last: NodeAddress? { state.withLock { $0.leader } }

  /// Returns the leader. Throws `.unavailable` at the deadline.
  func find(before deadline: ContinuousClock.Instant) async throws -> NodeAddress {
    if let leader = last { return leader }
    var pause = Duration.milliseconds(10)
    var reason: any Error = SqlError(.unavailable, message: "no node knows of one")
    while deadline > .now {
      try Task.checkCancellation()
      if state.withLock({ $0.isClosed }) { throw SqlError.closedCluster }
      switch await ask(nodes, before: min(deadline, .now + ClusterLeader.patience)) {
      case .success(let leader):
        state.withLock { state in
          if state.named != leader { state.changes += 1 }
          (state.leader, state.named, state.lost) = (leader, leader, nil)
        }
        return leader
      case .failure(let error): reason = error
      }
      try await Task.sleep(until: min(deadline, .now + pause * Double.random(in: 0.5...1)), clock: .continuous)
      pause = min(pause * 2, .milliseconds(200))
    }
    throw SqlError.unavailable(reason)
  }

  /// The error of a call that waited too long: while there is no leader, that is the reason.
  func meaning(ofLate error: any Error) -> any Error {
    (error as? SqlError)?.kind == .timeout && last == nil ? SqlError.unavailable(nil) : error
  }

  /// Forgets the leader, if it is still this one.
  func lost(_ address: NodeAddress) {
    state.withLock { state in
      if state.leader == address { (state.leader, state.lost) = (nil, address) }
    }
  }

  /// To be called after an error of a call on the leader: forgets it, if the error says something of it.
  func failed(_ address: NodeAddress, _ error: any Error) {
    guard (error as? NodeFailure)?.isLate == true else { return lost(address) }
    // The call's time is over, which may be because the node is stopped.
    let isFirst = state.withLock { state in
      defer { state.isDoubted = true }
      return !state.isDoubted
    }
    guard isFirst else { return }
    Task {
      if await isElsewhere(than: address) { lost(address) }
      state.withLock { $0.isDoubted = false }
    }
  }

  /// Ends the search.
  func close() { state.withLock { $0.isClosed = true } }

  /// Adds nodes that a leader named.
  func note(_ members: [ClusterMember]) {
    let addresses = members.compactMap { try? NodeAddress($0.address) }
    state.withLock { state in
      for address in addresses where !state.nodes.contains(address) { state.nodes.append(address) }
    }
  }

  /// Whether the others name another leader than this node, which is silent.
  func isElsewhere(than address: NodeAddress) async -> Bool {
    let others = nodes.filter { $0 != address }
    guard case .success(let leader) = await ask(others, before: .now + ClusterLeader.patience) else { return false }
    return leader != address
  }

  /// Asks nodes, all at once, for the leader; returns the first answer that names one, a former one last.
  private func ask(_ nodes: [NodeAddress], before end: ContinuousClock.Instant) async -> Result<NodeAddress, any Error>
  {
    let former = state.withLock { $0.lost }
    return await withTaskGroup(of: Result<NodeAddress?, any Error>.self) { group in
      for node in nodes {
        group.addTask {
          do {
            let connection = try await NodeConnection.open(to: node, before: end)
            defer { connection.close() }
            if case .node(let id, let address) = try await connection.send(.leader, before: end), id != 0 {
              return .success(try NodeAddress(address))
            }
            // A node that does not vote names no leader, but the voters, which are asked next.
            if case .nodes(let members) = try await connection.send(.nodes, before: end) { self.note(members) }
            return .success(nil)
          } catch {
            return .failure(error)
          }
        }
      }
      var outcome: Result<NodeAddress, any Error> = .failure(SqlError(.unavailable, message: "no node knows of one"))
      for await answer in group {
        switch answer {
        case .success(let leader?) where leader != former:
          group.cancelAll()
          return .success(leader)
        case .success(let leader?): outcome = .success(leader)
        case .failure(let error): if case .failure = outcome { outcome = .failure(error) }
        case .success(nil): break
        }
      }
      return outcome
    }
  }
}
#endif
