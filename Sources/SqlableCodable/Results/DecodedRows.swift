import SqlableCore

/// A query whose rows are decoded into a `Decodable` type.
///
/// ```swift
/// struct Offer: Decodable { let name: String; let price: Double; let soldAt: Date? }
/// let offers = try Car.select(Car.name, Car.price, Car.soldAt).decoded(as: Offer.self).run(db)      // [Offer]
/// ```
public struct DecodedRows<Value: Decodable & SendableMetatype>: Runnable, Hashable {
  package let query: SelectQuery
  /// The names of the columns. If the array is empty, the query's own column names are used.
  let names: [String]

  public var sql: String {
    do { return try query.withValues().sql } catch { return SqlError.comment(error) }
  }

  public var isReadOnly: Bool { true }

  public func requests() throws -> [SqlRequest] {
    _ = try namedColumns
    return [SqlRequest(try query.withValues(isRemote: true), isReadOnly: true)]
  }

  /// Reads the rows.
  ///
  /// Throws `.schema` if a required key has no column, and `.decoding` if a value does not fit. Throws `.misuse` if the
  /// number of names differs from the number of columns. Also throws the errors of reading.
  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [Value] {
    let columns = try namedColumns
    let reading = try db.beginReading(query)
    defer { db.endReading(reading.rows) }
    var values: [Value] = []
    while try reading.rows.step() { values.append(try reading.rows.row.decode(Value.self, from: columns)) }
    return values
  }

  public func run(over transport: some SqlTransport) async throws -> [Value] {
    let request = try sentRequests()[0]
    let answer = try await transport.answer(to: request)
    let (columns, layout) = (try namedColumns, ResultLayout(query.clauses.columns))
    return try ReceivedRows(answer: answer, sql: request.sql).map(.positioned(layout)) { row in
      try row.decode(Value.self, from: columns)
    }
  }

  private var namedColumns: NamedColumns {
    get throws {
      let clauses = query.clauses
      guard names.isEmpty || names.count == clauses.columnCount else {
        throw SqlError.misuse(
          "the query has \(clauses.columnCount) columns, but the number of column names is \(names.count)")
      }
      return NamedColumns(names.isEmpty ? clauses.columnNames : names, types: clauses.columns.map(\.type))
    }
  }
}

extension DecodedRows: StatementTrees {
  package func statements() -> [TreeStatement] { [TreeStatement(query)] }
}

extension SelectStatement {
  /// Decodes each row by the `init(from:)` of a type that is not a model.
  ///
  /// ```swift
  /// struct Stock: Decodable { let color: String; let count: Int; let newestId: Int? }
  /// let stock = Bicycle.select(Bicycle.color, Bicycle.id.count(), Bicycle.id.max()).groupBy(Bicycle.color)
  ///   .decoded(as: Stock.self, columns: "color", "count", "newest_id")                          // [Stock]
  /// ```
  ///
  /// A key is decoded from the column with the same name, or with the name in snake_case. Without `columns`, a selected
  /// column has its own name, and another term, such as `count()`, has no name.
  ///
  /// A ``SqlValue`` is decoded from the column's stored form. Any other type is decoded from the single value that its
  /// `init(from:)` requests, or else from JSON. NULL and a missing column become nil. A type that decodes itself as a
  /// single value uses the only column.
  ///
  /// - Parameters:
  ///   - type: The type, whose `init(from:)` decodes each row.
  ///   - columns: The names of the query's columns, in order. Name every column, or none.
  public func decoded<Value: Decodable & SendableMetatype>(
    as type: Value.Type, columns: String...
  ) -> DecodedRows<Value> {
    DecodedRows(query: asSelect().query, names: columns)
  }
}

extension SQL {
  /// Decodes each row by the `init(from:)` of a type that is not a model. A key is decoded from the column with the
  /// same name, or with the name in snake_case.
  @_disfavoredOverload
  public func rows<Value: Decodable & SendableMetatype>(as type: Value.Type) -> SqlRows<Value> {
    SqlRows(self, usesCodable: true) {
      var known: NamedColumns?
      return RowReader(.unknown) { row in
        let columns = try known ?? NamedColumns(row.columnNames)
        known = columns
        return try row.decode(type, from: columns)
      }
    }
  }
}

extension SqliteDatabase {
  /// Returns the rows of a query, decoded by the `init(from:)` of a type that is not a model.
  ///
  /// ```swift
  /// struct Stock: Decodable { let color: String; let count: Int; let newestId: Int? }
  /// let stock = try db.query(
  ///   "SELECT color, count(*) AS count, max(id) AS newest_id FROM bicycle GROUP BY color", as: Stock.self)
  /// ```
  ///
  /// A key is decoded from the column with the same name, or with the name in snake_case; other columns are ignored.
  /// Throws `.schema` if a required key has no column, and `.decoding` if a value does not fit. After such an error the
  /// database is unchanged.
  @_disfavoredOverload
  public func query<Value: Decodable & SendableMetatype>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Value] {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    return try sql.rows(as: type).read(self)
  }
}

extension SqlExecutor {
  /// Returns the rows of a query, decoded by the `init(from:)` of a type that is not a model.
  @_disfavoredOverload
  public func query<Value: Decodable & SendableMetatype>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Value] {
    try run(sql.rows(as: type), file: file, line: line)
  }
}

extension AsyncSqlExecutor {
  /// Returns the rows of a query, decoded by the `init(from:)` of a type that is not a model.
  @_disfavoredOverload
  public func query<Value: Decodable & Sendable>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Value] {
    try await run(sql.rows(as: type), file: file, line: line)
  }
}
