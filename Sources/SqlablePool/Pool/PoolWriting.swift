import SqlableCore

extension SqlitePool {
  /// Runs `body` in a transaction of the writer: commits when it returns, and rolls back when it throws.
  ///
  /// ```swift
  /// let id = try pool.transaction { db in try bike.insert().run(db) }     // BEGIN IMMEDIATE … COMMIT
  /// ```
  ///
  /// Transactions that wait for the writer share a commit, each in its own savepoint, and return after the commit; one
  /// that fails is rolled back alone. If the shared transaction is rolled back as a whole, because the disk is full or
  /// a statement of another call was interrupted, each is run again in its own transaction: `body` may be called twice,
  /// and what it did the first time is not stored. Another caller's thread may run `body` while this one waits.
  ///
  /// Throws `.timeout` if the writer is not free in time,
  /// `.busy` if another process writes for longer than the busy timeout, and what `body` throws. Blocks the thread;
  /// `async` code gets the overload with `await`.
  @discardableResult
  public func transaction<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs `body` in a transaction of the writer, on a thread of the pool.
  ///
  /// Throws `CancellationError` if the task is cancelled before the work is done; nothing of it is stored then.
  @discardableResult
  public func transaction<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs `body` in a transaction of the writer, which commits or rolls back as `body` returns.
  ///
  /// ```swift
  /// try pool.transaction { db in
  ///   let changed = try Bicycle.delete(Bicycle.color == "red").run(db)
  ///   return changed > 10 ? .rollback : .commit
  /// }
  /// ```
  // Disfavored, like the next: otherwise a closure without a return would be taken for one that forgot it.
  @_disfavoredOverload
  @discardableResult
  public func transaction(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> TransactionResult
  ) throws -> TransactionResult {
    try perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs `body` in a transaction of the writer, on a thread of the pool; commits or rolls back as `body` returns.
  @_disfavoredOverload
  @discardableResult
  public func transaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SqliteDatabase) throws -> TransactionResult
  ) async throws -> TransactionResult {
    try await perform(.write, at: .init(file: file, line: line), body)
  }

  /// Calls `body` with the writer and no open transaction: for `VACUUM`, pragmas, and transactions of its own.
  ///
  /// ```swift
  /// try pool.withWriter { db in try db.execute("VACUUM") }
  /// ```
  ///
  /// While it runs, no other pool, in this process or another, writes to the file.
  @discardableResult
  public func withWriter<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try perform(.outsideTransaction, at: .init(file: file, line: line), body)
  }

  /// Calls `body` with the writer and no open transaction, on a thread of the pool.
  @discardableResult
  public func withWriter<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.outsideTransaction, at: .init(file: file, line: line), body)
  }
}
