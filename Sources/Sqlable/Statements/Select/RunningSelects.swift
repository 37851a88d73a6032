// How queries are run. The loops over rows are inlinable: in the module of the caller they become loops without dynamic calls.

extension Select {
  /// Reads the rows, each a tuple.
  ///
  /// Throws `.schema` when table or column is missing, `.decoding` when a value does not fit its type.
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> [(repeat each Output)] {
    let reading = try db.beginReading(query)
    defer { db.endReading(reading.rows) }
    var rows: [(repeat each Output)] = []
    while try reading.rows.step() {
      var row = reading.row
      rows.append((repeat try (each Output).next(of: &row)))
    }
    return rows
  }

  /// Reads the first row, or nil when there is none.
  @inlinable
  public func first(_ db: SqliteDatabase) throws -> (repeat each Output)? {
    let reading = try db.beginReading(query.first)
    defer { db.endReading(reading.rows) }
    guard try reading.rows.step() else { return nil }
    var row = reading.row
    return (repeat try (each Output).next(of: &row))
  }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  @inlinable
  public func forEach(_ db: SqliteDatabase, _ body: (repeat each Output) throws -> Iteration) throws {
    let reading = try db.beginReading(query, isLoop: true)
    defer { db.endReading(reading.rows) }
    while try reading.rows.step() {
      var row = reading.row
      if try body(repeat (each Output).next(of: &row)) == .stop { return }
    }
  }
}

extension SingleSelect {
  /// Reads the rows.
  ///
  /// Throws `.schema` when table or column is missing, `.decoding` when a value does not fit its type.
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> [Output] {
    let reading = try db.beginReading(query)
    defer { db.endReading(reading.rows) }
    var rows: [Output] = []
    while try reading.rows.step() {
      var row = reading.row
      rows.append(try Output.next(of: &row))
    }
    return rows
  }

  /// Reads the first row, or nil when there is none.
  @inlinable
  public func first(_ db: SqliteDatabase) throws -> Output? {
    let reading = try db.beginReading(query.first)
    defer { db.endReading(reading.rows) }
    guard try reading.rows.step() else { return nil }
    var row = reading.row
    return try Output.next(of: &row)
  }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  @inlinable
  public func forEach(_ db: SqliteDatabase, _ body: (Output) throws -> Iteration) throws {
    let reading = try db.beginReading(query, isLoop: true)
    defer { db.endReading(reading.rows) }
    while try reading.rows.step() {
      var row = reading.row
      if try body(Output.next(of: &row)) == .stop { return }
    }
  }
}

extension SelectStatement {
  /// How many rows the query has: `SELECT count(*) FROM (SELECT …)`. With a limit, of those within it.
  public func count(_ db: SqliteDatabase) throws -> Int {
    try db.query("SELECT count(*) FROM (\(self))", as: Int.self).first ?? 0
  }

  /// The query's SQL, with `?` for every value. One that can't be run gives a comment that says why.
  public var sql: String {
    do { return try query.rendered().sql } catch { return SqlError.comment(error) }
  }

  /// The values that take the place of `?`, in order; empty for a query that can't be run.
  public var bindings: [SqlStorage] { (try? query.rendered().bindings) ?? [] }
}

extension SelectQuery {
  func rendered() throws -> (sql: String, bindings: [SqlStorage]) {
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer())
    // It owns memory that is reached by its address only.
    return try withExtendedLifetime(parameters) {
      try SelectWriter(sql: sql, parameters: parameters).write(self)
      return (sql.text, parameters.parameters.compactMap { SqlStorage($0) })
    }
  }

  /// The query of the first row only.
  @usableFromInline var first: SelectQuery {
    var query = self
    query.clauses.limit = query.clauses.limit.map { min($0, 1) } ?? 1
    return query
  }
}

// MARK: - The steps, the same for all rows

/// A query whose rows are being read, with the handle's lock held.
@usableFromInline
struct SelectReading {
  @usableFromInline let rows: Reading
  @usableFromInline let types: UnsafePointer<ColumnType?>

  /// The row that it stands on, from its first column on.
  @inlinable
  @inline(__always)
  var row: ResultRow { ResultRow(rows.row, types: types) }
}

extension SqliteDatabase {
  /// A query, compiled, bound and ready for its first step.
  @usableFromInline
  func beginReading(_ query: SelectQuery, isLoop: Bool = false) throws -> SelectReading {
    try enter()
    do {
      let connection = try openConnection()
      try checkTransactionIsAlive(connection)
      let (statement, layout) = try connection.prepared(query)
      statement.expect(layout)
      return SelectReading(rows: reading(statement, isLoop: isLoop), types: layout.types)
    } catch {
      unlockAndDeliver()
      throw error
    }
  }
}

extension Connection {
  /// The compiled statement of a query, with its values bound, and what its rows are like.
  fileprivate func prepared(_ query: SelectQuery) throws -> (PreparedStatement, ResultLayout) {
    let mark = parameters.mark
    let hasShape = ShapeWriter(key: sql, parameters: parameters).write(query)
    if !hasShape { parameters.drop(since: mark) }
    let statement = try prepared(since: mark) {
      guard hasShape else {
        sql.truncate()
        try SelectWriter(sql: sql, parameters: parameters).write(query)
        return try prepareBuffered()
      }
      return try prepareBuffered {
        parameters.drop(since: mark)
        sql.truncate()
        try SelectWriter(sql: sql, parameters: parameters).write(query)
      }
    }
    // Queries of one text may be of several models; those of one shape are of the same.
    if hasShape, let layout = statement.layout { return (statement, layout) }
    return (statement, ResultLayout(query))
  }
}

extension ResultLayout {
  convenience init(_ query: SelectQuery) {
    var identities: [UnsafeRawPointer] = []
    var types: [ColumnType?] = []
    for result in query.clauses.results {
      switch result {
      case .term(let term):
        identities.append(Column.unknown.identity)
        types.append(term.columnDefinition?.type)
      case .model(let index, _):
        for column in query.clauses.sources[index].table.columns {
          identities.append(column.identity)
          types.append(column.type)
        }
      }
    }
    for _ in query.clauses.rows.first ?? [] {
      identities.append(Column.unknown.identity)
      types.append(nil)
    }
    self.init(identities, types: types)
  }
}
