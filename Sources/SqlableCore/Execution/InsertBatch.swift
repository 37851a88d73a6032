/// The inserts of one run of a statement. Rows that set the same columns share one compiled statement.
struct InsertBatch {
  private let query: InsertQuery
  private let table: TableInfo
  private let connection: Connection
  /// True if the caller chose the columns. A statement then binds only the values of these columns, in their order.
  private let hasChosenColumns: Bool
  /// The compiled statements for different sets of columns, latest first. Rows can leave out different columns.
  private var shapes: [(columns: UInt64, statement: PreparedStatement)] = []
  private static let maximumShapes = 8

  init(query: InsertQuery, table: TableInfo, connection: Connection) {
    self.query = query
    self.table = table
    self.connection = connection
    hasChosenColumns = !query.rest.isDefault && query.rest.value.columns != nil
  }

  mutating func insert(_ row: RowValues) throws -> Int {
    try connection.checkInterruption()
    let statement = try statement(for: row)
    defer { statement.rewind() }
    return try connection.insert(statement, query, row: row)
  }

  /// Returns the statement for the row's columns, with the values bound.
  private mutating func statement(for row: RowValues) throws -> PreparedStatement {
    let columns = hasChosenColumns ? nil : row.shape
    if let columns, let known = shapes.first(where: { $0.columns == columns })?.statement {
      var index: Int32 = 0
      try known.bindInsert(row, after: &index)
      return known
    }
    if columns == nil { finish() }
    let new = try connection.prepared(.insert(query), table: table, row: row)
    // Without a mark, finishing the statement does not release the values, which belong to the row.
    new.mark = nil
    return keep(new, columns ?? 0)
  }

  private mutating func keep(_ statement: PreparedStatement, _ shape: UInt64) -> PreparedStatement {
    while shapes.count >= InsertBatch.maximumShapes { connection.finish(shapes.removeLast().statement) }
    shapes.insert((shape, statement), at: 0)
    return statement
  }

  mutating func finish() {
    for (_, statement) in shapes { connection.finish(statement) }
    shapes = []
  }
}

extension Connection {
  /// Runs a bound insert. Returns the integer key of the inserted or updated row, otherwise the row's rowid; 0 if the
  /// row has neither.
  func insert(
    _ statement: PreparedStatement, _ query: InsertQuery, row: RowValues
  ) throws -> Int {
    try insert(statement, key: query.integerKey(of: row), isSave: query.form == .save, table: query.table) {
      query.isUpsert ? try idOfUpdatedRow(query, row) : nil
    }
  }

  /// - Parameters:
  ///   - key: The integer key that the insert stores, if any.
  ///   - updated: Returns the id of the row that an upsert has updated. Called if SQLite lacks RETURNING.
  @inline(__always)
  func insert(
    _ statement: PreparedStatement, key: Int?, isSave: Bool, table: TableInfo, updated: () throws -> Int64?
  ) throws -> Int {
    // Reset the id, because a statement that inserts nothing would leave the id of an earlier insert.
    lastInsertedId = 0
    var returned: Int64?
    while try statement.stepWithoutRow() { returned = statement.integer(at: 0) }
    if let returned { return Int(returned) }
    let id = lastInsertedId
    if id == 0, !Library.hasReturning, changes > 0, let id = try updated() { return Int(id) }
    guard let key else { return Int(id) }
    // Saving an existing row that has only key columns changes nothing, but the row exists, so its key is returned.
    return id != 0 || isSave || (table.isWithoutRowid && changes > 0) ? key : 0
  }

  @inline(never)
  func idOfUpdatedRow(_ tree: StatementTree, _ row: RowValues) throws -> Int64? {
    guard case .insert(let query) = tree else { return nil }
    return try idOfUpdatedRow(query, row)
  }

  /// Finds the row that an upsert has updated, and returns its id. Called only if SQLite lacks RETURNING.
  private func idOfUpdatedRow(_ query: InsertQuery, _ row: RowValues) throws -> Int64 {
    let table = query.table
    guard !table.isWithoutRowid || table.hasIntegerKey else { return 0 }
    let mark = parameters.mark
    let statement = try prepared(since: mark) {
      try StatementWriter(table: table, sql: sql, parameters: parameters).writeLookup(query, row)
      return try prepareBuffered()
    }
    defer { finish(statement) }
    return try statement.step() ? statement.integer(at: 0) : 0
  }
}

extension InsertQuery {
  /// Returns the integer key that the insert stores, if any. In a table created by SQL, the key might not be the rowid.
  func integerKey(of row: RowValues) -> Int? {
    guard table.key.count == 1, case .integer(let key) = row[table.key[0]] else { return nil }
    guard !rest.isDefault, let columns = rest.value.columns else { return Int(key) }
    let name = table.columns[table.key[0]].name
    return columns.contains { $0.name.isExactly(name) } ? Int(key) : nil
  }
}
