/// Something that can be run: a statement, a query, a change that returns terms, SQL text.
///
/// Code that wraps statements can be written once for all of them, and for handles and pools:
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
/// Printed, it is its SQL, without a value.
///
/// Conform to it only to run other statements in a special way.
public protocol Runnable<Output>: Sendable, CustomStringConvertible {
  /// The result of running it.
  associatedtype Output

  /// The SQL, with `?` for every value; if there are several statements, that of the first.
  var sql: String { get }

  /// True if it changes nothing. If so, a pool runs it on a reader.
  var isReadOnly: Bool { get }

  /// Returns the SQL with its values, as sent to a remote database: one request for each row of a batch; if there are
  /// several statements, that of the first. Throws if it can't be run.
  func requests() throws -> [SqlRequest]

  /// Runs it on a handle, for the call of an executor. Code that calls an executor says `run(_:file:line:)`.
  func run(_ db: SqliteDatabase) throws -> Output

  /// Runs it on a remote database: sends the SQL with its values, and makes the result from the answers.
  func run(over transport: some SqlTransport) async throws -> Output
}

extension Runnable {
  /// The SQL, with `?` for every value.
  public var description: String { sql }

  /// Runs it on a handle or a pool, and waits for it.
  ///
  /// Throws `.schema` if a table or column is missing, `.decoding` if a value does not fit its type.
  @discardableResult
  @inlinable
  public func run(_ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line) throws -> Output {
    try db.run(self, file: file, line: line)
  }

  /// Runs it on a pool or a remote database.
  @discardableResult
  @inlinable
  public func run(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Output where Output: Sendable {
    try await db.run(self, file: file, line: line)
  }
}
