// Running queries. Inlinable loops over rows are specialized in the caller's module and make no dynamic calls.

extension Select {
  /// Runs the query on a handle; the compiler warns if the result is not used.
  @inlinable
  public func run(_ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line) throws -> [Row] {
    try db.run(self, file: file, line: line)
  }

  /// Reads one row after another without keeping them, until `body` returns ``Iteration/stop``.
  @inlinable
  public func forEach(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line, _ body: (Row) throws -> Iteration
  ) throws {
    let isTraced = try db.beginCall(file, line)
    defer { if isTraced { db.endCall() } }
    let reading = try db.beginReading(query, isLoop: true)
    defer { db.endReading(reading.rows) }
    try reading.forEach(read, body)
  }
}

extension SelectStatement {
  /// Reads the first row; returns nil if there is no row.
  @_disfavoredOverload
  @inlinable
  public func first(_ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line) throws -> Row? {
    try firstRow(db, file, line)
  }

  /// Reads the first row's value; returns nil if the value is NULL or there is no row.
  @inlinable
  public func first<Wrapped>(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Wrapped? where Row == Wrapped? {
    try firstRow(db, file, line) ?? nil
  }

  @inlinable
  func firstRow(_ db: SqliteDatabase, _ file: StaticString, _ line: UInt) throws -> Row? {
    let isTraced = try db.beginCall(file, line)
    defer { if isTraced { db.endCall() } }
    let select = asSelect()
    let reading = try db.beginReading(select.query.first)
    defer { db.endReading(reading.rows) }
    return try reading.next(select.read)
  }
}

// MARK: - Reads of models; the compiler warns if a result is not used

extension Statement where Output == [Model] {
  /// Runs the statement on a handle; the compiler warns if the result is not used.
  @inlinable
  public func run(_ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line) throws -> [Model] {
    try db.run(self, file: file, line: line)
  }
}

extension Statement where Output == Model? {
  /// Runs the statement on a handle; the compiler warns if the result is not used.
  @inlinable
  public func run(_ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line) throws -> Model? {
    try db.run(self, file: file, line: line)
  }
}

extension Statement where Output == Bool {
  /// Runs the statement on a handle; the compiler warns if the result is not used.
  @inlinable
  public func run(_ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line) throws -> Bool {
    try db.run(self, file: file, line: line)
  }
}

// MARK: - Steps shared by all rows

/// A running query; the handle's lock is held.
@usableFromInline
package struct SelectReading {
  @usableFromInline package let rows: StatementRun
  @usableFromInline let types: UnsafePointer<ColumnType?>

  @inlinable
  init(rows: StatementRun, types: UnsafePointer<ColumnType?>) {
    self.rows = rows
    self.types = types
  }

  @inlinable
  package func next<Row>(_ read: (inout ResultRow) throws -> Row) throws -> Row? {
    try rows.step() ? try current(read) : nil
  }

  @inlinable
  func current<Row>(_ read: (inout ResultRow) throws -> Row) throws -> Row {
    var row = ResultRow(rows.row, types: types)
    return try read(&row)
  }

  @inlinable
  func all<Row>(_ read: (inout ResultRow) throws -> Row) throws -> [Row] {
    var all: [Row] = []
    while let row = try next(read) { all.append(row) }
    return all
  }

  @inlinable
  func forEach<Row>(_ read: (inout ResultRow) throws -> Row, _ body: (Row) throws -> Iteration) throws {
    while let row = try next(read) {
      if try body(row) == .stop { return }
    }
  }
}

extension SqliteDatabase {
  @usableFromInline
  package func beginReading(_ query: SelectQuery, isLoop: Bool = false) throws -> SelectReading {
    var types: UnsafePointer<ColumnType?>?
    let rows = try reading(isLoop: isLoop) { connection in
      let (statement, layout) = try connection.prepared(query)
      statement.expect(layout)
      types = layout.types
      return statement
    }
    return SelectReading(rows: rows, types: types.unsafelyUnwrapped)
  }

  /// Starts a read by an integer key. Retains neither the table nor the connection.
  func beginReading(_ read: IntegerKeyRead, isLoop: Bool) throws -> StatementRun {
    try read.table._withUnsafeGuaranteedRef { try $0.checkDeclarations() }
    return try reading(of: read.table.takeUnretainedValue(), isLoop: isLoop) { connection in
      let statement = try connection.prepared(read)
      read.table._withUnsafeGuaranteedRef { statement.expectColumns($0.identities, count: $0.count) }
      return statement
    }
  }

  /// Starts a read that decodes rows as these columns, whatever names the query uses.
  package func beginReading(_ query: SelectQuery, as columns: [ResultColumn]) throws -> StatementRun {
    try reading { connection in
      let statement = try connection.prepared(query, of: .query).statement
      statement.expect(ResultLayout(columns))
      return statement
    }
  }
}

extension Connection {
  /// Returns the compiled statement of a query, with its values bound, and the layout of its rows.
  fileprivate func prepared(_ query: SelectQuery) throws -> (PreparedStatement, ResultLayout) {
    let (statement, hasKey) = try prepared(query, of: .query)
    // Without a cache key, don't reuse the layout: queries with the same SQL can read different models. Queries with
    // the same cache key read the same models.
    if hasKey, let layout = statement.layout { return (statement, layout) }
    return (statement, ResultLayout(query.clauses.columns))
  }
}
