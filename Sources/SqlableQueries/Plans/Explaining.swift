import SqlableCore

/// Work that consists of one SQL text.
private protocol TextWork: Runnable {
  var explained: SQL { get }
}

extension SQL: TextWork {
  fileprivate var explained: SQL { self }
}

extension SqlRows: TextWork {
  fileprivate var explained: SQL { text }
}

/// The EXPLAIN QUERY PLAN of a statement, created by ``Runnable/explain()``. The statement itself is not run.
public struct ExplainStatement<Work: Runnable>: Runnable {
  let work: Work

  private static var prefix: String { "EXPLAIN QUERY PLAN " }

  public var sql: String { ExplainStatement.prefix + work.sql }
  public var isReadOnly: Bool { true }

  public func requests() throws -> [SqlRequest] {
    guard let request = try work.requests().first else { throw SqlError.nothingToExplain }
    return [SqlRequest(sql: ExplainStatement.prefix + request.sql, values: request.values, isReadOnly: true)]
  }

  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> QueryPlan {
    // Explain the SQL of a local run, which binds a long list as one value. A parameter counts as NULL.
    if let statement = try (work as? any StatementTrees)?.statements().first {
      return try db.plan(of: statement.explained())
    }
    guard var text = (work as? any TextWork)?.explained else { return try plan(db.answers(to: requests())) }
    text.text = ExplainStatement.prefix + text.text
    return QueryPlan(sql: work.sql, rows: try db.query(text, as: DynamicRow.self).map(\.values))
  }

  public func run(over transport: some SqlTransport) async throws -> QueryPlan {
    plan(try await transport.answers(to: requests()))
  }

  private func plan(_ answers: [SqlAnswer]) -> QueryPlan {
    QueryPlan(sql: work.sql, rows: answers.first?.rows ?? [])
  }
}

extension ExplainStatement: Equatable where Work: Equatable {}
extension ExplainStatement: Hashable where Work: Hashable {}
extension ExplainStatement: Encodable where Work: Encodable {}
extension ExplainStatement: Decodable where Work: Decodable {}

extension Runnable {
  /// Returns a statement that, when it is run, returns the query plan of this statement.
  ///
  /// ```swift
  /// let plan = try await Bicycle.byId(2).explain().run(pool)     // EXPLAIN QUERY PLAN SELECT … WHERE "id" = ?
  /// ```
  public func explain() -> ExplainStatement<Self> { ExplainStatement(work: self) }

  /// Returns the query plan, which describes how SQLite finds the rows. If this value runs several statements, returns
  /// the plan of the first statement.
  ///
  /// ```swift
  /// print(try Bicycle.byId(2).explain(db))     // SEARCH bicycle USING INTEGER PRIMARY KEY (rowid=?)
  /// ```
  ///
  /// SQLite considers the statement's values: for `hasPrefix`, the text determines whether an index is used. A
  /// ``Parameter`` counts as NULL. The statement is not run. Throws the errors that running the statement would throw
  /// before its first row.
  public func explain(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> QueryPlan {
    try db.run(ExplainStatement(work: self), file: file, line: line)
  }

  /// Returns the query plan. If this value runs several statements, returns the plan of the first statement. The
  /// statement is not run.
  public func explain(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> QueryPlan {
    try await db.run(ExplainStatement(work: self), file: file, line: line)
  }
}

extension TreeStatement {
  /// Returns the SQL to explain. Throws for an insert without rows.
  package func explained() throws -> StatementWithValues {
    let written = try withValues()
    guard !written.sql.begins(with: "--") else { throw SqlError.nothingToExplain }
    return written
  }
}

extension SqlError {
  fileprivate static var nothingToExplain: SqlError {
    .invalidStatement("an insert without rows can't be explained")
  }
}
