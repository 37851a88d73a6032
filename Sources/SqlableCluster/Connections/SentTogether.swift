#if Cluster
import Sqlable

// Requests that are sent at once, before those ahead of them are answered.

/// What became of requests that were sent at once.
struct SentTogether: Sendable {
  var results: [Result<SqlAnswer, any Error>]
  /// The first request without an answer: the connection broke, or the node is of no use.
  var broken: Int?
}

extension ClusterSession {
  /// How many requests are sent at once.
  static let maximumSent = 128

  /// Begins a transaction that writes, with a savepoint, and finds out whether its requests may be sent before those
  /// ahead of them are answered.
  ///
  /// After an error most statements leave the transaction open, and those behind them in it. One that ends it would let
  /// those behind it be stored at once, each by itself. So nothing may: no statement, trigger or conflict clause.
  ///
  /// - Parameter isRetry: Whether another client had the lock just now: then the version is asked for once the lock is
  ///   there, since each question takes the leader's time.
  func beginWriting(isRetry: Bool = false, before deadline: ContinuousClock.Instant) async throws {
    mayPipeline = false
    if isRetry {
      try await execute("BEGIN IMMEDIATE; SAVEPOINT sqlable_group", before: deadline)
      let response = try await connection.send(.querySQL("PRAGMA schema_version", values: []), before: deadline)
      return try await note(schemaVersion: response, before: deadline)
    }
    let sent = try [
      WireMessage(.executeSQL("BEGIN IMMEDIATE; SAVEPOINT sqlable_group", values: [])),
      WireMessage(.querySQL("PRAGMA schema_version", values: [])),
    ]
    let responses = await connection.send(sent, before: deadline)
    _ = try responses[0].get().checked(nil, label)
    try await note(schemaVersion: try responses[1].get(), before: deadline)
  }

  private func note(schemaVersion response: WireResponse, before deadline: ContinuousClock.Instant) async throws {
    guard case .rows(_, let rows, _) = response, case .integer(let version)? = rows.first?.first else { return }
    if schema?.version != version { schema = (version, try await mayRollBack(before: deadline)) }
    mayPipeline = schema?.mayRollBack == false
  }

  /// Whether a trigger or a conflict clause of the schema can end a transaction.
  private func mayRollBack(before deadline: ContinuousClock.Instant) async throws -> Bool {
    let request = SqlRequest(
      sql: "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%rollback%'", values: [], isReadOnly: true)
    return try await answer(to: request, before: deadline).rows.first?.first != .integer(0)
  }

  /// Sends requests at once, and returns what became of each. None of them may end the transaction.
  func answers(toAll requests: [SqlRequest], before deadline: ContinuousClock.Instant) async throws -> SentTogether {
    let statements = requests.map { ClusterStatement.cache.value(of: $0.sql) }
    // One that is not kept would be dropped before it runs.
    let areKept = Set(requests.map(\.sql)).count <= cacheSize
    var messages: [Result<WireMessage, any Error>] = []
    for (request, statement) in zip(requests, statements) {
      do {
        let sent = try await wireRequest(
          for: request, returnsRows: statement.returnsRows, isKept: areKept, before: deadline)
        messages.append(.success(try WireMessage(sent)))
      } catch {
        // What does not compile, or can't be sent, is an error of its own request.
        guard isUsable(after: error) else { throw error }
        messages.append(.failure(error.of(request.sql)))
      }
    }
    var responses = await connection.send(messages.compactMap { try? $0.get() }, before: deadline).makeIterator()
    var all = SentTogether(results: [])
    for (place, message) in messages.enumerated() {
      if case .failure(let error) = message {
        all.results.append(.failure(error))
        continue
      }
      let response = responses.next() ?? .failure(NodeFailure(address: address, reason: "it did not answer"))
      let result = Result {
        answer(to: requests[place], statements[place], try response.get().checked(requests[place].sql, label))
      }
      all.results.append(result)
      guard all.broken == nil, case .failure(let error) = result else { continue }
      let isUnanswered = if case .failure = response { true } else { false }
      if isUnanswered || error.isOfNode { all.broken = place }
    }
    return all
  }
}

extension SqlError {
  /// Whether the node refuses everything, while it writes a checkpoint.
  var isOfCheckpoint: Bool { message == "checkpoint in progress" }
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

  /// Runs requests in the open transaction, and undoes them if `check` refuses their answers.
  func answers(
    to requests: [SqlRequest], check: ([SqlAnswer]) throws -> Void, before deadline: ContinuousClock.Instant
  ) async throws -> [SqlAnswer] {
    try await execute("SAVEPOINT sqlable_check", before: deadline)
    do {
      let answers = try await answers(to: requests, before: deadline)
      try check(answers)
      try await execute("RELEASE sqlable_check", before: deadline)
      return answers
    } catch {
      try await undo("sqlable_check", after: error, before: deadline)
      throw error
    }
  }

  /// Runs requests in the open transaction, all or none of them.
  func answers(to requests: [SqlRequest], before deadline: ContinuousClock.Instant) async throws -> [SqlAnswer] {
    if requests.count == 1 { return [try await answer(to: requests[0], before: deadline)] }
    try await execute("SAVEPOINT sqlable_call", before: deadline)
    do {
      var answers: [SqlAnswer]?
      // The version of a schema that is not committed says nothing later: another one may get it.
      if mayPipeline == nil { mayPipeline = try await !mayRollBack(before: deadline) }
      if canSendTogether(requests) {
        answers = try await answersSentTogether(to: requests, before: deadline)
        if answers == nil { try await execute("ROLLBACK TO sqlable_call", before: deadline) }
      }
      if answers == nil {
        var each: [SqlAnswer] = []
        for (index, request) in requests.enumerated() {
          do { each.append(try await answer(to: request, before: deadline)) } catch { throw error.inBatch(index) }
        }
        answers = each
      }
      try await execute("RELEASE sqlable_call", before: deadline)
      return answers ?? []
    } catch {
      try await undo("sqlable_call", after: error, before: deadline)
      throw error
    }
  }
}

extension ClusterSession {
  /// Undoes what ran since a savepoint. Throws if the node is lost meanwhile: its transaction is rolled back, and the
  /// first error says nothing of what is stored.
  private func undo(
    _ savepoint: String, after error: any Error, before deadline: ContinuousClock.Instant
  ) async throws {
    guard isUsable(after: error) else { return }
    do { try await execute("ROLLBACK TO \(savepoint); RELEASE \(savepoint)", before: deadline) } catch {
      // The savepoint is gone if the first error has ended the transaction.
      guard isUsable(after: error) else { throw error }
    }
  }

  private func canSendTogether(_ requests: [SqlRequest]) -> Bool {
    requests.allSatisfy { request in
      mayPipeline == true ? ClusterStatement.cache.value(of: request.sql).keepsTransaction : request.isQuery
    }
  }

  /// Sends requests at once; nil if the node refused one while it wrote a checkpoint, after which it ran the others.
  private func answersSentTogether(
    to requests: [SqlRequest], before deadline: ContinuousClock.Instant
  ) async throws -> [SqlAnswer]? {
    var answers: [SqlAnswer] = []
    answers.reserveCapacity(requests.count)
    while answers.count < requests.count {
      let part = requests[answers.count...].prefix(ClusterSession.maximumSent)
      for result in try await self.answers(toAll: Array(part), before: deadline).results {
        if result.isOfCheckpoint { return nil }
        do { answers.append(try result.get()) } catch { throw error.inBatch(answers.count) }
      }
    }
    return answers
  }
}

extension Result {
  var failure: Failure? { if case .failure(let error) = self { error } else { nil } }

  /// Whether the node refused it while it wrote a checkpoint.
  var isOfCheckpoint: Bool { (failure as? SqlError)?.isOfCheckpoint == true }
}
#endif
