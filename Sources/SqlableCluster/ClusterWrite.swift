#if Cluster
import Sqlable

/// A write of one caller: requests that are stored together.
final class ClusterWrite: Sendable {
  let deadline: ContinuousClock.Instant
  /// The outcome of the write. The answers are nil if the transaction was already stored by an earlier call with the
  /// same transaction id.
  let outcome = CallOutcome<[SqlAnswer]?>()
  /// The times of the call's steps, for traces; nil if no trace is active.
  let times: CallTimes?
  private let requests: [SqlRequest]
  private let record: TransactionRecord?
  /// A closure that throws if the caller can't use the answers. After such an error, the write is not stored.
  private let check: (@Sendable ([SqlAnswer]) throws -> Void)?
  /// True if the write is a single request without a record, and an error of the request leaves the transaction open.
  private let keepsTransaction: Bool
  private let state = LockedValue(State())

  private struct State {
    /// True if the write's COMMIT might have been sent.
    var isCommitting = false
    var isAlone = false
    var isCancelled = false
    var confirmed: NodeAddress?
    var losses = 0
    var attempt: Int64 = 0
    /// The answers of an attempt whose outcome is unknown, and the number of the attempt.
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

  /// The request of a write that can be sent together with other writes: a single request whose error leaves nothing to
  /// undo. Nil for any other write.
  var single: SqlRequest? {
    keepsTransaction && !isAlone ? requests[0] : nil
  }

  /// Runs the requests in the open transaction, after the requests that store the transaction record.
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
      // The batch begins with the requests that store the transaction record. The caller's index must not count these
      // requests.
      error.batchIndex = error.batchIndex.flatMap {
        requests.count > 1 && $0 >= recordRequests.count ? $0 - recordRequests.count : nil
      }
      throw error
    }
  }

  /// True if committing this outcome changes the database. The node then needs a majority.
  func stores(_ outcome: Result<[SqlAnswer], any Error>) -> Bool {
    guard case .success(let answers) = outcome else { return false }
    return isRepeatable
      || zip(requests, answers).contains { request, answer in
        answer.changes > 0 && ClusterStatement.cache.value(of: request.sql).changesPages
      }
  }

  func refusal(of answers: [SqlAnswer]) -> (any Error)? {
    do { try check?(answers) } catch { return error }
    return nil
  }

  var confirmed: NodeAddress? {
    get { state.withLock { $0.confirmed } }
    set { state.withLock { $0.confirmed = newValue } }
  }

  /// Stores the answers of a commit with an unknown outcome, and returns true. Returns false if the write has no
  /// transaction record, because only the record can later show the outcome.
  func isUnknown(_ answers: [SqlAnswer]) -> Bool {
    if isRepeatable { state.withLock { $0.unknown = (answers, $0.attempt) } }
    return isRepeatable
  }

  /// Reads from the stored transaction record which attempt was committed. If `unknown` has the answers of a different
  /// attempt, discards these answers.
  func findStored(on session: ClusterSession, before deadline: ContinuousClock.Instant) async throws {
    guard let record, let unknown = state.withLock({ $0.unknown }) else { return }
    let stored = try await record.storedAttempt(session, before: deadline)
    if stored != unknown.attempt { state.withLock { $0.unknown = nil } }
  }

  func refused(_ error: any Error) {
    guard isRepeatable, TransactionRecord.isStored(error) else {
      // The record was missing, so no earlier attempt is stored.
      state.withLock { $0.unknown = nil }
      return stop(error)
    }
    outcome.end(.success(state.withLock { $0.unknown?.answers }))
  }

  var isAlone: Bool { state.withLock { $0.isAlone } }

  func runAlone() { state.withLock { $0.isAlone = true } }

  /// Ends the write with an error. During the commit, only a deadline ends the write, and the outcome is then unknown.
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

  /// Marks the write as committing. Returns false if the write was stopped, so that its commit must not be sent.
  func commits() -> Bool {
    state.withLock { state in
      state.isCommitting = !outcome.isEnded
      return state.isCommitting
    }
  }

  /// Marks the write as waiting again. Call this method if the write's commit was not sent, or stored nothing.
  func requeued() {
    state.withLock { state in
      state.isCommitting = false
      if state.isCancelled { outcome.end(.failure(CancellationError())) }
    }
  }

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
