#if Cluster
import Sqlable

extension ClusterWriter {
  /// Runs `body` in a separate transaction. Retries if the leader was lost before the commit was sent. Returns nil if
  /// the transaction of an earlier call with the same record is stored.
  func transaction<Value>(
    _ record: TransactionRecord?, enforcesForeignKeys: Bool = true, before deadline: ContinuousClock.Instant,
    of cluster: SqliteCluster, isolation: isolated (any Actor)?, _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value? {
    var attempts = ClusterAttempts(before: deadline)
    // The attempt whose outcome is unknown, with the value that `body` returned; nil if there is none.
    var unknown: (value: Value, attempt: Int64)?
    let call = TracedCall(on: cluster)
    while true {
      switch await attempt(
        record, &unknown, enforcesForeignKeys, deadline, cluster, call, isolation: isolation, body)
      {
      case .stored(let value):
        await call?.ended(.committed)
        return value
      case .storedBefore(let value):
        if unknown != nil { await call?.ended(value == nil ? .rolledBack : .committed) }
        return value
      case .undone(let value):
        await call?.ended(.rolledBack)
        return value
      case .failed(let error):
        await call?.ended(.init(error), error)
        throw error
      case .again(let reason):
        do { try await attempts.pause(after: reason) } catch {
          let error = (unknown == nil ? error : SqlError.outcomeUnknown(error)).labelled(configuration.label)
          await call?.ended(.init(error), error)
          throw error
        }
      }
    }
  }

  private enum Attempt<Value> {
    case stored(Value)
    /// The record is already stored. The value is from an earlier attempt of this call; nil if another call stored the
    /// record.
    case storedBefore(Value?)
    case undone(Value)
    case failed(any Error)
    case again(any Error)
  }

  private func attempt<Value>(
    _ record: TransactionRecord?, _ unknown: inout (value: Value, attempt: Int64)?, _ enforcesForeignKeys: Bool,
    _ deadline: ContinuousClock.Instant, _ cluster: SqliteCluster, _ call: TracedCall?,
    isolation: isolated (any Actor)?, _ body: (ClusterTransaction) async throws -> Value
  ) async -> Attempt<Value> {
    do {
      try await turn.take(before: deadline, late: .late("other transactions held the writer until the deadline"))
    } catch {
      return .again(error)
    }
    defer { turn.giveBack() }
    let session: ClusterSession
    do { session = try await openSession(before: deadline) } catch { return .again(error) }
    // `PRAGMA foreign_keys` has no effect inside a transaction, so the pragma runs before BEGIN. Later transactions
    // must not inherit the setting, so the connection is closed.
    defer { if !enforcesForeignKeys { forget(session) } }
    do {
      if !enforcesForeignKeys { try await session.execute("PRAGMA foreign_keys = OFF", before: deadline) }
      // A transaction without writes returns the data that it read, so the voters must confirm the leader first.
      try await confirmation?.confirm(session.address, before: deadline)
      try await begin(session, before: deadline)
      if let record {
        if let stored = try await record.storedAttempt(session, before: deadline) {
          await rollBack(session)
          return .storedBefore(stored == unknown?.attempt ? unknown?.value : nil)
        }
        if unknown != nil { call?.end(.rolledBack) }
        if confirmation != nil { unknown = nil }
      }
    } catch {
      await abandon(session, after: error)
      return .again(error)
    }
    let transaction = ClusterTransaction(session, cluster, before: deadline, call)
    let number = TransactionRecord.newAttempt()
    let value: Value
    call?.times.didSend()
    do {
      value = try await transaction.run(isolation: isolation, body)
      call?.times.didAnswer()
      if isRollback(value) {
        await rollBack(session)
        return .undone(value)
      }
      try await record?.store(number, session, before: deadline)
      // Check for a cancellation before the commit, which a later cancellation does not stop. Nothing is stored before
      // this point.
      try Task.checkCancellation()
      guard deadline > .now else { throw SqlError.late("the transaction did not end in time").afterRollback }
    } catch {
      let failure = transaction.nodeFailure ?? error
      await abandon(session, after: failure)
      let isLate = (failure as? NodeFailure)?.isLate == true
      let isOpen = (error as? SqlError)?.transaction == .untouched
      guard failure.isNodeFailure, !isLate else { return .failed((isOpen ? error.afterRollback : error).ofCluster) }
      call?.end(.rolledBack, failure)
      return .again(failure)
    }
    switch await Task(operation: { await commit(session, before: deadline) }).value {
    case .stored:
      state.withLock { $0.counts.writes += 1 }
      return .stored(value)
    case .lost(let error):
      drop(session, after: error)
      call?.end(.rolledBack, error)
      return .again(error)
    case .refused(let error):
      await rollBack(session)
      return .failed(error.afterRollback.labelled(configuration.label))
    case .unknown(let error):
      drop(session, after: error)
      // If the transaction has a record, the next attempt detects whether the commit is stored.
      guard record != nil, error.isNodeFailure else {
        return .failed(SqlError.outcomeUnknown(error).labelled(configuration.label))
      }
      unknown = (value, number)
      return .again(error)
    }
  }
}

/// The transaction of a closure on a ``SqliteCluster``. A transaction runs any statement or query that the cluster
/// runs.
///
/// Each statement sees the changes of the earlier statements. The transaction is valid only inside the closure; later
/// calls throw `.misuse`.
public final class ClusterTransaction: SqlTransport, CheckingTransport {
  @TaskLocal static var current: ClusterTransaction?

  private struct State {
    var isEnded = false
    var failure: (any Error)?
    /// The number of savepoints so far. The name of the next savepoint contains this number.
    var savepoints = 0
    /// True if a loop is reading rows. The connection then accepts no other statement.
    var isInLoop = false
  }

  private let session: ClusterSession
  let cluster: SqliteCluster
  private let deadline: ContinuousClock.Instant
  private let call: TracedCall?
  let isReadOnly: Bool
  let outer = ClusterTransaction.current
  private let state = LockedValue(State())
  /// The turn to send statements. Child tasks can call at the same time, but a connection runs one statement at a time.
  private let turn = Slots(1)

  init(
    _ session: ClusterSession, _ cluster: SqliteCluster, before deadline: ContinuousClock.Instant,
    _ call: TracedCall?, isReadOnly: Bool = false
  ) {
    (self.session, self.cluster, self.deadline, self.isReadOnly) = (session, cluster, deadline, isReadOnly)
    self.call = call
  }

  /// True if `body` has returned. A task that `body` started might still be running.
  var isEnded: Bool { state.withLock { $0.isEnded } }

  private var isLost: Bool { state.withLock { $0.failure != nil } }

  var nodeFailure: (any Error)? { state.withLock { $0.failure.flatMap { $0.isNodeFailure ? $0 : nil } } }

  /// Calls `body`. Throws if the transaction ends while `body` runs, even if `body` catches the error.
  func run<Value>(
    isolation: isolated (any Actor)?, _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value {
    defer { state.withLock { $0.isEnded = true } }
    let value = try await ClusterTransaction.$current.withValue(
      self, operation: { try await body(self) }, isolation: isolation)
    if let failure = state.withLock({ $0.failure }) { throw failure.afterRollback }
    return value
  }

  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output where Work.Output: Sendable {
    try await cluster.atSite(file, line) {
      do { return try await work.run(over: self) } catch var error as SqlError where error.transaction == .none {
        // This error comes from the library, and not from the node, so the transaction is still open.
        if !isEnded, !isLost { error.transaction = .untouched }
        guard let call, !error.needsNoEvent else { throw error }
        call.add(error)
        throw error.traced
      }
    }
  }

  public func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] {
    try await answers(to: requests, check: nil)
  }

  package func answers(
    to requests: [SqlRequest], check: (@Sendable ([SqlAnswer]) throws -> Void)?
  ) async throws -> [SqlAnswer] {
    try requests.check()
    if requests.isEmpty { return [] }
    guard !isReadOnly || requests.allSatisfy(\.isQuery) else {
      throw SqlError(.readOnly, message: "a read transaction can't write; use transaction { }", transaction: .untouched)
    }
    let times = call.map { _ in CallTimes() }
    try await takeTurn()
    defer { turn.giveBack() }
    let end = min(deadline, Deadline.current ?? deadline)
    guard end > .now else {
      // The statement was not sent, so the transaction stays open.
      throw SqlError(.timeout, message: "the deadline passed before the statement was sent", transaction: .untouched)
    }
    times?.didSend()
    do {
      let answers: [SqlAnswer]
      if let check {
        answers = try await session.answers(to: requests, check: check, before: end)
      } else {
        answers = try await session.answers(to: requests, before: end)
      }
      call?.add(requests, .success(answers), times)
      return answers
    } catch {
      let error = await meaning(of: error)
      call?.add(requests, .failure(error), times)
      throw call == nil ? error : error.traced
    }
  }

  /// Calls `body` in a savepoint. If `body` throws or returns `.rollback`, only the changes of `body` are undone.
  ///
  /// ```swift
  /// try await cluster.transaction { tx in
  ///   try await order.insert().run(tx)
  ///   try? await tx.transaction { tx in try await reserve(order, tx) }     // SAVEPOINT … RELEASE
  /// }
  /// ```
  ///
  /// `cluster.transaction` does the same inside the closure of a transaction. Throws `.misuse` in a read transaction.
  @discardableResult
  public func transaction<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value {
    try await nested(isolation: isolation, body)
  }

  /// Calls `body` with each row. No other statement can run during the loop, because a connection runs one statement at
  /// a time.
  func forEach<Row, Outcome>(
    _ request: SqlRequest, _ read: (ReceivedRows) throws -> [Row], isolation: isolated (any Actor)?,
    _ body: (Row) async throws -> Outcome
  ) async throws {
    try request.checkLoop()
    let times = call.map { _ in CallTimes() }
    try await takeTurn()
    state.withLock { $0.isInLoop = true }
    defer {
      state.withLock { $0.isInLoop = false }
      turn.giveBack()
    }
    let end = min(deadline, Deadline.current ?? deadline)
    times?.didSend()
    var rows = 0
    do {
      var parts: RowBatchStream
      do { parts = try await .first(of: request, on: session, before: end, isolation: isolation) } catch {
        throw await meaning(of: error)
      }
      defer { rows = parts.rows }
      do { try await parts.forEach(read, isolation: isolation, body) } catch {
        // Skip the unread rows, because the node sends them before the answer to the next statement.
        do { try await parts.skip(before: deadline, isolation: isolation) } catch { throw noteFailure(error) }
        throw parts.isFailed ? await meaning(of: error) : error
      }
      do { try await parts.skip(before: deadline, isolation: isolation) } catch { throw noteFailure(error) }
    } catch {
      call?.add(request, rows: rows, error, times)
      throw call == nil ? error : error.traced
    }
    call?.add(request, rows: rows, nil, times)
  }

  /// After a failed statement, asks the node whether the transaction is still open. Returns the error for the caller.
  private func meaning(of error: any Error) async -> any Error {
    guard session.isUsable(after: error) else { return noteFailure(error) }
    do {
      guard try await session.isInTransaction(before: deadline) else { return noteFailure(error) }
    } catch { return noteFailure(error) }
    guard var open = error as? SqlError else { return error }
    open.transaction = .untouched
    return open
  }

  func nested<Value>(
    isolation: isolated (any Actor)?, _ body: (ClusterTransaction) async throws -> Value
  ) async throws -> Value {
    guard !isReadOnly else { throw SqlError.misuse("a transaction can't begin inside a read transaction") }
    let number = state.withLock { state in
      state.savepoints += 1
      return state.savepoints
    }
    let name = "sqlable_\(number)"
    // After an error, `isInTransaction(before:)` releases the inner savepoint to test whether the transaction is open.
    try await control("SAVEPOINT \(name); SAVEPOINT sqlable_group")
    do {
      let value = try await body(self)
      try await control(isRollback(value) ? "ROLLBACK TO \(name); RELEASE \(name)" : "RELEASE \(name)")
      return value
    } catch {
      // If the whole transaction has ended, its savepoints no longer exist.
      if !isLost { try await control("ROLLBACK TO \(name); RELEASE \(name)") }
      throw error
    }
  }

  /// Waits until the statements of other tasks have ended. Throws if the transaction has ended.
  private func takeTurn() async throws {
    guard !state.withLock({ $0.isInLoop }) else {
      throw SqlError.misuse(
        "the transaction can't run another statement during a loop over rows; use run instead of the loop")
    }
    try await turn.take(before: deadline, late: .late("another statement of the transaction did not end in time"))
    do {
      guard deadline > .now else { throw SqlError.late("the transaction did not end in time") }
      try state.withLock { state in
        if let failure = state.failure { throw failure.ofCluster.afterRollback }
        guard !state.isEnded else {
          throw SqlError.misuse("the transaction has ended, and can't run another statement")
        }
      }
    } catch {
      turn.giveBack()
      throw error
    }
  }

  private func control(_ sql: String) async throws {
    try await takeTurn()
    defer { turn.giveBack() }
    do { try await session.execute(sql, before: deadline) } catch { throw noteFailure(error) }
  }

  private func noteFailure(_ error: any Error) -> any Error {
    state.withLock { $0.failure = error }
    return error.ofCluster.afterRollback
  }
}

private func isRollback(_ value: some Any) -> Bool { (value as? TransactionResult) == .rollback }
#endif
