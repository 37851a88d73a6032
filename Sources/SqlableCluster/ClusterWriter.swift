#if Cluster
import Sqlable
import NIOCore

/// The owner of the client's only connection for writes. Writes that wait for the connection share a commit, in order.
final class ClusterWriter: Sendable {
  struct State {
    var waiting = CircularBuffer<ClusterWrite>()
    var isRunning = false
    var isClosed = false
    var session: ClusterSession?
    /// The last time when another client had the write lock; nil if no other client had the lock.
    var contended: ContinuousClock.Instant?
    /// The start of this client's turn with the write lock, which can span several transactions; nil between turns.
    var hasLockSince: ContinuousClock.Instant?
    /// The average duration of a request that was sent together with other requests.
    var timePerRequest = Duration.microseconds(100)
    var counts = Counts()
  }

  struct Counts {
    var writes = 0
    var commits = 0
  }

  let leader: ClusterLeader
  let confirmation: LeaderConfirmation?
  let configuration: ClusterConfiguration
  let state = LockedValue(State())
  let turn = Slots(1)

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

  /// Closes the session's connection, so that the node rolls back the open transaction. Reports a failure of the node
  /// to `leader`.
  func drop(_ session: ClusterSession, after error: any Error) {
    forget(session)
    if error.isNodeFailure { leader.failed(session.address, error) }
  }

  func forget(_ session: ClusterSession) {
    session.close()
    state.withLock { if $0.session === session { $0.session = nil } }
  }

  private var isContended: Bool { state.withLock { state in state.contended.map { $0 + .seconds(1) > .now } ?? false } }

  func meaning(ofLate error: any Error) -> any Error {
    guard (error as? SqlError)?.kind == .timeout, leader.last != nil, isContended else {
      return leader.meaning(ofLate: error)
    }
    return SqlError.lateForLock
  }

  /// The longest pause between two attempts to get the write lock. Each attempt costs the leader time.
  private static let maximumPause = Duration.milliseconds(256)
  /// The time for which a client starts new transactions while other clients wait. Without this limit, other clients
  /// would rarely get the lock, which is free only for a moment between two transactions.
  private static let turnTime = Duration.milliseconds(40)

  private func isTurnOver() -> Bool {
    guard isContended else { return false }
    return state.withLock { state in
      if let since = state.hasLockSince, since + ClusterWriter.turnTime > .now { return false }
      state.hasLockSince = nil
      return true
    }
  }

  /// Begins a transaction, and returns the time that the node took to answer. A node has no queue for the write lock,
  /// so the client retries while another client has the lock.
  @discardableResult
  func begin(
    _ session: ClusterSession, before deadline: ContinuousClock.Instant, while isWanted: () -> Bool = { true }
  ) async throws -> Duration {
    // Pause when this client's turn with the lock is over, so that other clients can get the lock.
    if isTurnOver() { try await Task.sleep(for: .milliseconds(2) * Double.random(in: 0.5...1)) }
    // The pauses are random, so that every client has a chance to get the lock.
    var backoff = Backoff(from: .milliseconds(1), upTo: ClusterWriter.maximumPause, least: 0)
    var isRetry = false
    while true {
      do {
        let sent = ContinuousClock.now
        try await session.beginWriting(isRetry: isRetry, before: deadline)
        state.withLock { $0.hasLockSince = $0.hasLockSince ?? .now }
        return sent.duration(to: .now)
      } catch let error as SqlError where error.kind == .busy {
        state.withLock { ($0.contended, $0.hasLockSince) = (.now, nil) }
        isRetry = true
        guard isWanted(), .now < deadline else { throw error }
        try await Task.sleep(until: min(deadline, .now + backoff.next()), clock: .continuous)
      } catch var failure as NodeFailure {
        if failure.isLate, isContended { throw SqlError.lateForLock }
        // BEGIN is not a statement of the caller, so the call can try the next leader after any failure of this node.
        failure.wasSent = false
        throw failure
      }
    }
  }

  enum CommitOutcome {
    case stored
    /// Nothing is stored, and the connection is unusable.
    case lost(any Error)
    /// Nothing is stored: the node refused the commit.
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
    } catch let error as SqlError where !error.isNodeFailure && error.kind != .full {
      return .refused(error)
    } catch {
      return .unknown(error)
    }
  }

  func abandon(_ session: ClusterSession, after error: any Error) async {
    if session.isUsable(after: error) { await rollBack(session) } else { drop(session, after: error) }
  }

  func rollBack(_ session: ClusterSession) async {
    do { try await session.execute("ROLLBACK", before: .now + .seconds(2)) } catch { drop(session, after: error) }
  }
}

extension Error {
  /// The error for the caller after a rollback: an `SqlError` is marked as rolled back, unless its outcome is unknown.
  var afterRollback: any Error {
    guard var error = self as? SqlError, error.transaction != .unknown else { return self }
    error.transaction = .rolledBack
    return error
  }
}
#endif
