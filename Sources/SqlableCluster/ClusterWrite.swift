#if Cluster
import Sqlable

/// A write of one caller.
final class ClusterWrite: Sendable {
  let deadline: ContinuousClock.Instant
  /// Nil if an earlier call with the record is stored.
  let outcome = CallOutcome<[SqlAnswer]?>()
  /// Nil if nothing is traced.
  let times: CallTimes?
  private let requests: [SqlRequest]
  private let record: TransactionRecord?
  /// Throws if the answers can't be used; then nothing of it is stored.
  private let check: (@Sendable ([SqlAnswer]) throws -> Void)?
  /// Whether it is one request, after which nothing has to be undone.
  private let keepsTransaction: Bool
  private let state = LockedValue(State())

  private struct State {
    /// Whether its COMMIT may have been sent.
    var isCommitting = false
    var isAlone = false
    /// Whether the task was cancelled while the commit was under way.
    var isCancelled = false
    var confirmed: NodeAddress?
    var losses = 0
    /// The attempt that runs.
    var attempt: Int64 = 0
    /// The answers of an attempt whose outcome is not known.
    var unknown: (answers: [SqlAnswer], attempt: Int64)?
  }

  init(
    _ requests: [SqlRequest], _ record: TransactionRecord?, _ check: (@Sendable ([SqlAnswer]) throws -> Void)?,
    _ deadline: ContinuousClock.Instant, _ times: CallTimes?
  ) {
    (self.requests, self.record, self.check, self.deadline) = (requests, record, check, deadline)
    self.times = times
    keepsTransaction =
      requests.count == 1 && record == nil && ClusterStatement.cache.value(of: requests[0].sql).keepsTransaction
  }

  var isRepeatable: Bool { record != nil }

  /// The request that it consists of, if it may be sent together with those of other writes: after an error of it, or
  /// of one ahead of it, nothing has to be undone.
  var single: SqlRequest? {
    keepsTransaction && !isAlone ? requests[0] : nil
  }

  /// Runs the requests in the open transaction, with the record first.
  func answers(on session: ClusterSession, before deadline: ContinuousClock.Instant) async throws -> [SqlAnswer] {
    times?.didSend()
    defer { times?.didAnswer() }
    guard let record else { return try await session.answers(to: requests, before: deadline) }
    let attempt = TransactionRecord.newAttempt()
    state.withLock { $0.attempt = attempt }
    let recordRequests = TransactionRecord.trims ? [record.insert(attempt), record.trim] : [record.insert(attempt)]
    do {
      let answers = try await session.answers(to: recordRequests + requests, before: deadline)
      return Array(answers.dropFirst(recordRequests.count))
    } catch var error as SqlError where error.batchIndex != nil {
      // Those of the record are none of the batch.
      error.batchIndex = error.batchIndex.flatMap {
        requests.count > 1 && $0 >= recordRequests.count ? $0 - recordRequests.count : nil
      }
      throw error
    }
  }

  /// Whether a commit with this outcome stores something, so that the node needs a majority for it.
  func stores(_ outcome: Result<[SqlAnswer], any Error>) -> Bool {
    guard case .success(let answers) = outcome else { return false }
    return isRepeatable
      || zip(requests, answers).contains { request, answer in
        answer.changes > 0 && ClusterStatement.cache.value(of: request.sql).changesPages
      }
  }

  /// Why answers can't be used.
  func refusal(of answers: [SqlAnswer]) -> (any Error)? {
    do { try check?(answers) } catch { return error }
    return nil
  }

  /// The node that the voters have confirmed since the call began.
  var confirmed: NodeAddress? {
    get { state.withLock { $0.confirmed } }
    set { state.withLock { $0.confirmed = newValue } }
  }

  /// Notes the answers of a commit whose outcome is not known; false if that can't be found out.
  func isUnknown(_ answers: [SqlAnswer]) -> Bool {
    if isRepeatable { state.withLock { $0.unknown = (answers, $0.attempt) } }
    return isRepeatable
  }

  /// After an error that says that it is stored: forgets the answers of an attempt that is not the one.
  func findStored(on session: ClusterSession, before deadline: ContinuousClock.Instant) async throws {
    guard let record, let unknown = state.withLock({ $0.unknown }) else { return }
    let stored = try await record.storedAttempt(session, before: deadline)
    if stored != unknown.attempt { state.withLock { $0.unknown = nil } }
  }

  /// Ends it with what a node said of it.
  func refused(_ error: any Error) {
    guard isRepeatable, TransactionRecord.isStored(error) else {
      // Its record was not there: no earlier attempt is stored.
      state.withLock { $0.unknown = nil }
      return stop(error)
    }
    outcome.end(.success(state.withLock { $0.unknown?.answers }))
  }

  /// Whether it shares no commit with others.
  var isAlone: Bool { state.withLock { $0.isAlone } }

  func runAlone() { state.withLock { $0.isAlone = true } }

  /// Ends it with an error. While its commit is under way, only a deadline does, and its outcome is not known.
  func stop(_ error: any Error) {
    state.withLock { state in
      if state.unknown != nil {
        outcome.end(.failure(SqlError.outcomeUnknown(error)))
      } else if !state.isCommitting {
        outcome.end(.failure(error))
      } else if error is CancellationError {
        state.isCancelled = true
      } else {
        outcome.end(.failure(SqlError.outcomeUnknown(error)))
      }
    }
  }

  func ended(_ error: any Error) { outcome.end(.failure(error)) }

  /// Whether its commit may be sent: it was not stopped.
  func commits() -> Bool {
    state.withLock { state in
      state.isCommitting = !outcome.isEnded
      return state.isCommitting
    }
  }

  /// To be called when its commit was not sent, or stored nothing.
  func requeued() {
    state.withLock { state in
      state.isCommitting = false
      if state.isCancelled { outcome.end(.failure(CancellationError())) }
    }
  }

  /// Counts a connection that broke while it ran.
  func connectionBroke(_ error: any Error) {
    let isLast = state.withLock { state in
      state.losses += 1
      state.isAlone = state.losses > 1
      return (error as? NodeFailure)?.isSilent == true || state.losses >= ClusterAttempts.maximumLosses
    }
    if isLast { stop(error.ofCluster) }
  }
}
#endif
