import SqlableCore

extension SqlitePool {
  /// Runs `body` in a transaction of the writer, and commits when `body` returns or rolls back when `body` throws.
  ///
  /// ```swift
  /// let id = try pool.transaction { db in try bike.insert().run(db) }     // BEGIN IMMEDIATE … COMMIT
  /// ```
  ///
  /// Transactions that wait for the writer share one commit, each in its own savepoint, and return after the commit. A
  /// failing transaction is rolled back alone. If a full disk or another call's interruption rolls back the shared
  /// transaction, each call runs again in its own transaction. `body` can therefore run twice; changes of the first run
  /// are not stored. Another caller's thread can run `body` while the calling thread waits.
  ///
  /// Throws `.timeout` if the writer does not become free within ``PoolConfiguration/waitTimeout``. Throws `.busy` if
  /// another process, pool or handle writes for longer than the busy timeout. Throws the errors of `body`. Blocks the
  /// thread. In `async` code, use the overload with `await`.
  @discardableResult
  public func transaction<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs `body` in a transaction of the writer, on a thread of the pool.
  ///
  /// Throws `CancellationError` if the task is cancelled before the work is done; nothing is stored then.
  @discardableResult
  public func transaction<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs `body` in a transaction of the writer, and commits or rolls back according to the result of `body`.
  ///
  /// ```swift
  /// try pool.transaction { db in
  ///   let changed = try Bicycle.delete(Bicycle.color == "red").run(db)
  ///   return changed > 10 ? .rollback : .commit
  /// }
  /// ```
  // Disfavored, like the next overload. Otherwise the compiler would report a missing return in a closure that returns
  // nothing.
  @_disfavoredOverload
  @discardableResult
  public func transaction(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> TransactionResult
  ) throws -> TransactionResult {
    try perform(.write, at: .init(file: file, line: line), body)
  }

  /// Runs `body` in a write transaction on a thread of the pool, and commits or rolls back according to the result.
  @_disfavoredOverload
  @discardableResult
  public func transaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (SqliteDatabase) throws -> TransactionResult
  ) async throws -> TransactionResult {
    try await perform(.write, at: .init(file: file, line: line), body)
  }

  /// Calls `body` with the writer outside of a transaction: for several transactions, or for pragmas and attached files
  /// that several statements need.
  ///
  /// ```swift
  /// try pool.withWriter { db in
  ///   try db.execute("ATTACH \(path) AS old")
  ///   try db.execute("INSERT INTO main.bicycle SELECT * FROM old.bicycle")
  /// }
  /// ```
  ///
  /// While `body` runs, no other pool writes to the file. Throws `.misuse` if `body` leaves a transaction open.
  @discardableResult
  public func withWriter<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try perform(.outsideTransaction, at: .init(file: file, line: line), body)
  }

  /// Calls `body` with the writer outside of a transaction, on a thread of the pool.
  @discardableResult
  public func withWriter<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.outsideTransaction, at: .init(file: file, line: line), body)
  }
}
