// Pools as executors: reads run on a reader, everything else on the writer.

import SqlableCore

extension SqlitePool: SqlDatabase {
  public func withTransaction<Value>(
    _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    kind == .deferred
      ? try read(file: file, line: line, body)
      : try perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs a statement and waits for it, like `work.run(pool)`.
  @discardableResult
  @inlinable
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Work.Output {
    try perform(work.isReadOnly ? .read : .write, at: .init(file: file, line: line)) { db in try work.run(db) }
  }
}

extension SqlitePool: AsyncSqlExecutor {
  /// Runs a statement: a short read on the calling thread, anything else on a thread of the pool.
  @discardableResult
  @inlinable
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output where Work.Output: Sendable {
    try await performStatement(work.isReadOnly ? .read : .write, at: .init(file: file, line: line)) { db in
      try work.run(db)
    }
  }
}

extension SqlitePool {
  /// Returns what `body` makes of each row of a query, which runs on a reader if it changes nothing. If `body` throws,
  /// what the query wrote is rolled back.
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
    try perform(sql.isRead ? .read : .write, at: .init(file: file, line: line)) { db in try db.query(sql, body) }
  }

  /// Returns what `body` makes of each row of a query, on a thread of the pool.
  @discardableResult
  public func query<Result: Sendable>(
    _ sql: SQL, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (ReadRow) throws -> Result
  ) async throws -> [Result] {
    try await perform(sql.isRead ? .read : .write, at: .init(file: file, line: line)) { db in try db.query(sql, body) }
  }
}

extension SqlitePool {
  /// Runs requests of another process, all or none of them, and returns the answers to send back: the counterpart of a
  /// ``SqlTransport``.
  ///
  /// The SQL is run as it is: accept requests only from clients that may do anything to the database.
  public func answers(
    to requests: [SqlRequest], file: StaticString = #fileID, line: UInt = #line
  ) throws -> [SqlAnswer] {
    let isRead = requests.allSatisfy(\.isReadOnly)
    return try perform(isRead ? .read : .write, at: .init(file: file, line: line)) { db in
      try db.answers(to: requests)
    }
  }

  /// Runs requests of another process, all or none of them, on a thread of the pool.
  public func answers(
    to requests: [SqlRequest], file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [SqlAnswer] {
    let isRead = requests.allSatisfy(\.isReadOnly)
    return try await perform(isRead ? .read : .write, at: .init(file: file, line: line)) { db in
      try db.answers(to: requests)
    }
  }
}
