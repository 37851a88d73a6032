// The protocols of types that run statements: handles, pools and a program's own executors.

/// An executor that waits for its statements: a handle or a pool.
///
/// The method `run` provides everything that executors share: `query(_:as:)`, `execute(_:)`, and the `run`, `first`,
/// `count` and `explain` of statements.
public protocol SqlExecutor: Sendable {
  /// Runs a statement. `file` and `line` are the call site.
  func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output
}

/// An executor for `async` code: a pool, or a remote database behind a ``SqlTransport``.
public protocol AsyncSqlExecutor: Sendable {
  /// Runs a statement. `file` and `line` are the call site.
  func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) async throws -> Work.Output
  where Work.Output: Sendable
}

/// A database that runs closures: a handle or a pool. A store that is generic over this protocol works with handles and
/// pools.
///
/// ```swift
/// struct Garage<Database: SqlDatabase> {
///   let db: Database
///
///   func reds() throws -> [Bicycle] { try Bicycle.read().filter(Bicycle.color == "red").run(db) }
///
///   func swap(_ a: Int, _ b: Int) throws {
///     try db.transaction { db in … }
///   }
/// }
/// ```
public protocol SqlDatabase: SqlExecutor {
  /// Calls `body` with a handle, in a transaction of this kind: a deferred transaction reads, any other kind writes.
  func withTransaction<Value>(
    _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value
}

extension SqlDatabase {
  /// Calls `body` with a handle. All reads in `body` use one snapshot of the database.
  // Disfavored, like the next method, because handles and pools have their own overloads.
  @_disfavoredOverload
  @discardableResult
  public func read<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try withTransaction(.deferred, file: file, line: line, body)
  }

  /// Calls `body` with a handle in a transaction. The transaction commits when `body` returns and rolls back when
  /// `body` throws.
  @_disfavoredOverload
  @discardableResult
  public func transaction<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try withTransaction(.immediate, file: file, line: line, body)
  }
}

extension SqliteDatabase: SqlDatabase {
  public func withTransaction<Value>(
    _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try transaction(kind, file: file, line: line, body)
  }
}

extension DatabaseBlock: SqlDatabase {
  public func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output {
    try checkIsActive()
    return try database.run(work, file: file, line: line)
  }

  public func withTransaction<Value>(
    _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try checkIsActive()
    return try database.transaction(kind, file: file, line: line, body)
  }
}

extension SqliteDatabase {
  /// Runs a statement, like `work.run(db)`.
  @discardableResult
  @inlinable
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Work.Output {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    return try work.run(self)
  }
}
