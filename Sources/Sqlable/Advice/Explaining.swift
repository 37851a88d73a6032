// Query plans, on whatever runs statements.

/// The query plan of something that is not run.
private struct Explanation<Work: Runnable>: Runnable {
  let work: Work

  var sql: String { "EXPLAIN QUERY PLAN " + work.sql }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] {
    try work.requests().prefix(1).map {
      SqlRequest(sql: "EXPLAIN QUERY PLAN " + $0.sql, values: $0.values, isReadOnly: true)
    }
  }

  private func request() throws -> SqlRequest {
    guard let request = try requests().first else {
      throw SqlError.invalidStatement("there are no rows to insert, so there is nothing to explain")
    }
    return request
  }

  func run(_ db: SqliteDatabase) throws -> QueryPlan {
    let request = try request()
    return try plan(db.answer(to: request), of: request)
  }

  func run(over transport: some SqlTransport) async throws -> QueryPlan {
    let request = try request()
    return plan(try await transport.answer(to: request), of: request)
  }

  private func plan(_ answer: SqlAnswer, of request: SqlRequest) -> QueryPlan {
    let sql = String(request.sql.dropFirst("EXPLAIN QUERY PLAN ".count))
    return QueryPlan(sql: sql, rows: answer.rows)
  }
}

extension Runnable {
  /// How SQLite would find the rows, with the values: the query plan of what it runs first. Nothing is run or changed.
  public func explain(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> QueryPlan {
    try db.run(Explanation(work: self), file: file, line: line)
  }

  /// How SQLite would find the rows, with the values: the query plan of what it runs first. Nothing is run or changed.
  public func explain(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> QueryPlan {
    try await db.run(Explanation(work: self), file: file, line: line)
  }
}
