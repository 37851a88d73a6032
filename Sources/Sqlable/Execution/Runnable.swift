/// Something that can be run: a statement, a query, a change that returns terms, SQL text.
///
/// Code that wraps statements is written once for all of them, and for handles and pools:
///
/// ```swift
/// func timed<Work: Runnable>(_ work: Work, on db: some SqlExecutor) throws -> Work.Output {
///   let start = ContinuousClock.now
///   defer { print(work.sql, start.duration(to: .now)) }
///   return try work.run(db)
/// }
/// let bikes = try timed(Bicycle.read(), on: db)     // [Bicycle]
/// ```
///
/// There is no need to conform to it, but for what runs others in a way of its own.
public protocol Runnable<Output>: Sendable {
  /// What running it gives.
  associatedtype Output

  /// The SQL, with `?` for every value; of several statements, that of the first.
  var sql: String { get }

  /// Whether it changes nothing. A pool runs it on a reader then.
  var isReadOnly: Bool { get }

  /// The SQL with its values, as a database elsewhere gets it: one request for each row of a batch, and of several
  /// statements that of the first. Throws whatever makes it impossible to run.
  func requests() throws -> [SqlRequest]

  /// Runs it on a handle.
  func run(_ db: SqliteDatabase) throws -> Output

  /// Runs it on a database elsewhere: sends the SQL with its values, and makes the result of the answers.
  func run(over transport: some SqlTransport) async throws -> Output
}

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
  @discardableResult
  public func read<Value>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try withTransaction(.deferred, file: file, line: line, body)
  }

  /// Calls `body` with a handle in a transaction, committed when it returns and rolled back when it throws.
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

extension Runnable {
  /// Runs it on a handle or a pool, and waits for it.
  @discardableResult
  @inlinable
  public func run(_ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line) throws -> Output {
    try db.run(self, file: file, line: line)
  }

  /// Runs it on a pool, or on a database elsewhere.
  @discardableResult
  @inlinable
  public func run(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Output where Output: Sendable {
    try await db.run(self, file: file, line: line)
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
