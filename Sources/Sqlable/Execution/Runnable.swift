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
