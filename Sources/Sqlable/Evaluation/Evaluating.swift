// Evaluates statements and queries on structs. During an evaluation, the structs are rows of a database in memory.

import SqlableCore

extension Statement {
  /// Returns the result that the read would have, if its table had these rows.
  ///
  /// ```swift
  /// let reds = try Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.name).evaluate(over: bikes)
  /// ```
  ///
  /// SQLite evaluates the statement. Rows that ORDER BY does not distinguish keep the order of `rows`. Each row is
  /// converted to the values that an insert would store, and `init(row:)` reads the result.
  ///
  /// Throws the errors of running the statement, and `.invalidStatement` for a change.
  public func evaluate(over rows: some Sequence<Model>) throws -> Output {
    try evaluated(over: try tables(rows)) { try $0.run($1) }
  }

  /// Returns the result that the read would have in a database with these tables.
  public func evaluate(over tables: MemoryTables) throws -> Output { try evaluated(over: tables) { try $0.run($1) } }
}

extension SelectStatement {
  /// Returns the rows that the query would return, if the database had these tables.
  ///
  /// ```swift
  /// let tables = try MemoryTables(bikes, persons)
  /// let owned = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).evaluate(over: tables)
  /// ```
  ///
  /// SQLite evaluates the query. Rows that ORDER BY does not distinguish are sorted by their place in the first table,
  /// then by their place in the second table, and so on. Groups, distinct rows and combined queries have no such order.
  ///
  /// Throws the errors of running the query, such as `.schema` for a table that is missing.
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
  /// Adds the rowids to the query's ORDER BY, so that rows with equal terms keep the order of their tables.
  fileprivate mutating func prepareForEvaluation() throws {
    guard table.database == nil else {
      throw SqlError.invalidStatement(
        "only tables of the main database can be evaluated without a database; run the query on a handle"
      )
      .at(table: table.name)
    }
    guard form == .rows, !isPlain else { return }
    let clauses = clauses
    guard clauses.compounds.isEmpty, clauses.groups.isEmpty, !clauses.isDistinct, !clauses.hasAggregates else { return }
    self.clauses.order += clauses.sources.compactMap(\.rowid).map { OrderTerm(expression: $0, direction: .asc) }
  }
}

extension SelectQuery.Source {
  /// The rowid as a term; nil if the source is not a table.
  fileprivate var rowid: SqlExpression? {
    guard kind == .table, let rowid = String.rowidName(avoiding: table.columns.map(\.name)) else { return nil }
    let text = Array("\(name.quotedName).\(rowid)".utf8)
    return SqlExpression(.special(.init(form: .fragment(.init(texts: [text], hasQuery: false)), terms: [])))
  }
}
