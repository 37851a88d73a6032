extension Statement {
  /// True if the statement changes nothing.
  public var isReadOnly: Bool { !tree.changesRows }

  public func requests() throws -> [SqlRequest] {
    let hasRowId = try !tree.table.isWithoutRowid
    return try (0..<(tree.takesRows ? rows.count : 1)).map { index in
      var request = SqlRequest(try withValues(row: index, isRemote: true), isReadOnly: isReadOnly)
      request.hasRowId = hasRowId
      return request
    }
  }

  public func run(over transport: some SqlTransport) async throws -> Output {
    let requests = try sentRequests()
    if tree.isUpsert, !tree.isSave, !Library.hasReturning, Output.self == Int.self || Output.self == [Int].self {
      // Without RETURNING, only a handle can look up the id of the updated row.
      throw SqlError.misuse(Library.needed(for: "returning the id of an upsert on a remote database", since: 35))
    }
    let returnsRows = Output.self == [Model].self || Output.self == Model?.self
    let answers =
      requests.isEmpty
      ? []
      : returnsRows
        ? try await transport.answers(to: requests, of: self) { _ = try models($0, requests) }
        : try await transport.answers(to: requests)
    guard answers.count == requests.count else { throw SqlError.withoutAnswer }
    if Output.self == [Model].self { return try identical(models(answers, requests)) }
    if Output.self == Model?.self { return try identical(models(answers, requests).first) }
    if Output.self == Bool.self { return try identical(answers.first?.integer != 0) }
    if Output.self == [Int].self { return try identical(answers.indices.map { try id(answers[$0], row: $0) }) }
    guard let answer = answers.first else { throw SqlError.withoutResult(of: Output.self) }
    switch tree {
    case .select: return try identical(answer.integer)
    case .insert(let query) where query.form != .query: return try identical(id(answer, row: 0))
    case .insert, .update, .delete: return try identical(answer.changes)
    }
  }

  private func models(_ answers: [SqlAnswer], _ requests: [SqlRequest]) throws -> [Model] {
    let layout = try layout
    return try zip(answers, requests).flatMap { answer, request in
      try ReceivedRows(answer: answer, sql: request.sql).map(.positioned(layout)) { try $0.model() }
    }
  }

  package var layout: ResultLayout {
    get throws { ResultLayout(try tree.table.columns.map { ResultColumn($0) }) }
  }

  /// Returns the id of an inserted row, which is the id that a run on a handle returns.
  private func id(_ answer: SqlAnswer, row index: Int) throws -> Int {
    if case .integer(let id)? = answer.rows.first?.first { return Int(id) }
    let query = try insertQuery
    let id = answer.changes > 0 ? answer.lastInsertedId : 0
    let buffer = ParameterBuffer()
    var writer = RowWriter(table: query.table, buffer: buffer, written: tree.writtenColumns)
    return try withExtendedLifetime(buffer) {
      guard try rows.take(index, into: &writer), let key = query.integerKey(of: writer.values) else { return id }
      return id != 0 || tree.isSave || (query.table.isWithoutRowid && answer.changes > 0) ? key : 0
    }
  }
}

extension Select: Runnable {
  public var isReadOnly: Bool { true }

  @_disfavoredOverload
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> [Row] {
    let reading = try db.beginReading(query)
    defer { db.endReading(reading.rows) }
    return try reading.all(read)
  }

  public func requests() throws -> [SqlRequest] {
    [SqlRequest(try query.withValues(isRemote: true), isReadOnly: true)]
  }

  public func run(over transport: some SqlTransport) async throws -> [Row] {
    let request = try sentRequests()[0]
    return try rows(of: ReceivedRows(answer: try await transport.answer(to: request), sql: request.sql))
  }

  package func rows(of received: ReceivedRows) throws -> [Row] {
    let layout = ResultLayout(query.clauses.columns)
    return try received.map(.positioned(layout)) { row in
      var row = ResultRow(row, types: layout.types)
      return try read(&row)
    }
  }
}

extension ScalarQuery: Runnable, WrappingWork {
  package var wrapped: Select<Value> { select }

  /// The values bound to each `?`, in order. Empty if the query can't be run.
  public var bindings: [DatabaseValue] { select.bindings }

  @_disfavoredOverload
  public func run(_ db: SqliteDatabase) throws -> Value { try select.run(db).only() }

  public func run(over transport: some SqlTransport) async throws -> Value {
    try await select.run(over: transport).only()
  }
}

struct RowCount<Row>: Runnable {
  let query: Select<Row>

  var sql: String { query.counting.sql }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] { try query.counting.requests() }
  func run(_ db: SqliteDatabase) throws -> Int { try query.counting.run(db).first ?? 0 }
  func run(over transport: some SqlTransport) async throws -> Int {
    try await query.counting.run(over: transport).first ?? 0
  }
}

extension Select {
  var counting: SqlRows<Int> { SQL("SELECT count(*) FROM (\(alone: query))").rows(as: Int.self) }
}

extension SelectStatement {
  /// Reads the first row; returns nil if there is no row.
  @_disfavoredOverload
  public func first(_ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line) throws -> Row? {
    try db.run(asSelect().first(), file: file, line: line)
  }

  /// Reads the first row's value; returns nil if the value is NULL or there is no row.
  public func first<Wrapped>(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Wrapped? where Row == Wrapped? {
    try db.run(asSelect().first(), file: file, line: line)
  }

  /// Returns the number of rows: `SELECT count(*) FROM (SELECT …)`. The query's limit applies.
  public func count(_ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line) throws -> Int {
    try db.run(RowCount(query: asSelect()), file: file, line: line)
  }

  /// Returns the number of rows: `SELECT count(*) FROM (SELECT …)`. The query's limit applies.
  public func count(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Int {
    try await db.run(RowCount(query: asSelect()), file: file, line: line)
  }
}

extension SelectStatement where Row: Sendable {
  /// Reads the first row; returns nil if there is no row.
  @_disfavoredOverload
  public func first(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Row? {
    try await db.run(asSelect().first(), file: file, line: line)
  }

  /// Reads the first row's value; returns nil if the value is NULL or there is no row.
  public func first<Wrapped>(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Wrapped? where Row == Wrapped? {
    try await db.run(asSelect().first(), file: file, line: line)
  }
}

extension Returning: Runnable, WrappingWork {
  package var wrapped: Statement<Model, [Model]> { change }

  /// Runs the change as one write. If a returned value does not fit its type, the change is rolled back.
  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [Row] {
    let layout = layout
    var rows: [Row] = []
    try change.returned(db, change.tree.table) { statement in
      statement.expect(layout)
    } read: { statement in
      var row = ResultRow(ReadRow(statement), types: layout.types)
      rows.append(try read(&row))
    }
    return rows
  }

  public func run(over transport: some SqlTransport) async throws -> [Row] {
    let requests = try sentRequests()
    let answers =
      requests.isEmpty
      ? [] : try await transport.answers(to: requests, of: self) { _ = try rows(of: $0, requests) }
    return try rows(of: answers, requests)
  }

  private func rows(of answers: [SqlAnswer], _ requests: [SqlRequest]) throws -> [Row] {
    guard answers.count == requests.count else { throw SqlError.withoutAnswer }
    let layout = layout
    return try zip(answers, requests).flatMap { answer, request in
      try ReceivedRows(answer: answer, sql: request.sql).map(.positioned(layout)) { row in
        var row = ResultRow(row, types: layout.types)
        return try read(&row)
      }
    }
  }
}
