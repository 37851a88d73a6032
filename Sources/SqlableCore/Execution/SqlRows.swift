/// SQL text with a row type, which runs like any statement.
///
/// ```swift
/// let names = SQL("SELECT name FROM bicycle WHERE color = \(color)").rows(as: String.self)
/// try names.run(db)                // [String]
/// try await names.run(pool)
/// ```
public struct SqlRows<Row>: Runnable, WrappingWork {
  package let text: SQL
  /// True if `init(from:)` decodes the rows. For some types, the rows can be decoded with or without `init(from:)`, so
  /// this flag is part of `key`.
  var usesCodable = false
  /// Returns the reader of one run's rows. Throws if the type can't be decoded.
  let reader: @Sendable () throws -> RowReader<Row>
  /// Returns a decoder of remote rows. If the type can't be decoded, throws before a request is sent.
  let received: @Sendable () throws -> (ReceivedRows) throws -> [Row]

  package var wrapped: SQL { text }

  /// True if the SQL is a query that changes nothing, judging by its keywords.
  public var isReadOnly: Bool { text.isRead }

  /// Reads the rows. Throws the errors of the handle's `query(_:as:)`.
  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [Row] { try read(db) }

  /// Reads the rows on a handle. Calls `note` at each row, before the row is decoded.
  package func read(_ db: SqliteDatabase, noting note: (PreparedStatement) -> Void = { _ in }) throws -> [Row] {
    let reader = try reader()
    var rows: [Row] = []
    try db.eachRow(of: text, reader.columns) { row in
      if let statement = row.state.pointee.statement { note(statement.takeUnretainedValue()) }
      rows.append(try reader.read(row))
    }
    return rows
  }

  /// A key for the query's text and the way in which its rows are decoded. The key does not include the type of rows.
  package var key: SqlRowsKey { SqlRowsKey(text: text, usesCodable: usesCodable) }

  /// The text of the query, for a live result. Throws for text that might change the database.
  package var followed: String {
    get throws {
      if let failure = text.failure { throw failure }
      guard isReadOnly else {
        throw SqlError.invalidStatement("a live result of SQL text needs a query: SELECT or VALUES")
      }
      return text.text
    }
  }

  public func run(over transport: some SqlTransport) async throws -> [Row] {
    let (request, read) = (try text.request(), try received())
    let received = received
    let answers = try await transport.answers(to: [request], of: self) { answers in
      for answer in answers { _ = try received()(ReceivedRows(answer: answer, sql: request.sql)) }
    }
    guard let answer = answers.first else { throw SqlError.withoutAnswer }
    return try read(ReceivedRows(answer: answer, sql: request.sql))
  }
}

package struct SqlRowsKey: Hashable, Sendable {
  let text: SQL
  let usesCodable: Bool
}

extension SqlRows {
  package init(_ text: SQL, usesCodable: Bool = false, reader: @escaping @Sendable () throws -> RowReader<Row>) {
    self.init(text: text, usesCodable: usesCodable, reader: reader) {
      let reader = try reader()
      return { try $0.map(reader.columns, reader.read) }
    }
  }
}

/// The columns that a result must have, and the decoding of its rows.
package struct RowReader<Row> {
  let columns: ExpectedColumns
  let read: (ReadRow) throws -> Row

  package init(_ columns: ExpectedColumns, _ read: @escaping (ReadRow) throws -> Row) {
    (self.columns, self.read) = (columns, read)
  }
}

extension SQL {
  /// Returns the rows as structs. Columns are matched by name, in any order; additional columns are ignored.
  public func rows<Model: Sqlable>(as model: Model.Type) -> SqlRows<Model> {
    SqlRows(self) { RowReader(.named(try TableInfo.of(model))) { try $0.model() } }
  }

  /// Returns the values of a query with a single column.
  public func rows<Value: SqlValue>(as type: Value.Type) -> SqlRows<Value> {
    SqlRows(self) { RowReader(.single) { try $0.get(at: 0) } }
  }

  /// Returns the rows with all columns.
  public func rows(as type: DynamicRow.Type) -> SqlRows<DynamicRow> {
    SqlRows(text: self) {
      let layout = ResultLayout([])
      return RowReader(.unknown) { row in
        var row = ResultRow(row, types: layout.types)
        return try DynamicRow.next(of: &row)
      }
    } received: {
      { rows in
        guard rows.answer.invalidTexts.isEmpty else {
          throw SqlError.decoding(expected: "TEXT", found: "TEXT that is not valid UTF-8")
        }
        return rows.answer.rows.map { DynamicRow(columns: rows.answer.columns, values: $0) }
      }
    }
  }

  /// Returns the rows as tuples of values and models.
  public func rows<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type
  ) -> SqlRows<(First, Second, repeat each Output)> {
    SqlRows(self) {
      let layout = try ResultLayout(of: First.self, Second.self, repeat (each Output).self)
      return RowReader(.positioned(layout)) { row in
        var row = ResultRow(row, types: layout.types)
        return (try First.next(of: &row), try Second.next(of: &row), repeat try (each Output).next(of: &row))
      }
    }
  }

  fileprivate func request() throws -> SqlRequest {
    if let failure { throw failure }
    guard arguments.count == bindings.count else {
      throw SqlError.invalidStatement("SQL text with a long list or a parameter can't be sent to a remote database")
    }
    return SqlRequest(sql: text, values: bindings, isReadOnly: isRead)
  }

  /// True if the verb, such as SELECT, shows that the SQL changes nothing. A pool runs all other SQL on the writer.
  package var isRead: Bool {
    var text = text
    return switch text.withUTF8(\.verb) {
    case nil: !text.withUTF8(\.holdsStatement)
    case "SELECT", "VALUES", "EXPLAIN": true
    default: false
    }
  }

  /// The verbs of all statements in the text, in upper case.
  private var verbs: [String] {
    var text = text
    return text.withUTF8 { bytes in
      guard bytes.contains(UInt8(ascii: ";")) else { return [bytes.verb].compactMap(\.self) }
      return SQLStatements(bytes).compactMap { UnsafeBufferPointer(rebasing: bytes[$0]).verb }
    }
  }

  package var onlyAttaches: Bool { verbs.allSatisfy { $0 == "ATTACH" } }
}

extension SQL: Runnable {
  /// Always false, because the statements of the text are not analyzed.
  public var isReadOnly: Bool { false }

  /// True if any statement of the text is `VACUUM` or `DETACH`, or if all statements are `PRAGMA` or `ATTACH`.
  public var runsOutsideTransaction: Bool {
    let verbs = verbs
    return verbs.contains { $0 == "VACUUM" || $0 == "DETACH" }
      || !verbs.isEmpty && verbs.allSatisfy { $0 == "PRAGMA" || $0 == "ATTACH" }
  }

  public var sql: String { text }

  public func requests() throws -> [SqlRequest] { [try request()] }

  /// Runs the text, which can contain several statements, and ignores rows.
  @_disfavoredOverload
  public func run(_ db: SqliteDatabase) throws { try db.execute(self) }

  public func run(over transport: some SqlTransport) async throws { _ = try await transport.answer(to: request()) }
}
