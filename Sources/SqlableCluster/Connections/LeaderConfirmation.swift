#if Cluster
import Sqlable

/// A confirmation that a node is still the leader: the voters are asked which leader they follow.
///
/// A leader that was cut off does not notice immediately, and would answer a read with old data. Meanwhile, a later
/// leader might commit. Each commit of the later leader needs a majority of the voters, and these voters then follow
/// the later leader. So if a majority, including the node itself, still follows the node, no later leader had a commit
/// when the voters were asked. If the node then answers as the leader, its answer includes all commits that were
/// acknowledged before the voters were asked.
///
/// Calls that start during a round of questions share the next round.
final class LeaderConfirmation: Sendable {
  private struct State {
    var rounds: [NodeAddress: Rounds] = [:]
    var links: [NodeAddress: NodeLink] = [:]
    var voters: [NodeAddress] = []
    var isClosed = false
  }

  private struct Rounds {
    var running: [CallOutcome<Void>] = []
    var next: [CallOutcome<Void>] = []
  }

  private let state = LockedValue(State())
  private let leader: ClusterLeader

  init(_ leader: ClusterLeader) { self.leader = leader }

  /// Waits until a majority confirms that the node is the leader. Answers to questions from before this call are not
  /// used. Throws ``NodeFailure`` if the node is not the leader.
  func confirm(_ address: NodeAddress, before deadline: ContinuousClock.Instant) async throws {
    let call = CallOutcome<Void>()
    let isFirst = try state.withLock { state in
      if state.isClosed { throw SqlError.closedCluster }
      if state.rounds[address] != nil {
        state.rounds[address]?.next.append(call)
        return false
      }
      state.rounds[address] = Rounds(running: [call])
      return true
    }
    if isFirst { ask(about: address) }
    try await call.value(before: deadline, late: .late("the nodes did not confirm their leader in time")) {
      call.end(.failure($0))
    }
  }

  private func ask(about address: NodeAddress) {
    let round = LeadershipRound(about: address, self)
    let voters = state.withLock { $0.voters }
    round.ask([address] + voters.filter { $0 != address })
  }

  /// Ends the calls of a finished round, and starts the next round if other calls are waiting.
  fileprivate func ended(_ address: NodeAddress, _ result: Result<Void, any Error>) {
    let (calls, isNext) = state.withLock { state in
      let rounds = state.rounds[address] ?? Rounds()
      state.rounds[address] = rounds.next.isEmpty ? nil : Rounds(running: rounds.next)
      return (rounds.running, !rounds.next.isEmpty)
    }
    for call in calls { call.end(result) }
    if isNext { ask(about: address) }
  }

  fileprivate func note(_ members: [ClusterMember], _ voters: [NodeAddress]) {
    state.withLock { $0.voters = voters }
    leader.note(members)
  }

  fileprivate func link(to address: NodeAddress) -> NodeLink? {
    state.withLock { state in
      if state.isClosed { return nil }
      if let link = state.links[address] { return link }
      let link = NodeLink(to: address) { [leader] in await leader.isElsewhere(than: $0) }
      state.links[address] = link
      return link
    }
  }

  func close() {
    let (links, rounds) = state.withLock { state in
      state.isClosed = true
      defer { (state.links, state.rounds) = ([:], [:]) }
      return (state.links.values, state.rounds.values)
    }
    for link in links { link.close() }
    for call in rounds.flatMap({ $0.running + $0.next }) { call.end(.failure(SqlError.closedCluster)) }
  }
}

/// A round of questions that asks all voters whether one node is the leader.
private final class LeadershipRound: Sendable {
  private struct State {
    /// The voters that the leader listed; nil before the leader's answer.
    var voters: [NodeAddress]?
    var asked: Set<NodeAddress> = []
    var followers: Set<NodeAddress> = []
    /// The nodes that follow another leader, or did not answer.
    var otherNodes: Set<NodeAddress> = []
    var isEnded = false

    /// Returns the outcome of the answers so far; nil if more answers are needed.
    func outcome(_ leader: NodeAddress) -> Result<Void, any Error>? {
      guard let voters else { return nil }
      let majority = voters.count / 2 + 1
      if voters.count(where: { $0 == leader || followers.contains($0) }) >= majority { return .success(()) }
      guard voters.count(where: { !otherNodes.contains($0) }) < majority else { return nil }
      return .failure(
        NodeFailure(address: leader, reason: "fewer than a majority of the nodes confirmed the leader", wasSent: false))
    }
  }

  let leader: NodeAddress
  private let state = LockedValue(State())
  private let confirmation: LeaderConfirmation

  init(about leader: NodeAddress, _ confirmation: LeaderConfirmation) {
    (self.leader, self.confirmation) = (leader, confirmation)
  }

  var isEnded: Bool { state.withLock { $0.isEnded } }

  func ask(_ nodes: [NodeAddress]) {
    let new = state.withLock { state in nodes.filter { state.asked.insert($0).inserted } }
    for node in new {
      guard let link = confirmation.link(to: node) else { return end(.failure(SqlError.closedCluster)) }
      link.ask(self)
    }
  }

  /// Returns the question for a node. The leader is asked for the voters; other nodes are asked for their leader.
  func question(to node: NodeAddress) -> WireRequest { node == leader ? .nodes : .leader }

  func take(_ answer: Result<WireResponse, any Error>, of node: NodeAddress) {
    switch answer {
    case .success(.nodes(let members)) where node == leader:
      let named = members.filter { $0.role == .voter }
      let voters = named.compactMap { try? NodeAddress($0.address) }
      guard voters.count == named.count else {
        return end(
          .failure(
            NodeFailure(address: leader, reason: "the leader reported an invalid address of a voter", wasSent: false)))
      }
      confirmation.note(members, voters)
      state.withLock { $0.voters = voters }
      ask(voters)
    case .success(.node(_, let address)) where (try? NodeAddress(address)) == leader:
      _ = state.withLock { $0.followers.insert(node) }
    case .failure(let error) where node == leader:
      return end(.failure(error))
    case .success where node == leader:
      return end(.failure(NodeFailure(address: leader, reason: "the leader did not report the voters", wasSent: false)))
    default:
      _ = state.withLock { $0.otherNodes.insert(node) }
    }
    guard let outcome = state.withLock({ $0.outcome(leader) }) else { return }
    end(outcome)
  }

  private func end(_ result: Result<Void, any Error>) {
    let isFirst = state.withLock { state in
      defer { state.isEnded = true }
      return !state.isEnded
    }
    if isFirst { confirmation.ended(leader, result) }
  }
}

/// A permanent connection to one node, which carries one question at a time.
private final class NodeLink: Sendable {
  private struct State {
    var connection: NodeConnection?
    var waiting: [LeadershipRound] = []
    var isAsking = false
    /// After a failure, the node is not asked again before this time.
    var retryTime = ContinuousClock.now
    var isClosed = false
  }

  private let address: NodeAddress
  private let isGivenUp: NodeConnection.SilenceCheck
  private let state = LockedValue(State())

  private static let patience = Duration.seconds(2)
  private static let retryPause = Duration.milliseconds(50)

  init(to address: NodeAddress, isGivenUp: @escaping NodeConnection.SilenceCheck) {
    (self.address, self.isGivenUp) = (address, isGivenUp)
  }

  func close() {
    let connection = state.withLock { state in
      state.isClosed = true
      return state.connection
    }
    connection?.close()
  }

  func ask(_ round: LeadershipRound) {
    let isFirst = state.withLock { state in
      state.waiting.removeAll(where: \.isEnded)
      state.waiting.append(round)
      defer { state.isAsking = true }
      return !state.isAsking
    }
    if isFirst { askNext() }
  }

  /// Sends the question of the first waiting round. All waiting rounds with the same question receive the answer.
  private func askNext() {
    let (rounds, connection, retryTime) = state.withLock { state in
      let first = state.waiting.first
      let rounds = state.waiting.filter { ($0.leader == address) == (first?.leader == address) }
      state.waiting.removeAll { round in rounds.contains { $0 === round } }
      state.isAsking = !rounds.isEmpty
      return (rounds, state.connection, state.retryTime)
    }
    guard let first = rounds.first else { return }
    let question = first.question(to: address)
    if let connection, connection.isOpen { return ask(question, connection, for: rounds) }
    if retryTime > .now {
      return receive(
        .failure(
          NodeFailure(
            address: address, reason: "the node failed a moment ago, and is not asked again yet", wasSent: false)),
        for: rounds)
    }
    Task {
      do {
        let connection = try await NodeConnection.open(
          to: address, before: .now + NodeLink.patience, isGivenUp: isGivenUp)
        let isClosed = state.withLock { state in
          if !state.isClosed { state.connection = connection }
          return state.isClosed
        }
        if isClosed { connection.close() }
        ask(question, connection, for: rounds)
      } catch {
        receive(.failure(error), for: rounds)
      }
    }
  }

  private func ask(_ question: WireRequest, _ connection: NodeConnection, for rounds: [LeadershipRound]) {
    connection.send(question, before: .now + NodeLink.patience) { self.receive($0, for: rounds) }
  }

  private func receive(_ answer: Result<WireResponse, any Error>, for rounds: [LeadershipRound]) {
    var answer = answer
    if case .failure(var failure as NodeFailure) = answer {
      // No request of the caller was sent.
      failure.wasSent = false
      answer = .failure(failure)
      state.withLock { state in
        if state.retryTime <= .now { state.retryTime = .now + NodeLink.retryPause }
      }
    }
    for round in rounds { round.take(answer, of: address) }
    askNext()
  }
}
#endif
