extension Select {
  /// Reads the rows, each a tuple.
  ///
  /// Throws `.schema` when table or column is missing, `.decoding` when a value does not fit its type.
  public func run(_ db: SqliteDatabase) throws -> [(repeat each Output)] {
    var rows: [(repeat each Output)] = []
    try db.read(query) { row in
      rows.append((repeat try (each Output).next(of: &row)))
      return .continue
    }
    return rows
  }

  /// Reads the first row, or nil when there is none.
  public func first(_ db: SqliteDatabase) throws -> (repeat each Output)? { try limit(1).run(db).first }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(_ db: SqliteDatabase, _ body: (repeat each Output) throws -> Iteration) throws {
    try db.read(query, isLoop: true) { row in try body(repeat try (each Output).next(of: &row)) }
  }
}

extension SingleSelect {
  /// Reads the rows.
  ///
  /// Throws `.schema` when table or column is missing, `.decoding` when a value does not fit its type.
  public func run(_ db: SqliteDatabase) throws -> [Output] {
    var rows: [Output] = []
    try db.read(query) { row in
      rows.append(try Output.next(of: &row))
      return .continue
    }
    return rows
  }

  /// Reads the first row, or nil when there is none.
  public func first(_ db: SqliteDatabase) throws -> Output? { try limit(1).run(db).first }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(_ db: SqliteDatabase, _ body: (Output) throws -> Iteration) throws {
    try db.read(query, isLoop: true) { row in try body(Output.next(of: &row)) }
  }
}

extension SelectStatement {
  /// The query's SQL, with `?` for every value. One that can't be run gives a comment that says why.
  public var sql: String {
    do { return try rendered().sql } catch { return SqlError.comment(error) }
  }

  /// The values that take the place of `?`, in order; empty for a query that can't be run.
  public var bindings: [SqlStorage] { (try? rendered().bindings) ?? [] }

  private func rendered() throws -> (sql: String, bindings: [SqlStorage]) {
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer())
    // It owns memory that is reached by its address only.
    return try withExtendedLifetime(parameters) {
      try SelectWriter(sql: sql, parameters: parameters).write(query)
      return (sql.text, parameters.parameters.compactMap { SqlStorage($0) })
    }
  }
}

extension SqliteDatabase {
  /// Calls `body` with each row of a query, until it says stop.
  func read(_ query: SelectQuery, isLoop: Bool = false, _ body: (inout ResultRow) throws -> Iteration) throws {
    let (reading, types) = try beginReading(query, isLoop: isLoop)
    defer { endReading(reading) }
    try types.withUnsafeBufferPointer { types in
      guard let types = types.baseAddress else { return }
      while try reading.step() {
        var row = ResultRow(reading.row, types: types)
        if try body(&row) == .stop { return }
      }
    }
  }

  /// A query, compiled, bound and ready for its first step, with the types of its columns.
  func beginReading(_ query: SelectQuery, isLoop: Bool = false) throws -> (Reading, types: [ColumnType?]) {
    try enter()
    do {
      let connection = try openConnection()
      try checkTransactionIsAlive(connection)
      let mark = connection.parameters.mark
      let statement = try connection.prepared(since: mark) {
        connection.sql.truncate()
        try SelectWriter(sql: connection.sql, parameters: connection.parameters).write(query)
        return try connection.prepareBuffered()
      }
      let (identities, types) = query.layout
      statement.setColumns(identities)
      return (reading(statement, isLoop: isLoop), types)
    } catch {
      unlockAndDeliver()
      throw error
    }
  }
}

extension SelectQuery {
  /// The columns of the result, and how their values are stored.
  fileprivate var layout: (identities: [UnsafeRawPointer], types: [ColumnType?]) {
    var identities: [UnsafeRawPointer] = []
    var types: [ColumnType?] = []
    for result in results {
      switch result {
      case .term(let term):
        identities.append(Column.unknown.identity)
        types.append(term.columnDefinition?.type)
      case .model(let index):
        for column in sources[index].table.columns {
          identities.append(column.identity)
          types.append(column.type)
        }
      }
    }
    return (identities, types)
  }
}
