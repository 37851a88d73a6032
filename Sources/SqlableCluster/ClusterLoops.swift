#if Cluster
import Sqlable

// Loops over the rows of reads and queries on a cluster.

extension SqliteCluster {
  /// Calls `body` with each row of a query. The query runs again after the loss of a leader only as long as no row has
  /// come.
  func forEach<Row, Outcome>(
    _ request: SqlRequest, _ read: (ReceivedRows) throws -> [Row], isolation: isolated (any Actor)?,
    _ body: (Row) async throws -> Outcome
  ) async throws {
    do { try request.checkLoop() } catch { throw error.labelled(configuration.label) }
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
      throw error
    }
    call?.add(request, rows: rows, nil)
    await call?.deliver()
  }
}

extension SqlRequest {
  /// Throws for what has no loop on a cluster.
  func checkLoop() throws {
    try [self].check()
    guard !isQuery else { return }
    var error = SqlError.invalidStatement("a loop over rows on a cluster needs a query; use run for a write")
    error.sql = sql
    throw error
  }
}

extension SelectStatement {
  /// Reads one row after another on a cluster, in the parts in which the node sends them, until `body` returns `.stop`.
  ///
  /// ```swift
  /// try await Bicycle.read().forEach(cluster) { bike in
  ///   try await export(bike)
  ///   return bike.id == 100 ? .stop : .continue
  /// }
  /// try await Bicycle.select(Bicycle.id, Bicycle.name).forEach(cluster) { id, name in … }
  /// ```
  ///
  /// One part is in memory at a time: the node waits while `body` runs. All rows are of one snapshot, and each comes
  /// once. Throws `.unavailable` if the leader is lost after the first row, and `.timeout` if the loop does not end
  /// before the deadline. Inside a transaction of the cluster it is a part of it, and the only statement until it ends.
  /// Throws `.invalidStatement` for a change that returns its rows.
  // Disfavored: otherwise a closure of several lines without a return would be ambiguous.
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

  /// Reads one row after another in a transaction of a cluster, until `body` returns `.stop`. No other statement of the
  /// transaction may run meanwhile: it throws `.misuse`.
  // Disfavored: otherwise a closure of several lines without a return would be ambiguous.
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

  /// Reads one row after another on a cluster. What `body` returns is ignored, unless it is ``Iteration/stop``.
  public func forEach<Outcome>(
    _ cluster: SqliteCluster, isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ body: (Row) async throws -> Outcome
  ) async throws {
    let query = asSelect()
    try await cluster.atSite(file, line, isolation: isolation) {
      try await cluster.forEach(query.sentRequests()[0], query.rows, isolation: isolation, body)
    }
  }

  /// Reads one row after another in a transaction of a cluster. What `body` returns is ignored, unless it is
  /// ``Iteration/stop``.
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
