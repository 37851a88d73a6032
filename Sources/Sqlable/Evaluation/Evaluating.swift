// Statements and queries evaluated on structs, which become the rows of a database in memory for as long as it takes.

import SqlableCore

extension Statement where Output == [Model] {
  /// Returns the rows that the read would return, if its table had these rows.
  ///
  /// ```swift
  /// let reds = try Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.name).evaluate(over: bikes)
  /// ```
  ///
  /// SQLite evaluates it. Rows that the order does not distinguish keep the order of `rows`. Each row is converted to
  /// the values that an insert would store, and the result is read by `init(row:)`.
  ///
  /// Throws what running the statement throws, and `.invalidStatement` for a change.
  public func evaluate(over rows: some Sequence<Model>) throws -> [Model] {
    try evaluated(over: try tables(rows)) { try $0.run($1) }
  }
}

extension Statement where Output == Model? {
  /// Returns the row that the read would return, if its table had these rows; nil if there is none.
  public func evaluate(over rows: some Sequence<Model>) throws -> Model? {
    try evaluated(over: try tables(rows)) { try $0.run($1) }
  }

  /// Returns the row that the read would return, if the database had these tables; nil if there is none.
  public func evaluate(over tables: MemoryTables) throws -> Model? { try evaluated(over: tables) { try $0.run($1) } }
}

extension Statement where Output == Int {
  /// Returns the number of rows that the count would return, if its table had these rows.
  public func evaluate(over rows: some Sequence<Model>) throws -> Int {
    try evaluated(over: try tables(rows)) { try $0.run($1) }
  }

  /// Returns the number of rows that the count would return, if the database had these tables.
  public func evaluate(over tables: MemoryTables) throws -> Int { try evaluated(over: tables) { try $0.run($1) } }
}

extension Statement where Output == Bool {
  /// Returns whether there would be such a row, if the table had these rows.
  public func evaluate(over rows: some Sequence<Model>) throws -> Bool {
    try evaluated(over: try tables(rows)) { try $0.run($1) }
  }

  /// Returns whether there would be such a row, if the database had these tables.
  public func evaluate(over tables: MemoryTables) throws -> Bool { try evaluated(over: tables) { try $0.run($1) } }
}

extension SelectStatement {
  /// Returns the rows that the query would return, if the database had these tables.
  ///
  /// ```swift
  /// let tables = try MemoryTables(bikes, persons)
  /// let owned = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).evaluate(over: tables)
  /// ```
  ///
  /// SQLite evaluates it. Rows that the order does not distinguish keep the order of the tables, the first table's rows
  /// first, unless they are groups, distinct, or of combined queries.
  ///
  /// Throws what running the query throws, such as `.schema` for a table that is missing.
  public func evaluate(over tables: MemoryTables) throws -> [Row] {
    var select = asSelect()
    try select.query.prepareForEvaluation()
    return try tables.reading { try select.run($0) }
  }
}

extension Statement {
  fileprivate func tables(_ rows: some Sequence<Model>) throws -> MemoryTables {
    var tables = try MemoryTables()
    try tables.insert(rows, into: try tree.table)
    return tables
  }

  fileprivate func evaluated<Result>(
    over tables: MemoryTables, _ run: (Statement, SqliteDatabase) throws -> Result
  ) throws -> Result {
    guard case .select(var query) = tree else {
      throw SqlError.invalidStatement(
        "only a query can be evaluated without a database; run the change on SqliteDatabase.inMemory()"
      )
      .at(table: tree.tableInfo.name)
    }
    try query.prepareForEvaluation()
    var read = self
    read.tree = .select(query)
    return try tables.reading { try run(read, $0) }
  }
}

extension SelectQuery {
  /// Orders rows that compare as equal in the query's own order as their tables have them.
  fileprivate mutating func prepareForEvaluation() throws {
    guard table.database == nil else {
      throw SqlError.invalidStatement("a query of an attached database can't be evaluated without a database")
        .at(table: table.name)
    }
    guard form == .rows, !isPlain else { return }
    let clauses = clauses
    guard clauses.compounds.isEmpty, clauses.groups.isEmpty, !clauses.isDistinct, !clauses.hasAggregates else { return }
    self.clauses.order += clauses.sources.compactMap(\.rowid).map { OrderTerm(expression: $0, direction: .asc) }
  }
}

extension SelectQuery.Source {
  /// The number of a row in its table; nil for rows that are not of a table.
  fileprivate var rowid: SqlExpression? {
    guard kind == .table, let rowid = String.rowidName(avoiding: table.columns.map(\.name)) else { return nil }
    let text = Array("\(name.quotedName).\(rowid)".utf8)
    return SqlExpression(.special(.init(form: .fragment(.init(texts: [text], hasQuery: false)), terms: [])))
  }
}
