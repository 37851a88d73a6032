#if Cluster
import Sqlable

extension SqliteCluster {
  /// Calls `body` with each row of a query. If the leader is lost before the first row, the query runs again.
  func forEach<Row, Outcome>(
    _ request: SqlRequest, _ read: (ReceivedRows) throws -> [Row], isolation: isolated (any Actor)?,
    _ body: (Row) async throws -> Outcome
  ) async throws {
    do { try request.checkLoop() } catch { throw await reported(error.labelled(configuration.label)) }
    if let transaction = current {
      return try await transaction.forEach(request, read, isolation: isolation, body)
    }
    let call = TracedCall(on: self)
    var rows = 0
    do {
      let deadline = Deadline.after(configuration.timeout)
      let outcome = try await sessions.attempt(before: deadline, isolation: isolation) { session in
        call?.times.didSend()
        var parts = try await RowBatchStream.first(of: request, on: session, before: deadline, isolation: isolation)
        defer {
          parts.stop()
          rows = parts.rows
        }
        do { try await parts.forEach(read, isolation: isolation, body) } catch {
          if parts.isFailed, error.isNodeFailure { leader.failed(session.address, error) }
          return Result<Void, any Error>.failure(error.ofCluster)
        }
        return .success(())
      }
      try outcome.get()
    } catch {
      let error = error.labelled(configuration.label)
      call?.add(request, rows: rows, error)
      await call?.deliver()
      throw call == nil ? error : error.traced
    }
    call?.add(request, rows: rows, nil)
    await call?.deliver()
  }
}

extension SqlRequest {
  func checkLoop() throws {
    try [self].check()
    guard !isQuery else { return }
    var error = SqlError.invalidStatement("a loop over rows on a cluster needs a query; use run for a write")
    error.sql = sql
    throw error
  }
}

extension SelectStatement {
  /// Reads the rows of a query on a cluster one at a time, until `body` returns `.stop`.
  ///
  /// ```swift
  /// try await Bicycle.read().forEach(cluster) { bike in
  ///   try await export(bike)
  ///   return bike.id == 100 ? .stop : .continue
  /// }
  /// try await Bicycle.select(Bicycle.id, Bicycle.name).forEach(cluster) { id, name in … }
  /// ```
  ///
  /// The node sends the rows in parts, and waits while `body` runs. Only one part is in memory at a time. All rows
  /// belong to one snapshot, and each row is delivered once. Inside a transaction of the cluster, the loop is part of
  /// the transaction, and no other statement can run until the loop ends. Throws `.unavailable` if the leader is lost
  /// after the first row, and `.timeout` if the loop does not end before the deadline. Throws `.invalidStatement` for a
  /// change that returns its rows.
  // Disfavored: otherwise a closure of several statements without a return would match both overloads.
  @_disfavoredOverload
  public func forEach(
    _ cluster: SqliteCluster, isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ body: (Row) async throws -> Iteration
  ) async throws {
    let query = asSelect()
    try await cluster.atSite(file, line, isolation: isolation) {
      try await cluster.forEach(query.sentRequests()[0], query.rows, isolation: isolation, body)
    }
  }

  /// Reads the rows of a query in a transaction of a cluster one at a time, until `body` returns `.stop`. Other
  /// statements of the transaction throw `.misuse` during the loop.
  // Disfavored: otherwise a closure of several statements without a return would match both overloads.
  @_disfavoredOverload
  public func forEach(
    _ transaction: ClusterTransaction, isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ body: (Row) async throws -> Iteration
  ) async throws {
    let query = asSelect()
    try await transaction.cluster.atSite(file, line, isolation: isolation) {
      try await transaction.forEach(query.sentRequests()[0], query.rows, isolation: isolation, body)
    }
  }

  /// Reads the rows of a query on a cluster one at a time. The result of `body` is ignored, unless it is
  /// ``Iteration/stop``.
  public func forEach<Outcome>(
    _ cluster: SqliteCluster, isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ body: (Row) async throws -> Outcome
  ) async throws {
    let query = asSelect()
    try await cluster.atSite(file, line, isolation: isolation) {
      try await cluster.forEach(query.sentRequests()[0], query.rows, isolation: isolation, body)
    }
  }

  /// Reads the rows of a query in a transaction of a cluster one at a time. The result of `body` is ignored, unless it
  /// is ``Iteration/stop``.
  public func forEach<Outcome>(
    _ transaction: ClusterTransaction, isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ body: (Row) async throws -> Outcome
  ) async throws {
    let query = asSelect()
    try await transaction.cluster.atSite(file, line, isolation: isolation) {
      try await transaction.forEach(query.sentRequests()[0], query.rows, isolation: isolation, body)
    }
  }
}
#endif
