#if Cluster
import Sqlable

extension SqliteCluster {
  /// The health of a cluster as one client sees it, for the readiness probe of a service.
  public struct Health: Sendable, Hashable {
    /// A problem that an operator should examine.
    public enum Problem: Sendable, Hashable {
      /// The client is closed.
      case closed
      /// A read got no answer, for this reason: `.unavailable` without a leader, `.timeout` for a late answer.
      case noAnswer(SqlError.Kind)
      /// A write was not stored, for this reason.
      case noWrite(SqlError.Kind)
      /// Too few voters answer this client for a majority. If the leader can't reach the silent voters either, nothing
      /// can be stored.
      case noMajority(answering: Int, voters: Int)
      /// These voters do not answer this client.
      case unreachable([UInt64])
      /// The cluster has too few voters to survive the loss of a voter.
      case fewVoters(Int)
    }

    public let problems: [Problem]
    /// The duration of a read; nil without an answer. Includes the voters' confirmation if the client confirms its
    /// reads.
    public let answer: Duration?
    /// The leader; nil if the cluster has no leader.
    public let leader: ClusterMember?
    /// The nodes of the cluster, sorted by id. The list comes from the leader or, without a leader, is the list that
    /// most nodes report.
    public let members: [ClusterMember]

    public var isHealthy: Bool { problems.isEmpty }
    /// True if the cluster answers reads and stores writes, even if it might not survive the loss of another node.
    public var isServing: Bool {
      answer != nil && !problems.contains { if case .noWrite = $0 { true } else { false } }
    }
    /// The number of voters.
    public var voters: Int { members.count { $0.role == .voter } }
  }

  /// Tests whether a read is answered and a write is stored, and whether all voters answer this client.
  ///
  /// ```swift
  /// let health = await cluster.health()
  /// return health.isServing ? .ok : .serviceUnavailable     // health.problems say what to mend
  /// ```
  ///
  /// The call ends within `limit` and never throws. Each problem prints as a sentence. A cluster with fewer than three
  /// voters is never healthy. The write sets `PRAGMA user_version` to its present value. The write is skipped while
  /// another transaction has the write lock. Traces report neither the read nor the write.
  public func health(within limit: Duration = .seconds(1)) async -> Health {
    let begin = ContinuousClock.now
    let deadline = Deadline.after(limit)
    async let reportedMembers = try? ClusterMembership(leader).members(before: deadline)
    async let survey = ClusterMembership.survey(leader.nodes, before: deadline)
    var problems: [Health.Problem] = []
    var answer: Duration?
    do {
      let request = SqlRequest(sql: "SELECT count(*) FROM sqlite_schema", values: [], isReadOnly: true)
      _ = try await sessions.attempt(before: deadline) { try await $0.answer(to: request, before: deadline) }
      answer = begin.duration(to: .now)
      do {
        try await sessions.attempt(before: deadline) { try await $0.writeNothing(before: deadline) }
      } catch {
        problems.append(.noWrite((error as? SqlError)?.kind ?? .interrupted))
      }
    } catch {
      let kind = (error as? SqlError)?.kind ?? .interrupted
      problems.append(kind == .closed ? .closed : .noAnswer(kind))
    }
    let (answering, known) = await survey
    let named = await reportedMembers
    let members = (named ?? known).sorted { $0.id < $1.id }
    let voters = members.filter { $0.role == .voter }
    let silent = voters.filter { (try? NodeAddress($0.address)).map(answering.contains) != true }.map(\.id)
    if !voters.isEmpty, voters.count - silent.count <= voters.count / 2 {
      problems.append(.noMajority(answering: voters.count - silent.count, voters: voters.count))
    }
    if !silent.isEmpty { problems.append(.unreachable(silent)) }
    if !voters.isEmpty, voters.count < ClusterMembership.voters { problems.append(.fewVoters(voters.count)) }
    let address = named == nil ? nil : leader.last.map { "\($0)" }
    return Health(
      problems: problems, answer: answer, leader: members.first { $0.address == address }, members: members)
  }
}

extension ClusterSession {
  /// Commits a transaction that changes nothing. Returns without a commit if another transaction has the write lock.
  fileprivate func writeNothing(before deadline: ContinuousClock.Instant) async throws {
    do { try await execute("BEGIN IMMEDIATE", before: deadline) } catch let error as SqlError where error.kind == .busy
    {
      return
    }
    do {
      let request = SqlRequest(sql: "PRAGMA user_version", values: [], isReadOnly: true)
      guard case .integer(let version)? = try await answer(to: request, before: deadline).rows.first?.first else {
        throw SqlError(.unavailable, message: "the node did not report the version of the database")
      }
      try await execute("PRAGMA user_version = \(version)", before: deadline)
      try await execute("COMMIT", before: deadline)
    } catch {
      // If the node did not answer, the connection is closed and the node rolls back.
      if isUsable(after: error) { try? await execute("ROLLBACK", before: .now + .seconds(2)) }
      throw error
    }
  }
}
#endif
