#if Cluster
import Sqlable
import NIOCore

/// The one connection that writes. Writes that wait for the connection share a commit, in order.
final class ClusterWriter: Sendable {
  struct State {
    var waiting = CircularBuffer<ClusterWrite>()
    /// Whether a task runs groups.
    var isRunning = false
    var isClosed = false
    var session: ClusterSession?
    /// The time when another client was last seen to have the write lock; nil if never.
    var contended: ContinuousClock.Instant?
    /// The time since which this client has had the lock, with short breaks between its transactions; nil between its
    /// turns.
    var hasLockSince: ContinuousClock.Instant?
    /// The average duration of a request that is sent together with others.
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
  /// The turn to write, for a group or a transaction.
  let turn = Slots(1)

  /// A closure to be called after each commit.
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

  /// Closes the connection, which makes the node roll back its transaction.
  func drop(_ session: ClusterSession, after error: any Error) {
    forget(session)
    if error.isNodeFailure { leader.failed(session.address, error) }
  }

  /// Closes the connection; the next write opens another one.
  func forget(_ session: ClusterSession) {
    session.close()
    state.withLock { if $0.session === session { $0.session = nil } }
  }

  /// Whether another client was seen to have the write lock lately.
  private var isContended: Bool { state.withLock { state in state.contended.map { $0 + .seconds(1) > .now } ?? false } }

  /// Returns the error of a write that waited too long.
  func meaning(ofLate error: any Error) -> any Error {
    guard (error as? SqlError)?.kind == .timeout, leader.last != nil, isContended else {
      return leader.meaning(ofLate: error)
    }
    return SqlError.lateForLock
  }

  /// The longest pause between two requests for the write lock. Each request takes the leader's time, which the writes
  /// of many processes need.
  private static let maximumPause = Duration.milliseconds(256)
  /// The time for which a client goes on with transactions while others wait. Between two transactions the lock is
  /// free, but another client gets the lock only by asking at that moment.
  private static let turnTime = Duration.milliseconds(40)

  /// Whether others may have waited for a whole turn of this client.
  private func isTurnOver() -> Bool {
    guard isContended else { return false }
    return state.withLock { state in
      if let since = state.hasLockSince, since + ClusterWriter.turnTime > .now { return false }
      state.hasLockSince = nil
      return true
    }
  }

  /// Begins a transaction, and returns the time that the node took to answer. Waits for the write lock while another
  /// client has it. A node has no lock queue, so the client asks again and again.
  @discardableResult
  func begin(
    _ session: ClusterSession, before deadline: ContinuousClock.Instant, while isWanted: () -> Bool = { true }
  ) async throws -> Duration {
    // After its turn, a client leaves the others the time to ask.
    if isTurnOver() { try await Task.sleep(for: .milliseconds(2) * Double.random(in: 0.5...1)) }
    // The pauses are random, so that every client gets a turn.
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
        // BEGIN is not a statement of the caller, so the call may try the next leader, whatever has silenced this one.
        failure.wasSent = false
        throw failure
      }
    }
  }

  /// The outcome of a COMMIT.
  enum CommitOutcome {
    case stored
    /// Nothing is stored, and the connection is unusable.
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
    } catch let error as SqlError where !error.isNodeFailure && error.kind != .full {
      return .refused(error)
    } catch {
      return .unknown(error)
    }
  }

  /// Rolls back the open transaction after an error, or closes a connection that is unusable.
  func abandon(_ session: ClusterSession, after error: any Error) async {
    if session.isUsable(after: error) { await rollBack(session) } else { drop(session, after: error) }
  }

  func rollBack(_ session: ClusterSession) async {
    do { try await session.execute("ROLLBACK", before: .now + .seconds(2)) } catch { drop(session, after: error) }
  }
}

extension Error {
  /// The error, with its transaction marked as rolled back. An `SqlError` whose outcome is unknown, and any other
  /// error, stays as it is.
  var afterRollback: any Error {
    guard var error = self as? SqlError, error.transaction != .unknown else { return self }
    error.transaction = .rolledBack
    return error
  }
}
#endif
