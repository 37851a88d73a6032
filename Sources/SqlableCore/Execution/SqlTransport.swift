/// A transport to a remote database on another machine, or behind a socket or a pipe. A transport sends SQL with
/// values, and returns rows.
///
/// ```swift
/// struct Cluster: SqlTransport {
///   func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] { … }
/// }
/// let bikes = try await Bicycle.read().run(cluster)
/// ```
///
/// The method `answers(to:)` runs every kind of statement.
public protocol SqlTransport: AsyncSqlExecutor {
  /// Runs the requests in order, and returns an answer for each request. Several requests are one transaction: if one
  /// request fails, no request takes effect.
  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer]
}

extension SqlTransport {
  @discardableResult
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output where Work.Output: Sendable {
    try await work.run(over: self)
  }

  package func answer(to request: SqlRequest) async throws -> SqlAnswer {
    guard let answer = try await answers(to: [request]).first else { throw SqlError.withoutAnswer }
    return answer
  }
}

/// A transport that can undo a change if the caller rejects the answers.
package protocol CheckingTransport: SqlTransport {
  /// Runs the requests, and undoes their changes if `check` throws.
  func answers(
    to requests: [SqlRequest], check: (@Sendable ([SqlAnswer]) throws -> Void)?
  ) async throws -> [SqlAnswer]
}

extension SqlTransport {
  /// Runs the requests. Calls `check` only if `change` is not read-only and the transport is a `CheckingTransport`. If
  /// `check` throws, the transport undoes the change.
  package func answers(
    to requests: [SqlRequest], of change: some Runnable, check: @escaping @Sendable ([SqlAnswer]) throws -> Void
  ) async throws -> [SqlAnswer] {
    guard !change.isReadOnly, let transport = self as? any CheckingTransport else {
      return try await answers(to: requests)
    }
    return try await transport.answers(to: requests, check: check)
  }
}

/// An SQL statement with its values, as sent to a remote database.
public struct SqlRequest: Sendable, Hashable, Codable {
  /// One statement, with `?` for every bound value.
  public var sql: String
  /// The values, in the order of the `?`.
  public var values: [DatabaseValue]
  /// True if the statement changes nothing.
  public var isReadOnly: Bool
  /// The name of a ``Parameter`` that has no value; nil if every parameter has a value.
  package private(set) var parameter: String?
  package var hasRowId = true
  /// The primary-key columns that the insert does not set. The receiver must throw if the table would store NULL in
  /// these columns.
  var omittedKey: OmittedKey?

  private enum CodingKeys: String, CodingKey { case sql, values, isReadOnly, omittedKey }

  public init(sql: String, values: [DatabaseValue], isReadOnly: Bool) {
    (self.sql, self.values, self.isReadOnly) = (sql, values, isReadOnly)
  }
}

/// The answer of a remote database.
public struct SqlAnswer: Sendable, Hashable, Codable {
  /// The names of the result's columns; empty if the statement has no result.
  public var columns: [String]
  /// The rows of the result. In an answer of a cluster, a text that is not UTF-8 is a blob of its bytes, which
  /// statements read as a text.
  public var rows: [[DatabaseValue]]
  /// The number of rows inserted, updated or deleted.
  public var changes: Int
  /// The id of the last inserted row.
  public var lastInsertedId: Int
  /// The places of values in the rows that are texts, but not UTF-8: the row's number times the number of columns, plus
  /// the column's number. `rows` has the bytes of these texts as blobs.
  package var invalidTexts: Set<Int> = []

  private enum CodingKeys: String, CodingKey { case columns, rows, changes, lastInsertedId }

  public init(columns: [String] = [], rows: [[DatabaseValue]] = [], changes: Int = 0, lastInsertedId: Int = 0) {
    (self.columns, self.rows) = (columns, rows)
    (self.changes, self.lastInsertedId) = (changes, lastInsertedId)
  }
}

extension SqlError {
  package static var withoutAnswer: SqlError { .misuse("the transport did not return one answer per request") }
}

extension SqlRequest {
  package init(_ statement: StatementWithValues, isReadOnly: Bool) {
    self.init(sql: statement.sql, values: statement.bindings, isReadOnly: isReadOnly)
    parameter = statement.parameters.firstPlaceholder?.name
    omittedKey = statement.omittedKey
  }
}

extension Runnable {
  /// Returns the requests to send. Throws if the statement has a parameter without a value.
  package func sentRequests() throws -> [SqlRequest] {
    let requests = try requests()
    for case let parameter? in requests.map(\.parameter) { throw SqlError.unprepared(parameter) }
    return requests
  }
}

extension SqliteDatabase {
  /// Runs a request from another process, and returns the answer to send back. This is the counterpart of a
  /// ``SqlTransport``.
  ///
  /// The SQL is not checked or restricted. Accept requests only from clients that are allowed to do anything with the
  /// database.
  public func answer(to request: SqlRequest) throws -> SqlAnswer {
    try locked {
      let connection = try openConnection()
      _ = try connection.isKeyAssigned(request.omittedKey)
      var sql = SQL(verbatim: request.sql)
      sql.arguments = request.values.map { .value($0) }
      // Reset the id, because a statement that inserts nothing would leave the id of an earlier insert.
      connection.lastInsertedId = 0
      let before = connection.totalChanges
      var answer = SqlAnswer()
      try eachRow(of: sql, .unknown) {
        answer.columns = $0
      } _: { row in
        answer.rows.append(try (0..<row.count).map { try row.databaseValue(at: $0) })
      }
      guard connection.totalChanges != before else { return answer }
      answer.changes = connection.changes
      answer.lastInsertedId = Int(connection.lastInsertedId)
      return answer
    }
  }

  /// Runs several requests in one transaction.
  public func answers(to requests: [SqlRequest]) throws -> [SqlAnswer] {
    if requests.count == 1 { return [try answer(to: requests[0])] }
    return try transaction(requests.allSatisfy(\.isReadOnly) ? .deferred : .immediate) { db in
      try requests.enumerated().map { index, request in
        do { return try db.answer(to: request) } catch { throw error.inBatch(index) }
      }
    }
  }
}
