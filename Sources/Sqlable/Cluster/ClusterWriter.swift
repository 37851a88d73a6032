#if Cluster
import NIOCore

/// The one connection that writes: writes that wait for it share a commit, in order.
final class ClusterWriter: Sendable {
  struct State {
    fileprivate var waiting = CircularBuffer<ClusterWrite>()
    /// Whether a task runs groups.
    var isRunning = false
    var isClosed = false
    var session: ClusterSession?
    /// When another client was last seen to have the write lock.
    var contended: ContinuousClock.Instant?
    var counts = Counts()
  }

  struct Counts {
    var writes = 0
    var commits = 0
  }

  private let leader: ClusterLeader
  let confirmation: LeaderConfirmation?
  let configuration: ClusterConfiguration
  let state = Guarded(State())
  /// The turn to write: a group has it, or a transaction.
  let turn = Slots(1)

  /// To be called after each commit.
  private let didCommit: @Sendable () -> Void

  init(
    _ leader: ClusterLeader, _ confirmation: LeaderConfirmation?, _ configuration: ClusterConfiguration,
    didCommit: @escaping @Sendable () -> Void
  ) {
    (self.leader, self.confirmation, self.configuration) = (leader, confirmation, configuration)
    self.didCommit = didCommit
  }

  var counts: Counts { state.withLock { $0.counts } }

  func close() {
    turn.close()
    let (session, waiting) = state.withLock { state in
      state.isClosed = true
      defer { (state.session, state.waiting) = (nil, []) }
      return (state.session, state.waiting)
    }
    for write in waiting { write.stop(SqlError.closedCluster) }
    session?.close()
  }

  // MARK: Connection

  func openSession(before deadline: ContinuousClock.Instant) async throws -> ClusterSession {
    let known = try state.withLock { state in
      if state.isClosed { throw SqlError.closedCluster }
      return state.session
    }
    if let known, known.isOpen { return known }
    let session = try await ClusterSession.open(leader, configuration, before: deadline)
    let isClosed = state.withLock { state in
      if !state.isClosed { state.session = session }
      return state.isClosed
    }
    guard isClosed else { return session }
    session.close()
    throw SqlError.closedCluster
  }

  /// Closes the connection, by which the node rolls back its transaction.
  func drop(_ session: ClusterSession, after error: any Error) {
    session.close()
    state.withLock { if $0.session === session { $0.session = nil } }
    if error.isOfNode { leader.failed(session.address, error) }
  }

  /// Begins a transaction, and returns how long the node took to answer. Waits for the write lock as long as the other
  /// client has it: a node has no queue, so it asks again and again.
  @discardableResult
  func begin(
    _ session: ClusterSession, before deadline: ContinuousClock.Instant, while isWanted: () -> Bool = { true }
  ) async throws -> Duration {
    // After a commit of its own, a client leaves the others the time to ask.
    let wasContended = state.withLock { state in state.contended.map { $0 + .seconds(1) > .now } ?? false }
    if wasContended { try await Task.sleep(for: .milliseconds(2) * Double.random(in: 0.5...1)) }
    while true {
      do {
        let sent = ContinuousClock.now
        try await session.execute("BEGIN IMMEDIATE; SAVEPOINT sqlable_group", before: deadline)
        return sent.duration(to: .now)
      } catch let error as SqlError where error.kind == .busy {
        state.withLock { $0.contended = .now }
        guard isWanted(), .now < deadline else { throw error }
        try await Task.sleep(for: .milliseconds(1) * Double.random(in: 0.5...1))
      }
    }
  }

  /// What a COMMIT came to.
  enum CommitOutcome {
    case stored
    /// Nothing is stored, and the connection is of no use.
    case lost(any Error)
    /// Nothing is stored: the transaction can't be committed.
    case refused(any Error)
    case unknown(any Error)
  }

  func commit(_ session: ClusterSession, before deadline: ContinuousClock.Instant) async -> CommitOutcome {
    do {
      try await session.execute("COMMIT", before: deadline)
      state.withLock { $0.counts.commits += 1 }
      didCommit()
      return .stored
    } catch let error as NodeFailure where !error.wasSent {
      return .lost(error)
    } catch let error as SqlError where error.isNotLeader {
      return .lost(error)
    } catch let error as SqlError where !error.isOfNode && error.kind != .full {
      return .refused(error)
    } catch {
      return .unknown(error)
    }
  }

  /// Rolls back what is open after an error.
  func abandon(_ session: ClusterSession, after error: any Error) async {
    if session.isUsable(after: error) { await rollBack(session) } else { drop(session, after: error) }
  }

  func rollBack(_ session: ClusterSession) async {
    do { try await session.execute("ROLLBACK", before: .now + .seconds(2)) } catch { drop(session, after: error) }
  }
}

// MARK: - Groups

extension ClusterWriter {
  /// Runs requests as a part of a shared transaction, all or none of them. Returns nil if an earlier call with the same
  /// record is stored.
  func run(
    _ requests: [SqlRequest], _ record: TransactionRecord? = nil, before deadline: ContinuousClock.Instant
  ) async throws -> [SqlAnswer]? {
    try Task.checkCancellation()
    let write = ClusterWrite(requests, record, deadline)
    let isFirst = try state.withLock { state in
      if state.isClosed { throw SqlError.closedCluster }
      state.waiting.append(write)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { Task.detached(priority: Task.currentPriority) { await self.runGroups() } }
    return try await write.outcome.value(before: deadline, late: .late("the write did not end in time")) { error in
      write.stop(self.leader.meaning(ofLate: error))
    }
  }

  private func runGroups() async {
    var attempts = 0
    while let deadline = latestDeadline() {
      do {
        // The calls that wait here end by deadlines of their own.
        try await turn.take(before: deadline, late: .late("other transactions have the writer"))
        defer { turn.giveBack() }
        let session = try await openSession(before: deadline)
        let roundTrip: Duration
        do {
          roundTrip = try await begin(session, before: deadline) { self.latestDeadline(ends: false) != nil }
        } catch {
          if !session.isUsable(after: error) { drop(session, after: error) }
          throw error
        }
        do {
          try await runGroup(session, for: groupTime(roundTrip))
          attempts = 0
        } catch {
          await abandon(session, after: error)
          throw error
        }
      } catch  where error.isOfNode || (error as? SqlError)?.isOfTime == true {
        attempts += 1
        try? await Task.sleep(for: .milliseconds(min(attempts * 5, 100)) * Double.random(in: 0.5...1))
      } catch {
        for write in takeAll() { write.stop(error.ofCluster) }
      }
    }
  }

  /// The latest deadline of those that wait. Without any, the task ends, and the next write starts another.
  private func latestDeadline(ends: Bool = true) -> ContinuousClock.Instant? {
    state.withLock { state in
      while state.waiting.first?.outcome.isEnded == true { state.waiting.removeFirst() }
      let deadline = state.waiting.lazy.filter { !$0.outcome.isEnded }.map(\.deadline).max()
      if deadline == nil, ends { (state.isRunning, state.waiting) = (false, []) }
      return deadline
    }
  }

  private func takeAll() -> CircularBuffer<ClusterWrite> {
    state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// The next write that may join a group of this many.
  private func next(after count: Int) -> ClusterWrite? {
    state.withLock { state in
      while let write = state.waiting.first {
        if write.outcome.isEnded {
          state.waiting.removeFirst()
        } else if count > 0 && write.isAlone {
          return nil
        } else {
          return state.waiting.removeFirst()
        }
      }
      return nil
    }
  }

  private func putBack(_ writes: [ClusterWrite]) {
    state.withLock { state in
      for write in writes.reversed() {
        write.isQueued()
        state.waiting.prepend(write)
      }
    }
  }

  /// How long a group may grow: each write takes a message and back, so on slow ways a fixed time would make every
  /// commit one of a single write.
  private func groupTime(_ roundTrip: Duration) -> Duration {
    max(configuration.maximumGroupTime, min(roundTrip * 10, .seconds(1)))
  }

  private typealias Group = [(write: ClusterWrite, outcome: Result<[SqlAnswer], any Error>)]

  /// Runs those that wait in the open transaction, and commits it. Throws an error of the node if nothing is stored;
  /// then they wait again.
  private func runGroup(_ session: ClusterSession, for time: Duration) async throws {
    var done: Group = []
    let end = ContinuousClock.now + time
    while done.count < configuration.maximumGroup, done.isEmpty || .now < end, let write = next(after: done.count) {
      let deadline = ContinuousClock.now + configuration.timeout
      do {
        done.append((write, .success(try await write.answers(on: session, before: deadline))))
      } catch {
        guard session.isUsable(after: error) else {
          if (error as? NodeFailure)?.wasSent == true { write.wasLost(error) }
          guard let own = error as? SqlError, !own.isOfNode else {
            putBack(done.map(\.write) + [write])
            throw error
          }
          // What can't be understood closes the connection. The others are not to blame.
          write.stop(own.afterRollback)
          putBack(done.map(\.write))
          throw NodeFailure(address: session.address, reason: "an answer could not be read", wasSent: false)
        }
        let isOpen: Bool
        do { isOpen = try await session.isInTransaction(before: deadline) } catch {
          putBack(done.map(\.write) + [write])
          throw error
        }
        guard isOpen else {
          try await ended(write, error, on: session, with: done)
          return
        }
        if TransactionRecord.isMissing(error), write.isRepeatable {
          do { try await session.execute(TransactionRecord.createTable, before: deadline) } catch {
            putBack(done.map(\.write) + [write])
            throw error
          }
          putBack([write])
          continue
        }
        done.append((write, .failure(error)))
      }
      if write.isAlone { break }
    }
    if confirmation != nil, !done.isEmpty, !done.contains(where: { $0.write.stores($0.outcome) }) {
      // What a leader says that was cut off may be of the past. A commit that stores something shows that it leads.
      do { try await session.changePage(before: .now + configuration.timeout) } catch {
        putBack(done.map(\.write))
        throw error
      }
    }
    try await commit(done, session)
  }

  /// Ends a write that has ended the whole transaction, if it was alone and the leader is confirmed. Otherwise it and
  /// the others run again, each alone.
  private func ended(
    _ write: ClusterWrite, _ error: any Error, on session: ClusterSession, with others: Group
  ) async throws {
    let isKnown = confirmation == nil || write.confirmed == session.address
    if write.isAlone, isKnown { write.ended(error.afterRollback) }
    for write in others.map(\.write) + [write] { write.runsAlone() }
    putBack(others.map(\.write) + [write])
    guard write.isAlone, !isKnown else { return }
    try await confirmation?.confirm(session.address, before: write.deadline)
    write.confirmed = session.address
  }

  private func commit(_ group: Group, _ session: ClusterSession) async throws {
    let done = group.compactMap { write, outcome in (try? outcome.get()).map { (write: write, answers: $0) } }
    // One that was stopped meanwhile must not be stored.
    guard done.allSatisfy({ $0.write.commits() }) else {
      for (write, _) in done { write.isQueued() }
      await rollBack(session)
      return putBack(group.map(\.write))
    }
    if done.isEmpty, group.isEmpty || confirmation == nil {
      await rollBack(session)
      return refuse(group)
    }
    switch await commit(session, before: .now + configuration.timeout) {
    case .stored:
      state.withLock { $0.counts.writes += done.count }
      for (write, answers) in done { write.outcome.end(.success(answers)) }
      return refuse(group)
    case .lost(let error):
      drop(session, after: error)
    case .refused(let error):
      await rollBack(session)
      // A foreign key that is checked at the commit; alone, each has its own outcome.
      if let last = group.last, group.count == 1 { return try await ended(last.write, error, on: session, with: []) }
      for (write, _) in group { write.runsAlone() }
    case .unknown(let error):
      drop(session, after: error)
      // With a record, the next attempt finds out.
      let isRepeated = error.isOfNode
      for (write, answers) in done where !(isRepeated && write.isUnknown(answers)) {
        write.ended(SqlError.outcomeUnknown(error))
      }
    }
    // Also what was refused: it may have been because of a write that is not stored.
    putBack(group.map(\.write).filter { !$0.outcome.isEnded })
  }

  private func refuse(_ group: Group) {
    for (write, outcome) in group { if case .failure(let error) = outcome { write.refused(error) } }
  }
}

extension ClusterSession {
  /// Whether the transaction is still open after a statement that failed: some errors end all of it, and then the
  /// savepoint is gone, too. Throws if the node does not say.
  func isInTransaction(before deadline: ContinuousClock.Instant) async throws -> Bool {
    do {
      try await execute("RELEASE sqlable_group; SAVEPOINT sqlable_group", before: deadline)
      return true
    } catch {
      guard isUsable(after: error) else { throw error }
      return false
    }
  }

  /// Changes a page of the database, and nothing that is read: its commit needs a majority then.
  func changePage(before deadline: ContinuousClock.Instant) async throws {
    let request = SqlRequest(sql: "PRAGMA user_version", values: [], isReadOnly: true)
    guard case .integer(let version)? = try await answer(to: request, before: deadline).rows.first?.first else {
      throw NodeFailure(address: address, reason: "it does not say the version of the database", wasSent: false)
    }
    try await execute("PRAGMA user_version = \(version)", before: deadline)
  }

  /// Runs requests in the open transaction, all or none of them.
  func answers(to requests: [SqlRequest], before deadline: ContinuousClock.Instant) async throws -> [SqlAnswer] {
    if requests.count == 1 { return [try await answer(to: requests[0], before: deadline)] }
    try await execute("SAVEPOINT sqlable_call", before: deadline)
    do {
      var answers: [SqlAnswer] = []
      for request in requests { answers.append(try await answer(to: request, before: deadline)) }
      try await execute("RELEASE sqlable_call", before: deadline)
      return answers
    } catch {
      if isUsable(after: error) {
        try? await execute("ROLLBACK TO sqlable_call; RELEASE sqlable_call", before: deadline)
      }
      throw error
    }
  }
}

extension SqlError {
  /// Whether the call may have succeeded with more time.
  fileprivate var isOfTime: Bool { [.busy, .timeout, .unavailable].contains(kind) }
}

extension Error {
  /// The error of a transaction that is rolled back.
  var afterRollback: any Error {
    guard var error = self as? SqlError else { return self }
    error.transaction = .rolledBack
    return error
  }
}
#endif
