// The protocols of everything that runs statements: handles, pools, and the program's own executors.

/// Runs statements and waits for them: a handle, or a pool.
///
/// This one method provides everything that executors share: `query(_:as:)`, `execute(_:)`, and the `run`, `first`,
/// `count` and `explain` of statements.
public protocol SqlExecutor: Sendable {
  /// Runs a statement. `file` and `line` are the call site.
  func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output
}

/// Runs statements in `async` code: a pool, or a remote database reached by a ``SqlTransport``.
public protocol AsyncSqlExecutor: Sendable {
  /// Runs a statement. `file` and `line` are the call site.
  func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) async throws -> Work.Output
  where Work.Output: Sendable
}

/// A database on which closures run: a handle, or a pool. A store that is generic over this protocol serves both.
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
  /// Calls `body` with a handle, in a transaction of this kind: a deferred one reads, any other writes.
  func withTransaction<Value>(
    _ kind: TransactionKind, file: StaticString, line: UInt, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value
}

extension SqlDatabase {
  /// Calls `body` with a handle; all its reads see one snapshot of the database.
  // Disfavored, like the next method: handles and pools have their own overloads.
  @_disfavoredOverload
  @discardableResult
  public func read<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try withTransaction(.deferred, file: file, line: line, body)
  }

  /// Calls `body` with a handle in a transaction, which commits when `body` returns and rolls back when `body` throws.
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

extension SqliteDatabase {
  /// Runs a statement: the same as `work.run(db)`.
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
