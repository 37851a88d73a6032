// Pools as executors. Reads run on a reader, and all other statements run on the writer. VACUUM and PRAGMAs run outside
// a transaction.

import SqlableCore

extension SqlitePool: SqlDatabase {
  public func withTransaction<Value>(
    _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    kind == .deferred
      ? try read(file: file, line: line, body)
      : try perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs a statement and waits for the result, like `work.run(pool)`.
  @discardableResult
  @inlinable
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Work.Output {
    try performStatement(kind(of: work), at: .init(file: file, line: line)) { db in try work.run(db) }
  }
}

extension SqlitePool: AsyncSqlExecutor {
  /// Runs a statement: a short read on the calling thread, and other statements on a thread of the pool.
  @discardableResult
  @inlinable
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output where Work.Output: Sendable {
    try await performStatement(kind(of: work), at: .init(file: file, line: line)) { db in try work.run(db) }
  }
}

extension SqlitePool {
  @inlinable
  func kind(of work: some Runnable) throws -> PoolCall.Kind {
    work.isReadOnly ? .read : work.runsOutsideTransaction ? try standalone(work.sql) : .write
  }

  @usableFromInline
  func standalone(_ sql: String) throws -> PoolCall.Kind {
    guard !SQL(verbatim: sql).onlyAttaches else {
      throw misuse(
        "a pool would undo ATTACH after the call; use Configuration.attached, or run all statements in withWriter")
    }
    return .standalone
  }
}

extension SqlitePool {
  /// Calls `body` with each row of a query, and returns the results.
  ///
  /// A query without changes runs on a reader, and a PRAGMA on the writer outside a transaction. If `body` throws, the
  /// query's changes are rolled back.
  ///
  /// ```swift
  /// let counts = try pool.query("SELECT color, count(*) FROM bicycle GROUP BY color") { row in
  ///   (color: try row.get(at: 0, as: String.self), count: try row.get(at: 1, as: Int.self))
  /// }
  /// ```
  @discardableResult
  public func query<Result>(
    _ sql: SQL, file: StaticString = #fileID, line: UInt = #line, _ body: (ReadRow) throws -> Result
  ) throws -> [Result] {
    let kind = try kind(of: sql.rows(as: DynamicRow.self))
    return try perform(kind, at: .init(file: file, line: line)) { db in try db.query(sql, body) }
  }

  /// Calls `body` with each row of a query on a thread of the pool, and returns the results.
  @discardableResult
  public func query<Result: Sendable>(
    _ sql: SQL, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ReadRow) throws -> Result
  ) async throws -> [Result] {
    let kind = try kind(of: sql.rows(as: DynamicRow.self))
    return try await perform(kind, at: .init(file: file, line: line)) { db in try db.query(sql, body) }
  }
}

extension SqlitePool {
  /// Runs the requests of another process, all or none, and returns the answers to send back.
  ///
  /// This method is the counterpart of a ``SqlTransport``. The pool does not restrict the SQL: accept requests only
  /// from clients that are allowed to do anything with the database.
  public func answers(
    to requests: [SqlRequest], file: StaticString = #fileID, line: UInt = #line
  ) throws -> [SqlAnswer] {
    let isRead = requests.allSatisfy(\.isReadOnly)
    return try perform(isRead ? .read : .write, at: .init(file: file, line: line)) { db in
      try db.answers(to: requests)
    }
  }

  /// Runs the requests of another process, all or none, on a thread of the pool.
  public func answers(
    to requests: [SqlRequest], file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [SqlAnswer] {
    let isRead = requests.allSatisfy(\.isReadOnly)
    return try await perform(isRead ? .read : .write, at: .init(file: file, line: line)) { db in
      try db.answers(to: requests)
    }
  }
}
