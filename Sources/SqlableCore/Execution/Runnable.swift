/// A value that can be run: a statement, a query, a change that returns terms, or SQL text.
///
/// A function that is generic over this protocol accepts every kind of statement, on handles and pools:
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
/// The description is the SQL, without bound values.
///
/// Conform a type to this protocol only to run other statements in a special way.
public protocol Runnable<Output>: Sendable, CustomStringConvertible {
  /// The result of a run.
  associatedtype Output

  /// The SQL, with `?` for every bound value. For several statements, the SQL of the first.
  var sql: String { get }

  /// True if the statement changes nothing. A pool then uses a reader.
  var isReadOnly: Bool { get }

  /// True if a pool runs the statement on its writer outside a transaction, because SQLite refuses the statement in a
  /// transaction: `VACUUM`, `DETACH` and some PRAGMAs. False by default.
  var runsOutsideTransaction: Bool { get }

  /// Returns the SQL with its values, as sent to a remote database. A batch of structs returns one request for each
  /// struct. A query with associations returns the request of its root rows. Throws if the statement can't be run.
  func requests() throws -> [SqlRequest]

  /// Runs the statement on a handle. Only executors call this method; programs call `run(_:file:line:)` instead.
  func run(_ db: SqliteDatabase) throws -> Output

  /// Runs the statement on a remote database: sends the SQL with its values, and creates the result from the answers.
  func run(over transport: some SqlTransport) async throws -> Output
}

/// A statement that wraps another statement, and changes how the wrapped statement runs. The SQL and the requests are
/// those of the wrapped statement.
package protocol WrappingWork: Runnable {
  associatedtype Wrapped: Runnable
  var wrapped: Wrapped { get }
}

extension WrappingWork {
  public var sql: String { wrapped.sql }
  public var isReadOnly: Bool { wrapped.isReadOnly }
  public var runsOutsideTransaction: Bool { wrapped.runsOutsideTransaction }

  public func requests() throws -> [SqlRequest] { try wrapped.requests() }
}

extension Runnable {
  /// The SQL, with `?` for every bound value.
  public var description: String { sql }

  public var runsOutsideTransaction: Bool { false }

  /// Runs the statement on a handle or a pool, and waits for the result.
  ///
  /// Throws `.schema` if a table or column is missing, and `.decoding` if a value does not fit its type.
  @discardableResult
  @inlinable
  public func run(_ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line) throws -> Output {
    try db.run(self, file: file, line: line)
  }

  /// Runs the statement on a pool or a remote database.
  @discardableResult
  @inlinable
  public func run(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Output where Output: Sendable {
    try await db.run(self, file: file, line: line)
  }
}
