import SqlableCore

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
  /// Proposes indexes that avoid the statement's full table scans.
  ///
  /// ```swift
  /// for index in try Bicycle.read().filter(Bicycle.name == "Trek").advice(db) { print(index.sql) }
  /// // CREATE INDEX "bicycle_name" ON "bicycle" ("name")
  /// ```
  ///
  /// Each proposed index is tested: SQLite's planner uses the index for this statement in an in-memory copy of the
  /// schema. The database is not changed. Indexes have a cost, because every write must update every index. Returns an
  /// empty array if no table is scanned or if no index avoids a scan. Throws the errors of `explain`, and `.misuse` for
  /// SQL text.
  public func advice(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [IndexAdvice] {
    try db.run(Advising(work: self), file: file, line: line)
  }

  /// Proposes indexes that avoid the statement's full table scans.
  ///
  /// Throws `.misuse` for SQL text, and on a remote database.
  public func advice(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [IndexAdvice] {
    try await db.run(Advising(work: self), file: file, line: line)
  }
}
