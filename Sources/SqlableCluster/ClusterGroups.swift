#if Cluster
import Sqlable
import NIOCore

// Waiting writes run in groups. The writes of a group share a commit.

extension ClusterWriter {
  /// Runs the requests of one write in a shared transaction: all requests are stored, or none. Returns nil if an
  /// earlier call with the same record has already stored the write.
  func run(
    _ requests: [SqlRequest], _ record: TransactionRecord? = nil, check: (@Sendable ([SqlAnswer]) throws -> Void)?,
    before deadline: ContinuousClock.Instant, _ times: CallTimes?
  ) async throws -> [SqlAnswer]? {
    try Task.checkCancellation()
    let write = ClusterWrite(requests, record, check, deadline, times)
    let isFirst = try state.withLock { state in
      if state.isClosed { throw SqlError.closedCluster }
      state.waiting.append(write)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { Task.detached(priority: Task.currentPriority) { await self.runGroups() } }
    return try await write.outcome.value(before: deadline, late: .late("the write did not end in time")) { error in
      write.stop(self.meaning(ofLate: error))
    }
  }

  private func runGroups() async {
    var attempts = 0
    while let deadline = latestDeadline() {
      do {
        // Wait for the turn until the latest deadline of all waiting writes. Each write still ends at its own deadline.
        try await turn.take(before: deadline, late: .late("other transactions held the writer until the deadline"))
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
      } catch  where error.isNodeFailure || (error as? SqlError)?.isTransient == true {
        attempts += 1
        try? await Task.sleep(for: .milliseconds(min(attempts * 5, 100)) * Double.random(in: 0.5...1))
      } catch {
        for write in takeAll() { write.stop(error.ofCluster) }
      }
    }
  }

  /// Returns the latest deadline of the waiting writes; nil if no write waits. If no write waits and `ends` is true,
  /// marks the task as ended, so that the next write starts a new task.
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

  /// Returns the writes to add to a group of `count` writes: one write, or several writes that can be sent together.
  private func next(after count: Int, upTo limit: Int) -> [ClusterWrite] {
    state.withLock { state in
      var writes: [ClusterWrite] = []
      while writes.isEmpty || writes.count < limit, let write = state.waiting.first {
        let isEnded = write.outcome.isEnded
        let isSingle = write.single != nil
        guard isEnded || (count == 0 && writes.isEmpty) || !write.isAlone, writes.isEmpty || isEnded || isSingle else {
          break
        }
        state.waiting.removeFirst()
        if !isEnded { writes.append(write) }
        if !isEnded, !isSingle { break }
      }
      return writes
    }
  }

  private func putBack(_ writes: [ClusterWrite]) {
    state.withLock { state in
      for write in writes.reversed() {
        write.requeued()
        state.waiting.prepend(write)
      }
    }
  }

  /// Returns the time for which a group can grow. The time depends on the network: with a fixed time, a slow network
  /// would leave few writes in each commit.
  private func groupTime(_ roundTrip: Duration) -> Duration {
    max(configuration.maximumGroupTime, min(roundTrip * 10, .seconds(1)))
  }

  private typealias Group = [(write: ClusterWrite, outcome: Result<[SqlAnswer], any Error>)]

  /// Runs waiting writes, then commits. If the commit fails, requeues the writes and throws the node's error.
  private func runGroup(_ session: ClusterSession, for time: Duration) async throws {
    var done: Group = []
    let end = ContinuousClock.now + time
    while done.count < configuration.maximumGroup, done.isEmpty || .now < end {
      let limit = await session.mayPipeline == true ? sendLimit(after: done.count, before: end) : 1
      let writes = next(after: done.count, upTo: limit)
      guard let write = writes.first else { break }
      if writes.count > 1 {
        guard try await runTogether(writes, on: session, &done) else { return }
        continue
      }
      let deadline = ContinuousClock.now + configuration.timeout
      do {
        done.append((write, .success(try await write.answers(on: session, before: deadline))))
      } catch {
        guard session.isUsable(after: error) else {
          if (error as? NodeFailure)?.wasSent == true { write.connectionBroke(error) }
          guard let sqlError = error as? SqlError, !sqlError.isNodeFailure else {
            putBack(done.map(\.write) + [write])
            throw error
          }
          // An answer that can't be decoded closes the connection. The other writes are not at fault, and run again.
          write.stop(sqlError.afterRollback)
          putBack(done.map(\.write))
          throw NodeFailure(address: session.address, reason: "can't decode an answer of the node", wasSent: false)
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
        if TransactionRecord.isStored(error) {
          do { try await write.findStored(on: session, before: deadline) } catch {
            putBack(done.map(\.write) + [write])
            throw error
          }
        }
        done.append((write, .failure(error)))
      }
      if write.isAlone { break }
    }
    if confirmation != nil, !done.isEmpty, !done.contains(where: { $0.write.stores($0.outcome) }) {
      // A leader that was cut off might answer with old data. A stored change proves that the node is still the leader.
      do { try await session.changePage(before: .now + configuration.timeout) } catch {
        putBack(done.map(\.write))
        throw error
      }
    }
    try await commit(done, session)
  }

  private func sendLimit(after count: Int, before end: ContinuousClock.Instant) -> Int {
    let timePerRequest = state.withLock { $0.timePerRequest }
    let fittingCount = max(0, (end - .now) / timePerRequest)
    return min(Int(min(fittingCount, 1_000)), ClusterSession.maximumSent, configuration.maximumGroup - count)
  }

  /// Runs writes that are sent together. Returns false if a write ended the transaction. Throws if the node fails.
  private func runTogether(
    _ writes: [ClusterWrite], on session: ClusterSession, _ done: inout Group
  ) async throws -> Bool {
    let deadline = ContinuousClock.now + configuration.timeout
    let begin = ContinuousClock.now
    for write in writes { write.times?.didSend() }
    defer { for write in writes { write.times?.didAnswer() } }
    let all: PipelinedRequests
    do { all = try await session.answers(toAll: writes.compactMap(\.single), before: deadline) } catch {
      putBack(done.map(\.write) + writes)
      throw error
    }
    state.withLock { $0.timePerRequest = ($0.timePerRequest + begin.duration(to: .now) / writes.count) / 2 }
    if let brokenIndex = all.brokenIndex, case .failure(let error) = all.results[brokenIndex] {
      // The node runs the writes in order, so the first write without an answer is the cause of the failure.
      if (error as? NodeFailure)?.wasSent == true { writes[brokenIndex].connectionBroke(error) }
      let sqlError = (error as? SqlError).flatMap { $0.isNodeFailure ? nil : $0 }
      if let sqlError { writes[brokenIndex].stop(sqlError.afterRollback) }
      putBack((done.map(\.write) + writes).filter { !$0.outcome.isEnded })
      guard sqlError == nil else {
        throw NodeFailure(address: session.address, reason: "can't decode an answer of the node", wasSent: false)
      }
      throw error
    }
    let outcomes: Group = zip(writes, all.results).map { write, result in (write, result.map { [$0] }) }
    if let first = outcomes.firstIndex(where: { $0.outcome.failure != nil }) {
      let isOpen: Bool
      do { isOpen = try await session.isInTransaction(before: deadline) } catch {
        putBack(done.map(\.write) + writes)
        throw error
      }
      if !isOpen, let error = outcomes[first].outcome.failure {
        // The node lacked a resource, which ended the transaction. Each later write without an error ran outside the
        // transaction, so its outcome is unknown.
        let (before, after) = (outcomes[..<first], outcomes[(first + 1)...])
        for (write, outcome) in after where outcome.failure == nil { write.ended(SqlError.outcomeUnknown(error)) }
        let otherWrites = done + before + after.filter { $0.outcome.failure != nil }
        try await ended(outcomes[first].write, error, on: session, with: otherWrites)
        return false
      }
    }
    // The node refused some writes during a checkpoint. These writes run later in the group.
    let (delayed, run) = (outcomes.filter(\.outcome.isCheckpoint), outcomes.filter { !$0.outcome.isCheckpoint })
    putBack(delayed.map(\.write))
    done += run
    return true
  }

  /// Handles a write that ended the whole transaction. The write fails if it ran alone and the leader is confirmed.
  /// Otherwise the write runs again, alone, after the other writes.
  private func ended(
    _ write: ClusterWrite, _ error: any Error, on session: ClusterSession, with otherWrites: Group
  ) async throws {
    let isKnown = confirmation == nil || write.confirmed == session.address
    // An error that reports a stored record is not final, because an earlier attempt might have stored the write. The
    // next attempt reads the record.
    if write.isAlone, isKnown, !TransactionRecord.isStored(error) { write.ended(error.afterRollback) }
    let wasAlone = write.isAlone
    write.runAlone()
    putBack(otherWrites.map(\.write) + [write])
    guard wasAlone, !isKnown else { return }
    try await confirmation?.confirm(session.address, before: write.deadline)
    write.confirmed = session.address
  }

  private func commit(_ group: Group, _ session: ClusterSession) async throws {
    let done = group.compactMap { write, outcome in (try? outcome.get()).map { (write: write, answers: $0) } }
    let refused = done.filter { write, answers in
      guard let error = write.refusal(of: answers) else { return false }
      write.refused(error.afterRollback)
      return true
    }
    guard refused.isEmpty else {
      await rollBack(session)
      return putBack(group.map(\.write).filter { !$0.outcome.isEnded })
    }
    // Don't commit a group that contains a write whose caller no longer waits.
    guard done.allSatisfy({ $0.write.commits() }) else {
      for (write, _) in done { write.requeued() }
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
      // SQLite checks deferred foreign keys at the commit, so any write of the group can have violated a key. Each
      // write runs again alone.
      if let last = group.last, group.count == 1 { return try await ended(last.write, error, on: session, with: []) }
      for (write, _) in group { write.runAlone() }
    case .unknown(let error):
      drop(session, after: error)
      // After a node's failure, a write with a `TransactionRecord` runs again: the next attempt finds the record if the
      // commit is stored.
      let isRepeated = error.isNodeFailure
      for (write, answers) in done where !(isRepeated && write.isUnknown(answers)) {
        write.ended(SqlError.outcomeUnknown(error))
      }
    }
    // Requeue refused writes too: a write that was rolled back might have caused the refusal.
    putBack(group.map(\.write).filter { !$0.outcome.isEnded })
  }

  private func refuse(_ group: Group) {
    for (write, outcome) in group { if case .failure(let error) = outcome { write.refused(error) } }
  }
}

extension SqlError {
  /// True if the call might succeed with more time.
  fileprivate var isTransient: Bool { [.busy, .timeout, .unavailable].contains(kind) }
}
#endif
