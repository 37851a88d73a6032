#if Cluster
import Sqlable

struct PipelinedRequests: Sendable {
  var results: [Result<SqlAnswer, any Error>]
  /// The index of the first request that got no answer before the connection broke or the node became unusable; nil if
  /// all requests were answered.
  var brokenIndex: Int?
}

extension ClusterSession {
  static let maximumSent = 128

  /// Begins a write transaction with a savepoint. Detects whether requests of the transaction can be sent before
  /// earlier requests are answered.
  ///
  /// After most errors the transaction stays open, and the later statements still belong to the transaction. After an
  /// error that ends the transaction, each later statement would be committed separately. So requests are sent together
  /// only if no statement, trigger or conflict clause can end the transaction.
  ///
  /// - Parameter isRetry: True if another client had the lock a moment ago. If true, the request for the schema version
  ///   follows only after BEGIN has succeeded: BEGIN might fail again, and each request uses the leader's time.
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
    guard case .rows(let answer, _) = response, case .integer(let version)? = answer.rows.first?.first else { return }
    if schema?.version != version { schema = (version, try await mayRollBack(before: deadline)) }
    mayPipeline = schema?.mayRollBack == false
  }

  /// True if a trigger or a conflict clause of the schema can end a transaction.
  private func mayRollBack(before deadline: ContinuousClock.Instant) async throws -> Bool {
    let request = SqlRequest(
      sql: "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%rollback%'", values: [], isReadOnly: true)
    return try await answer(to: request, before: deadline).rows.first?.first != .integer(0)
  }

  /// Sends requests together, and returns the result of each request. No request is allowed to end the transaction.
  func answers(toAll requests: [SqlRequest], before deadline: ContinuousClock.Instant) async throws -> PipelinedRequests
  {
    let statements = requests.map { ClusterStatement.cache.value(of: $0.sql) }
    // Keep no compiled statements if the cache is too small for all: some of them would be dropped before they run.
    let areKept = Set(requests.map(\.sql)).count <= cacheSize
    var messages: [Result<WireMessage, any Error>] = []
    for (request, statement) in zip(requests, statements) {
      do {
        let sent = try await wireRequest(
          for: request, returnsRows: statement.returnsRows, isKept: areKept, before: deadline)
        messages.append(.success(try WireMessage(sent)))
      } catch {
        // If the connection is still usable, send the other requests: a request that does not compile does not affect
        // them.
        guard isUsable(after: error) else { throw error }
        messages.append(.failure(error.of(request.sql)))
      }
    }
    var responses = await connection.send(messages.compactMap { try? $0.get() }, before: deadline).makeIterator()
    var all = PipelinedRequests(results: [])
    for (index, message) in messages.enumerated() {
      if case .failure(let error) = message {
        all.results.append(.failure(error))
        continue
      }
      let response = responses.next() ?? .failure(NodeFailure(address: address, reason: "the node did not answer"))
      let result = Result {
        answer(to: requests[index], statements[index], try response.get().checked(requests[index].sql, label))
      }
      all.results.append(result)
      guard all.brokenIndex == nil, case .failure(let error) = result else { continue }
      let isUnanswered = if case .failure = response { true } else { false }
      if isUnanswered || error.isNodeFailure { all.brokenIndex = index }
    }
    return all
  }
}

extension SqlError {
  /// True if the node refuses all requests because it is writing a checkpoint.
  var isCheckpoint: Bool { message == "checkpoint in progress" }
}

extension ClusterSession {
  /// Returns true if the transaction is still open after a failed statement. Some errors end the whole transaction
  /// together with its savepoint. Throws if the node does not answer.
  func isInTransaction(before deadline: ContinuousClock.Instant) async throws -> Bool {
    do {
      try await execute("RELEASE sqlable_group; SAVEPOINT sqlable_group", before: deadline)
      return true
    } catch {
      guard isUsable(after: error) else { throw error }
      return false
    }
  }

  /// Sets `user_version` to its current value. The commit then contains a changed page but no changed data, and needs a
  /// majority.
  func changePage(before deadline: ContinuousClock.Instant) async throws {
    let request = SqlRequest(sql: "PRAGMA user_version", values: [], isReadOnly: true)
    guard case .integer(let version)? = try await answer(to: request, before: deadline).rows.first?.first else {
      throw NodeFailure(address: address, reason: "the node did not report the version of the database", wasSent: false)
    }
    try await execute("PRAGMA user_version = \(version)", before: deadline)
  }

  /// Runs requests in the open transaction. If `check` throws for the answers, the changes of the requests are undone.
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

  /// Runs requests in the open transaction. If one request fails, all requests are undone.
  func answers(to requests: [SqlRequest], before deadline: ContinuousClock.Instant) async throws -> [SqlAnswer] {
    if requests.count == 1 { return [try await answer(to: requests[0], before: deadline)] }
    try await execute("SAVEPOINT sqlable_call", before: deadline)
    do {
      var answers: [SqlAnswer]?
      // Ask in each transaction. The answer can't be cached by schema version: an uncommitted schema and a later schema
      // can have the same version.
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
  /// Undoes the changes after a savepoint. If the node is lost meanwhile, throws the error of that loss instead of
  /// `error`, because the node then rolls back the whole transaction.
  private func undo(
    _ savepoint: String, after error: any Error, before deadline: ContinuousClock.Instant
  ) async throws {
    guard isUsable(after: error) else { return }
    do { try await execute("ROLLBACK TO \(savepoint); RELEASE \(savepoint)", before: deadline) } catch {
      // If the first error ended the transaction, the savepoint no longer exists.
      guard isUsable(after: error) else { throw error }
    }
  }

  private func canSendTogether(_ requests: [SqlRequest]) -> Bool {
    requests.allSatisfy { request in
      mayPipeline == true ? ClusterStatement.cache.value(of: request.sql).keepsTransaction : request.isQuery
    }
  }

  /// Sends requests together, and returns the answers. Returns nil if the node refused a request during a checkpoint
  /// but ran later requests.
  private func answersSentTogether(
    to requests: [SqlRequest], before deadline: ContinuousClock.Instant
  ) async throws -> [SqlAnswer]? {
    var answers: [SqlAnswer] = []
    answers.reserveCapacity(requests.count)
    while answers.count < requests.count {
      let part = requests[answers.count...].prefix(ClusterSession.maximumSent)
      for result in try await self.answers(toAll: Array(part), before: deadline).results {
        if result.isCheckpoint { return nil }
        do { answers.append(try result.get()) } catch { throw error.inBatch(answers.count) }
      }
    }
    return answers
  }
}

extension Result {
  var failure: Failure? { if case .failure(let error) = self { error } else { nil } }

  var isCheckpoint: Bool { (failure as? SqlError)?.isCheckpoint == true }
}
#endif
