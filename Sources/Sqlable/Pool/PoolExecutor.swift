// Pools as executors: reads run on a reader, everything else on the writer.

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
