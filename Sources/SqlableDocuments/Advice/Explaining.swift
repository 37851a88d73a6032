// Query plans and advice, on any executor.

import SqlableCore
import SqlableQueries

/// Work that is SQL text, which a handle explains with its lists and parameters.
private protocol TextWork: Runnable {
  var explained: SQL { get }
}

extension SQL: TextWork {
  fileprivate var explained: SQL { self }
}

extension SqlRows: TextWork {
  fileprivate var explained: SQL { text }
}

/// The query plan of something, which is not run.
struct Explanation<Work: Runnable>: Runnable {
  let work: Work

  private static var prefix: String { "EXPLAIN QUERY PLAN " }

  var sql: String { Explanation.prefix + work.sql }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] {
    guard let request = try work.requests().first else { throw SqlError.nothingToExplain }
    return [SqlRequest(sql: Explanation.prefix + request.sql, values: request.values, isReadOnly: true)]
  }

  func run(_ db: SqliteDatabase) throws -> QueryPlan {
    // As it would run there: a long list is one value, a parameter counts as NULL.
    if let statement = try (work as? any StatementTrees)?.statements().first {
      return try db.plan(of: statement.explained())
    }
    guard var text = (work as? any TextWork)?.explained else { return try plan(db.answers(to: requests())) }
    text.text = Explanation.prefix + text.text
    return QueryPlan(sql: work.sql, rows: try db.query(text, as: DynamicRow.self).map(\.values))
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
    guard let work = work as? any StatementTrees else {
      throw SqlError.misuse("index advice needs a statement or query, not SQL text")
    }
    return try db.withoutTracing { try work.statements().flatMap(db.advice) }
  }

  func run(over transport: some SqlTransport) async throws -> [IndexAdvice] { throw Advising.needsHandle }

  private static var needsHandle: SqlError {
    .misuse("index advice needs a handle or a pool, to copy the schema from")
  }
}

extension Runnable {
  /// Returns the query plan: how SQLite would find the rows; of several statements, the plan of the first.
  ///
  /// ```swift
  /// print(try Bicycle.byId(2).explain(db))     // SEARCH bicycle USING INTEGER PRIMARY KEY (rowid=?)
  /// ```
  ///
  /// The plan is that of a run with the statement's values, which SQLite considers: the text decides whether
  /// `hasPrefix` uses an index. A ``Parameter`` counts as NULL. Nothing is run or changed. Throws what running the
  /// statement would throw before its first row.
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
  /// ```swift
  /// for index in try Bicycle.read().filter(Bicycle.name == "Trek").advice(db) { print(index.sql) }
  /// // CREATE INDEX "bicycle_name" ON "bicycle" ("name")
  /// ```
  ///
  /// The indexes are tested: SQLite's own planner uses them for this statement, in an in-memory copy of the schema. The
  /// database is not changed. An index is not free: every write must update it. Returns nothing if no index is missing,
  /// or none would help. Throws what explaining it throws, and `.misuse` for SQL text.
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

extension TreeStatement {
  /// Returns the SQL to explain. Throws for an insert of no rows.
  func explained() throws -> StatementWithValues {
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
