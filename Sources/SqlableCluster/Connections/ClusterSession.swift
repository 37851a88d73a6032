#if Cluster
import Sqlable

/// A connection to the leader with an open database, for one call at a time.
///
/// If a request gets no answer, the connection is closed, and the node rolls back the transaction.
actor ClusterSession {
  nonisolated let address: NodeAddress
  nonisolated let connection: NodeConnection
  let label: String?
  let cacheSize: Int
  /// The cached statements, keyed by SQL text. A full cache drops the least recently used entry. An SQL text that was
  /// used only once has no compiled statement.
  private var statements: [String: CachedStatement] = [:]
  private var uses = 0
  /// The schema version. `mayRollBack` is true if a trigger or conflict clause can end a transaction. Nil if unknown.
  var schema: (version: Int64, mayRollBack: Bool)?
  /// True if the open transaction's requests can be pipelined. Nil after a possible change of the schema.
  var mayPipeline: Bool? = false

  private struct CachedStatement {
    var id: UInt32?
    var lastUse: Int
  }

  private init(_ connection: NodeConnection, _ configuration: ClusterConfiguration) {
    (self.connection, address) = (connection, connection.address)
    (label, cacheSize) = (configuration.label, configuration.statementCacheSize)
  }

  static func open(
    _ leader: ClusterLeader, _ configuration: ClusterConfiguration, before deadline: ContinuousClock.Instant
  ) async throws -> ClusterSession {
    let address = try await leader.find(before: deadline)
    do {
      let connection = try await NodeConnection.open(to: address, before: min(deadline, .now + .seconds(2))) {
        await leader.isElsewhere(than: $0)
      }
      let session = ClusterSession(connection, configuration)
      _ = try await session.send(.open(database: configuration.database), nil, before: deadline)
      if case .nodes(let members) = try await session.send(.nodes, nil, before: deadline) { leader.note(members) }
      return session
    } catch {
      guard var failure = error as? NodeFailure else {
        if error.isNodeFailure { leader.failed(address, error) }
        throw error
      }
      // The caller's request was not sent. The attempt to connect has its own limit of two seconds. If this limit has
      // passed but the call's deadline has not, the call is not late.
      (failure.wasSent, failure.isLate) = (false, failure.isLate && deadline <= .now)
      leader.failed(address, failure)
      throw failure
    }
  }

  nonisolated var isOpen: Bool { connection.isOpen }

  nonisolated func close() { connection.close() }

  func answer(to request: SqlRequest, before deadline: ContinuousClock.Instant) async throws -> SqlAnswer {
    let statement = ClusterStatement.cache.value(of: request.sql)
    if !statement.isChange, !statement.isQuery { mayPipeline = mayPipeline == false ? false : nil }
    let response = try await run(request, returnsRows: statement.returnsRows, before: deadline)
    return answer(to: request, statement, response)
  }

  func answer(
    to request: SqlRequest, _ statement: ClusterStatement, _ response: WireResponse
  ) -> SqlAnswer {
    var answer = SqlAnswer()
    switch response {
    case .rows(let rows, _):
      answer = rows
      if statement.isChange { answer.changes = rows.rows.count }
    case .result(let id, let changes) where statement.isChange:
      answer.changes = changes
      // If no row changed, or the table has no rowids, the node reports the id of an earlier insert.
      if changes > 0, request.hasRowId { answer.lastInsertedId = Int(id) }
    default: break
    }
    return answer
  }

  func firstPart(of request: SqlRequest, before deadline: ContinuousClock.Instant) async throws -> WireResponse {
    try await run(request, returnsRows: true, inParts: true, before: deadline)
  }

  func nextPart(of request: SqlRequest, before deadline: ContinuousClock.Instant) async throws -> WireResponse {
    try await connection.nextPart(before: deadline).checked(request.sql, label)
  }

  func execute(_ sql: String, before deadline: ContinuousClock.Instant) async throws {
    _ = try await send(.executeSQL(sql, values: []), sql, before: deadline)
  }

  func dump(_ database: String, before deadline: ContinuousClock.Instant) async throws -> [WireFile] {
    guard case .files(let files) = try await send(.dump(database: database), nil, before: deadline) else {
      throw SqlError.wire("an answer without files")
    }
    return files
  }

  private func run(
    _ request: SqlRequest, returnsRows: Bool, inParts: Bool = false, before deadline: ContinuousClock.Instant
  ) async throws -> WireResponse {
    let sent = try await wireRequest(for: request, returnsRows: returnsRows, before: deadline)
    return try await send(sent, request.sql, inParts: inParts, before: deadline)
  }

  func wireRequest(
    for request: SqlRequest, returnsRows: Bool, isKept: Bool = true, before deadline: ContinuousClock.Instant
  ) async throws -> WireRequest {
    let (sql, values) = (ClusterStatement.cache.value(of: request.sql).sentSql ?? request.sql, request.values)
    guard isKept, let id = try await compiled(sql, before: deadline) else {
      return returnsRows ? .querySQL(sql, values: values) : .executeSQL(sql, values: values)
    }
    return returnsRows ? .query(statement: id, values: values) : .execute(statement: id, values: values)
  }

  /// Returns the compiled statement of a text that was used before; nil for a new text, because compiling needs an
  /// extra message.
  private func compiled(_ sql: String, before deadline: ContinuousClock.Instant) async throws -> UInt32? {
    uses += 1
    guard var statement = statements[sql] else {
      if statements.count >= cacheSize { try await dropOldest(before: deadline) }
      statements[sql] = CachedStatement(id: nil, lastUse: uses)
      return nil
    }
    if statement.id == nil, case .statement(let id, _) = try await send(.prepare(sql: sql), sql, before: deadline) {
      statement.id = id
    }
    statement.lastUse = uses
    statements[sql] = statement
    return statement.id
  }

  private func dropOldest(before deadline: ContinuousClock.Instant) async throws {
    guard let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
    statements[oldest.key] = nil
    if let id = oldest.value.id { _ = try await send(.finalize(statement: id), nil, before: deadline) }
  }

  private func send(
    _ request: WireRequest, _ sql: String?, inParts: Bool = false, before deadline: ContinuousClock.Instant
  ) async throws -> WireResponse {
    while true {
      do {
        return try await connection.answer(to: request, sql, label, inParts: inParts, before: deadline)
      } catch let error as SqlError {
        guard error.isCheckpoint, deadline > .now else { throw error }
      }
      try await Task.sleep(for: .milliseconds(1))
    }
  }
}

extension ClusterSession {
  static func withSnapshot<Value>(
    on session: ClusterSession, before deadline: ContinuousClock.Instant, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Value
  ) async throws -> Value {
    // After an error, the savepoint shows whether the transaction is still open.
    try await session.execute("BEGIN; SAVEPOINT sqlable_group", before: deadline)
    do {
      let value = try await body()
      try await session.execute("COMMIT", before: deadline)
      return value
    } catch {
      if session.isUsable(after: error) { try await session.execute("ROLLBACK", before: deadline) }
      throw error
    }
  }
}
#endif
