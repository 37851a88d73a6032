#if ClusterNode
import Sqlable

/// A monitor of a node's leadership, as a workaround for two problems in the Raft implementation of dqlite 1.11.
///
/// First, a leader treats commits of earlier terms as stored once a majority has them. These commits can still be
/// undone until a commit of the leader's own term is stored. So each new leader commits its term to a separate
/// database.
///
/// Second, a node that detects such an undone commit no longer votes or stores commits, but still answers clients. So a
/// voter without a leader is restarted after a while. The wait is shorter if another voter is the leader. After the
/// restart, the node reads its log from disk and receives the correct commits.
final class LeaderWatch: Sendable {
  private let task = LockedValue<Task<Void, Never>?>(nil)
  private let node: UInt64
  private let address: NodeAddress
  private let patience: Duration

  private static let interval = Duration.milliseconds(100)
  private static let database = ClusterConfiguration.termDatabase
  /// While no voter is the leader, `patience` is multiplied by this factor.
  private static let delay = 10
  private static let maximumPause = Duration.seconds(300)

  init(_ node: UInt64, _ address: NodeAddress, networkLatency: Duration) {
    (self.node, self.address) = (node, address)
    // An election starts after 15 to 30 latencies, and might need a second attempt.
    patience = max(networkLatency * 60, .seconds(3))
  }

  /// Calls `restart` whenever the node has had no leader for too long.
  /// - Parameter term: Returns the current term of the node; nil if the term is not known.
  func begin(term: @escaping @Sendable () -> Int?, restart: @escaping @Sendable () async -> Void) {
    end()
    let task = Task.detached { [self] in
      var pause = patience
      while !Task.isCancelled {
        if await waitForTrouble(term, &pause) {
          await restart()
          try? await Task.sleep(for: pause)
          pause = min(pause * 2, LeaderWatch.maximumPause)
        }
      }
    }
    self.task.withLock { $0 = task }
  }

  func end() {
    let task = task.withLock { task in
      defer { task = nil }
      return task
    }
    task?.cancel()
  }

  /// Returns true if the node had no leader for too long, and false if the task was cancelled.
  private func waitForTrouble(_ term: () -> Int?, _ pause: inout Duration) async -> Bool {
    var (aloneSince, leaderlessSince): (ContinuousClock.Instant?, ContinuousClock.Instant?)
    var committed: Int?
    var connection: NodeConnection?
    defer { connection?.close() }
    // The limit is random, so that the nodes of a cluster without a leader do not all restart at the same time.
    let limit = patience * LeaderWatch.delay * Double.random(in: 1...2)
    while (try? await Task.sleep(for: LeaderWatch.interval)) != nil {
      let deadline = ContinuousClock.now + .seconds(1)
      if connection?.isOpen != true { connection = try? await NodeConnection.open(to: address, before: deadline) }
      guard let connection else { continue }
      switch await situation(connection, before: deadline) {
      case .leads:
        (aloneSince, leaderlessSince, pause) = (nil, nil, patience)
        if let term = term(), term != committed, await commit(term) { committed = term }
      case .follows: (aloneSince, leaderlessSince, pause) = (nil, nil, patience)
      case .unknown: (aloneSince, leaderlessSince) = (nil, nil)
      case .leaderless: (aloneSince, leaderlessSince) = (nil, leaderlessSince ?? .now)
      case .alone: (aloneSince, leaderlessSince) = (aloneSince ?? .now, leaderlessSince ?? .now)
      }
      if let aloneSince, .now - aloneSince >= patience { return true }
      if let leaderlessSince, .now - leaderlessSince >= limit { return true }
    }
    return false
  }

  private enum Situation {
    case leads
    case follows
    /// The leader is unknown: the node does not answer or is not a voter, or most voters do not answer.
    case unknown
    /// Most voters answer, and no voter is the leader.
    case leaderless
    /// The node knows no leader, although another voter is the leader.
    case alone
  }

  private func situation(_ connection: NodeConnection, before deadline: ContinuousClock.Instant) async -> Situation {
    guard case .node(let leader, _) = try? await connection.send(.leader, before: deadline) else { return .unknown }
    guard leader == 0 else { return leader == node ? .leads : .follows }
    guard case .nodes(let members) = try? await connection.send(.nodes, before: deadline) else { return .unknown }
    let voters = members.filter { $0.role == .voter }
    guard voters.contains(where: { $0.id == node }) else { return .unknown }
    let answers = await withTaskGroup(of: LeaderAnswer.self) { group in
      for voter in voters where voter.id != node {
        group.addTask { [node] in await LeaderAnswer(of: voter.address, to: node, before: deadline) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    if answers.contains(.leadsWithoutAsker) { return .unknown }
    if answers.contains(.leads) { return .alone }
    return answers.count { $0 != .silent } + 1 > voters.count / 2 ? .leaderless : .unknown
  }

  /// Commits a row with the leader's Raft term to the watch's database. Returns false if the commit failed.
  private func commit(_ term: Int) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(2)
    let create = "CREATE TABLE IF NOT EXISTS term (id INTEGER PRIMARY KEY, term INTEGER NOT NULL)"
    let replace = "INSERT OR REPLACE INTO term (id, term) VALUES (1, \(term))"
    do {
      let connection = try await NodeConnection.open(to: address, before: deadline)
      defer { connection.close() }
      _ = try await connection.answer(to: .open(database: LeaderWatch.database), before: deadline)
      for sql in [create, replace] {
        _ = try await connection.answer(to: .executeSQL(sql, values: []), before: deadline)
      }
      return true
    } catch { return false }
  }
}

private enum LeaderAnswer {
  case silent
  case noLeader
  case leads
  /// The node is the leader of a cluster that no longer contains the asking node.
  case leadsWithoutAsker
  case another

  init(of address: String, to asker: UInt64, before deadline: ContinuousClock.Instant) async {
    guard let node = try? NodeAddress(address),
      let connection = try? await NodeConnection.open(to: node, before: deadline)
    else {
      self = .silent
      return
    }
    defer { connection.close() }
    switch try? await connection.send(.leader, before: deadline) {
    case .node(0, _): self = .noLeader
    case .node(_, address):
      guard case .nodes(let members) = try? await connection.send(.nodes, before: deadline) else {
        self = .silent
        return
      }
      self = members.contains { $0.id == asker } ? .leads : .leadsWithoutAsker
    case .node: self = .another
    default: self = .silent
    }
  }
}
#endif
