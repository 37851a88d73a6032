// What runs statements: handles, pools, and what a program adds.

/// Runs statements and waits for them: a handle, or a pool.
///
/// What all executors have, `query(_:as:)`, `execute(_:)` and the `run`, `first`, `count` and `explain` of statements,
/// comes with this one function.
public protocol SqlExecutor: Sendable {
  /// Runs a statement. `file` and `line` say where the call was made.
  func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output
}

/// Runs statements in `async` code: a pool, or a database elsewhere that is reached by a ``SqlTransport``.
public protocol AsyncSqlExecutor: Sendable {
  /// Runs a statement. `file` and `line` say where the call was made.
  func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) async throws -> Work.Output
  where Work.Output: Sendable
}

/// A database that closures can be run on: a handle, or a pool. A store that is generic over it serves both.
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
  /// Calls `body` with a handle, in a transaction of that kind: a deferred one reads, any other writes.
  func withTransaction<Value>(
    _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value
}

extension SqlDatabase {
  /// Calls `body` with a handle: everything that it reads is of one snapshot of the database.
  // Disfavored, as the next: handles and pools have forms of their own.
  @_disfavoredOverload
  @discardableResult
  public func read<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try withTransaction(.deferred, file: file, line: line, body)
  }

  /// Calls `body` with a handle in a transaction, committed when it returns and rolled back when it throws.
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
    try scoped(kind, body)
  }
}

extension SqliteDatabase {
  /// Runs a statement: the same as `work.run(db)`.
  @discardableResult
  @inlinable
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Work.Output {
    try work.run(self)
  }
}
