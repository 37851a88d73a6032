import SqlableCore

extension SqlitePool {
  /// Calls `body` with a reader, on one snapshot of the database.
  ///
  /// ```swift
  /// let (bikes, people) = try pool.read { db in (try Bicycle.count().run(db), try Person.count().run(db)) }
  /// // BEGIN DEFERRED … COMMIT
  /// ```
  ///
  /// Throws `.readOnly` on a write, `.timeout` if no reader becomes free within ``PoolConfiguration/waitTimeout``, and
  /// the errors of `body`. Blocks the thread. In `async` code, use the overload with `await`.
  public func read<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try perform(.read, at: .init(file: file, line: line)) { db in try db.transaction(.deferred) { try body($0) } }
  }

  /// Calls `body` with a reader, on one snapshot of the database and on a thread of the pool.
  ///
  /// Throws `CancellationError` if the task is cancelled before the read is done.
  public func read<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await perform(.read, at: .init(file: file, line: line)) { db in try db.transaction(.deferred) { try body($0) } }
  }

  // MARK: Values

  package func perform<Value>(
    _ kind: PoolCall.Kind, at callSite: CallSite, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    if kind.isRead, let read = try claimReader(at: callSite) {
      let value: Value
      do { value = try read.db._withUnsafeGuaranteedRef(body) } catch { throw failed(read, error) }
      end(read)
      return value
    }
    var value: Value?
    try perform(kind, callSite) { db in
      let result = try body(db)
      value = result
      return result as? TransactionResult ?? .commit
    }
    guard let value else { throw misuse("the call ended without a value") }
    return value
  }

  /// Runs a statement and waits for the result.
  @inlinable
  func performStatement<Value>(
    _ kind: PoolCall.Kind, at callSite: CallSite, _ run: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    if kind.isRead, let read = try claimReader(at: callSite) {
      let value: Value
      do { value = try read.db._withUnsafeGuaranteedRef(run) } catch { throw failed(read, error) }
      end(read)
      return value
    }
    var value: Value?
    try perform(kind, callSite) { db in
      value = try run(db)
      return .commit
    }
    guard let value else { throw misuse("the call ended without a value") }
    return value
  }

  /// Runs a statement: a short read on the calling thread, and other statements on a thread of the pool.
  @inlinable
  func performStatement<Value: Sendable>(
    _ kind: PoolCall.Kind, at callSite: CallSite, _ run: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    if kind.isRead {
      try Task.checkCancellation()
      if let read = try claimReaderForTask(at: callSite) {
        var value: Value?
        var failure: (any Error)?
        do { value = try read.db._withUnsafeGuaranteedRef(run) } catch { failure = error }
        if let error = endTaskRead(read, failure) { throw error }
        if isTimeToYield() { await Task.yield() }
        if let value { return value }
        return try await performOnThread(kind, at: callSite, run)
      }
    }
    return try await performWithLock(kind, at: callSite, run)
  }

  /// True for some reads. Otherwise, a task that only reads would never suspend, and other tasks could not use its
  /// thread.
  @usableFromInline
  func isTimeToYield() -> Bool { ThreadReads.countTaskRead() % 32 == 0 }

  @usableFromInline
  func performWithLock<Value: Sendable>(
    _ kind: PoolCall.Kind, at callSite: CallSite, _ run: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    guard kind.isRead else { return try await performOnThread(kind, at: callSite, run) }
    var value: Value?
    let isDone = try performQuickly(callSite) { db in value = try run(db) }
    if isTimeToYield() { await Task.yield() }
    if isDone, let value { return value }
    return try await performOnThread(kind, at: callSite, run)
  }

  @usableFromInline
  func performOnThread<Value: Sendable>(
    _ kind: PoolCall.Kind, at callSite: CallSite, _ run: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    // Wrap the value in a `Result`: a plain value of the type `TransactionResult` would decide whether the statement is
    // committed.
    try await perform(kind, at: callSite) { db in Result<Value, Never>.success(try run(db)) }.get()
  }

  package func perform<Value: Sendable>(
    _ kind: PoolCall.Kind, at callSite: CallSite, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    let value = LockedValue<Value?>(nil)
    try await perform(kind, callSite) { db in
      let result = try body(db)
      value.withLock { $0 = result }
      return result as? TransactionResult ?? .commit
    }
    guard let value = value.withLock({ $0 }) else { throw misuse("the call ended without a value") }
    return value
  }
}
