// Query plans and advice, on any executor.

/// What a handle explains as it would run it: a long list is one value, a ``Parameter`` counts as NULL.
protocol Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan
  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice]
}

extension Statement: Explainable {}

extension Select: Explainable {}

extension Returning: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan { try change.explain(db) }
  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] { try change.advice(db) }
}

extension FirstReturned: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan { try all.explain(db) }
  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] { try all.advice(db) }
}

extension Including: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan { try root.explain(db) }
  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] {
    try queries().flatMap { try Select<DynamicRow>($0).advice(db) }
  }
}

extension SQL: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan {
    var explained = self
    explained.text = "EXPLAIN QUERY PLAN " + text
    return QueryPlan(sql: text, rows: try db.query(explained, as: DynamicRow.self).map(\.values))
  }

  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] {
    throw SqlError.misuse("index advice is for statements and queries, not for SQL text")
  }
}

extension SqlRows: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan { try text.explain(db) }
  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] { try text.advice(db) }
}

/// The query plan of something, which is not run.
struct Explanation<Work: Runnable>: Runnable {
  let work: Work

  private static var prefix: String { "EXPLAIN QUERY PLAN " }

  var sql: String { Explanation.prefix + work.sql }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] {
    guard let request = try work.requests().first else {
      throw SqlError.invalidStatement("there are no rows to insert, so there is nothing to explain")
    }
    return [SqlRequest(sql: Explanation.prefix + request.sql, values: request.values, isReadOnly: true)]
  }

  func run(_ db: SqliteDatabase) throws -> QueryPlan {
    if let work = work as? any Explainable { return try work.explain(db) }
    return try plan(db.answers(to: requests()))
  }

  func run(over transport: some SqlTransport) async throws -> QueryPlan {
    plan(try await transport.answers(to: requests()))
  }

  private func plan(_ answers: [SqlAnswer]) -> QueryPlan {
    QueryPlan(sql: work.sql, rows: answers.first?.rows ?? [])
  }
}

/// Index advice, on executors that have a handle.
private struct Advising<Work: Runnable>: Runnable {
  let work: Work

  var sql: String { work.sql }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] { throw Advising.needsHandle }

  func run(_ db: SqliteDatabase) throws -> [IndexAdvice] {
    guard let work = work as? any Explainable else { throw Advising.needsHandle }
    return try work.advice(db)
  }

  func run(over transport: some SqlTransport) async throws -> [IndexAdvice] { throw Advising.needsHandle }

  private static var needsHandle: SqlError {
    .misuse("index advice needs a statement or query, and a handle or a pool, to copy the schema from")
  }
}

extension Runnable {
  /// Returns the query plan of its first statement, with the values. Nothing is run or changed.
  public func explain(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> QueryPlan {
    try db.run(Explanation(work: self), file: file, line: line)
  }

  /// Returns the query plan of its first statement, with the values. Nothing is run or changed.
  public func explain(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> QueryPlan {
    try await db.run(Explanation(work: self), file: file, line: line)
  }

  /// Proposes indexes for the tables that are scanned completely to find some of their rows.
  ///
  /// Throws `.misuse` for SQL text.
  public func advice(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [IndexAdvice] {
    try db.run(Advising(work: self), file: file, line: line)
  }

  /// Proposes indexes for the tables that are scanned completely to find some of their rows.
  ///
  /// Throws `.misuse` for SQL text, and on a remote database.
  public func advice(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [IndexAdvice] {
    try await db.run(Advising(work: self), file: file, line: line)
  }
}
