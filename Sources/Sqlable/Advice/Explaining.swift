// Query plans and advice, on whatever runs statements.

/// What is explained on a handle as it is run there: a long list is one value, a ``Parameter`` counts as NULL.
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

extension ToMany: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan { try parents.explain(db) }
  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] { try parents.advice(db) }
}

extension SQL: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan {
    var explained = self
    explained.text = "EXPLAIN QUERY PLAN " + text
    return QueryPlan(sql: text, rows: try db.query(explained, as: DynamicRow.self).map(\.values))
  }

  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] {
    throw SqlError.misuse("indexes are proposed for statements and queries, not for SQL text")
  }
}

extension SqlRows: Explainable {
  func explain(_ db: SqliteDatabase) throws -> QueryPlan { try text.explain(db) }
  func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] { try text.advice(db) }
}

/// The query plan of something that is not run.
private struct Explanation<Work: Runnable>: Runnable {
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

/// Looking for indexes, on whatever has a handle.
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
    .misuse("indexes are tried in a copy of the schema, for which a statement and a handle or a pool are needed")
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

  /// Proposes indexes for the tables that are read from the first row to the last to find some of them.
  ///
  /// Throws `.misuse` for SQL text.
  public func advice(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [IndexAdvice] {
    try db.run(Advising(work: self), file: file, line: line)
  }

  /// Proposes indexes for the tables that are read from the first row to the last to find some of them.
  ///
  /// Throws `.misuse` for SQL text, and for a database elsewhere.
  public func advice(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [IndexAdvice] {
    try await db.run(Advising(work: self), file: file, line: line)
  }
}
