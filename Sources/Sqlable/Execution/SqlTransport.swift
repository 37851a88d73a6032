/// The way to a database that is not reached by a connection of this process: on another machine, behind a socket or a
/// pipe. It is given SQL and values, and gives rows.
///
/// ```swift
/// struct Cluster: SqlTransport {
///   func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] { … }
/// }
/// let bikes = try await Bicycle.read().run(cluster)
/// ```
///
/// Everything that can be run runs on it, with this one function.
public protocol SqlTransport: AsyncSqlExecutor {
  /// Has the requests done in their order, and gives an answer for each. Several are one transaction: when one fails
  /// none is done.
  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer]
}

extension SqlTransport {
  @discardableResult
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output where Work.Output: Sendable {
    try await work.run(over: self)
  }

  /// The answer to one request.
  func answer(to request: SqlRequest) async throws -> SqlAnswer {
    guard let answer = try await answers(to: [request]).first else { throw SqlError.withoutAnswer }
    return answer
  }
}

/// An SQL statement with its values, as it is sent to a database elsewhere.
public struct SqlRequest: Sendable, Hashable, Codable {
  /// One statement, with `?` for every value.
  public var sql: String
  /// The values, in the order of the `?`.
  public var values: [DatabaseValue]
  /// Whether it changes nothing.
  public var isReadOnly: Bool

  public init(sql: String, values: [DatabaseValue], isReadOnly: Bool) {
    (self.sql, self.values, self.isReadOnly) = (sql, values, isReadOnly)
  }
}

/// What a database elsewhere answers.
public struct SqlAnswer: Sendable, Hashable, Codable {
  /// The names of the result's columns; none for a statement without a result.
  public var columns: [String]
  /// The rows of the result.
  public var rows: [[DatabaseValue]]
  /// How many rows were inserted, updated or deleted.
  public var changes: Int
  /// The id of the row that was inserted last.
  public var lastInsertedId: Int

  public init(columns: [String] = [], rows: [[DatabaseValue]] = [], changes: Int = 0, lastInsertedId: Int = 0) {
    (self.columns, self.rows) = (columns, rows)
    (self.changes, self.lastInsertedId) = (changes, lastInsertedId)
  }
}

extension SqlError {
  static var withoutAnswer: SqlError { .misuse("the transport gave fewer answers than it was sent requests") }
}

extension SqlRequest {
  init(_ statement: StatementWithValues, isReadOnly: Bool) {
    self.init(sql: statement.sql, values: statement.bindings, isReadOnly: isReadOnly)
  }
}

extension SqliteDatabase {
  /// Does what a request of another process asks for, and gives the answer that goes back: the counterpart of a
  /// ``SqlTransport``.
  ///
  /// The SQL is run as it is. Never take requests from those to whom the database is not open.
  public func answer(to request: SqlRequest) throws -> SqlAnswer {
    try locked {
      let connection = try openConnection()
      var sql = SQL(verbatim: request.sql)
      sql.arguments = request.values.map { .value($0) }
      // A statement that inserts nothing leaves the id of an earlier one behind.
      connection.lastInsertedId = 0
      let before = connection.totalChanges
      var answer = SqlAnswer()
      try eachRow(of: sql, .unknown) { row in
        if answer.rows.isEmpty { answer.columns = try row.columnNames }
        answer.rows.append(try (0..<row.count).map { try row.databaseValue(at: $0) })
      }
      guard connection.totalChanges != before else { return answer }
      answer.changes = connection.changes
      answer.lastInsertedId = Int(connection.lastInsertedId)
      return answer
    }
  }

  /// Does what several requests ask for, all or none of them.
  public func answers(to requests: [SqlRequest]) throws -> [SqlAnswer] {
    if requests.count == 1 { return [try answer(to: requests[0])] }
    return try transaction(requests.allSatisfy(\.isReadOnly) ? .deferred : .immediate) { db in
      try requests.map { try db.answer(to: $0) }
    }
  }
}
