// Statements and queries evaluated on structs in memory, with SQL's rules and without a database.

extension Statement where Output == [Model] {
  /// Returns the rows that the read would return, if its table had these rows.
  ///
  /// ```swift
  /// let reds = try Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.name).evaluate(over: bikes)
  /// ```
  ///
  /// The values follow SQLite's rules: three-valued logic, affinities, collations, integer overflow. Rows that the
  /// order does not distinguish keep the order of `rows`; SQLite's is undefined. Each row is converted to the values
  /// that an insert would store, and the result is read by `init(row:)`, as from a database.
  ///
  /// Before it reads a row, it throws `.invalidStatement` for a term that is not evaluated in memory, such as a window
  /// or full-text search, and what running the statement would throw before SQLite sees it.
  public func evaluate(over rows: some Sequence<Model>) throws -> [Model] {
    try models(try tables(rows))
  }
}

extension Statement where Output == Model? {
  /// Returns the row that the read would return, if its table had these rows; nil if there is none.
  public func evaluate(over rows: some Sequence<Model>) throws -> Model? {
    try models(try tables(rows)).first
  }

  /// Returns the row that the read would return, if the database had these tables; nil if there is none.
  public func evaluate(over tables: MemoryTables) throws -> Model? {
    try models(tables).first
  }
}

extension Statement where Output == Int {
  /// Returns the number of rows that the count would return, if its table had these rows.
  public func evaluate(over rows: some Sequence<Model>) throws -> Int { try evaluation.rows(try tables(rows)).count }

  /// Returns the number of rows that the count would return, if the database had these tables.
  public func evaluate(over tables: MemoryTables) throws -> Int { try evaluation.rows(tables).count }
}

extension Statement where Output == Bool {
  /// Returns whether there would be such a row, if the table had these rows.
  public func evaluate(over rows: some Sequence<Model>) throws -> Bool {
    try !evaluation.rows(try tables(rows)).isEmpty
  }

  /// Returns whether there would be such a row, if the database had these tables.
  public func evaluate(over tables: MemoryTables) throws -> Bool { try !evaluation.rows(tables).isEmpty }
}

extension SelectStatement {
  /// Returns the rows that the query would return, if the database had these tables.
  ///
  /// ```swift
  /// let tables = try MemoryTables(bikes, persons)
  /// let owned = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).evaluate(over: tables)
  /// ```
  ///
  /// Rows that the order does not distinguish keep the order of the tables, the first table's rows first; groups that
  /// of their first rows. Before it reads a row, it throws `.invalidStatement` for a term that is not evaluated in
  /// memory, and `.schema` for a table that is missing.
  public func evaluate(over tables: MemoryTables) throws -> [Row] {
    let select = asSelect()
    let evaluation = MemoryEvaluation(select.query, sql: try select.query.withValues().sql)
    let layout = ResultLayout(select.query.clauses.columns)
    return try evaluation.read(tables, layout) { row in
      var row = ResultRow(row, types: layout.types)
      return try select.read(&row)
    }
  }
}

extension Statement {
  /// The read that it is. Throws for a change, and what running the statement would throw before SQLite sees it.
  fileprivate var evaluation: MemoryEvaluation {
    get throws {
      let sql = try withValues().sql
      guard case .select(let query) = tree else {
        throw MemoryPlanner.refusal("a change").at(table: tree.tableInfo.name)
      }
      return MemoryEvaluation(query, sql: sql)
    }
  }

  fileprivate func models(_ tables: MemoryTables) throws -> [Model] {
    try evaluation.read(tables, try layout) { try $0.model() }
  }

  fileprivate func tables(_ rows: some Sequence<Model>) throws -> MemoryTables {
    var tables = try MemoryTables()
    try tables.insert(rows, into: try tree.table)
    return tables
  }
}

/// A query to evaluate in memory.
private struct MemoryEvaluation {
  private let query: SelectQuery
  /// Its SQL, for errors.
  private let sql: String

  init(_ query: SelectQuery, sql: String) {
    self.query = query
    self.sql = sql
  }

  func rows(_ tables: MemoryTables) throws -> [[MemoryValue]] {
    try withSQL { try MemoryPlanner(tables: tables).query(query.clauses, outer: nil).rows(nil) }
  }

  /// Reads the rows like those of a remote database.
  func read<Row>(_ tables: MemoryTables, _ layout: ResultLayout, _ read: (ReadRow) throws -> Row) throws -> [Row] {
    let rows = try rows(tables)
    let answer = SqlAnswer(
      columns: query.clauses.resultNames, rows: try withSQL { try rows.map { try $0.map { try $0.databaseValue } } })
    return try ReceivedRows(answer: answer, sql: sql).map(.positioned(layout), read)
  }

  /// Adds the SQL to errors.
  private func withSQL<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch var error as SqlError {
      error.sql = error.sql ?? sql
      throw error
    }
  }
}
