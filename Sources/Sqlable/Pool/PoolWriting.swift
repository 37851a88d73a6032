extension SqlitePool {
  /// Runs `body` in a transaction of the writer, committed when it returns and rolled back when it throws.
  ///
  /// ```swift
  /// let id = try pool.transaction { db in try bike.insert().run(db) }     // BEGIN IMMEDIATE … COMMIT
  /// ```
  ///
  /// Transactions that wait for the writer share a commit, each in a savepoint of its own, and each returns after the commit
  /// only; one that fails is undone alone. Should the shared transaction be undone as a whole, by a full disk or because a
  /// statement of another was interrupted, they are run again, each by itself: `body` may be called twice, and what it did the
  /// first time is not stored. While one waits for the writer, another caller's thread may do its work.
  ///
  /// A closure that returns ``TransactionResult/rollback`` is rolled back. Throws `.timeout` when the writer is not free in
  /// time, `.busy` when another process writes for longer than the busy timeout, and what `body` throws. For threads; in
  /// `async` code the form with `await` is taken.
  @discardableResult
  public func transaction<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs `body` in a transaction of the writer, on a thread of the pool.
  ///
  /// Throws `CancellationError` when the task is cancelled before its work is done; nothing of it is stored then.
  @discardableResult
  public func transaction<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.write, at: .init(file: file, line: line), body)
  }

  /// Calls `body` with the writer outside of a transaction: for `VACUUM`, pragmas, and transactions of its own.
  ///
  /// ```swift
  /// try pool.withWriter { db in try db.execute("VACUUM") }
  /// ```
  ///
  /// While it runs no other pool, of this process or another, writes to the file.
  @discardableResult
  public func withWriter<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try perform(.alone, at: .init(file: file, line: line), body)
  }

  /// Calls `body` with the writer outside of a transaction, on a thread of the pool.
  @discardableResult
  public func withWriter<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.alone, at: .init(file: file, line: line), body)
  }
}
