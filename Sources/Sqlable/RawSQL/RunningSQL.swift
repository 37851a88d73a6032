// Raw SQL: whatever the statements can't say, with values bound all the same.

extension SqliteDatabase {
  /// Runs SQL whose rows, if any, are of no interest; many statements may be given, separated by `;`.
  ///
  /// ```swift
  /// try db.execute("CREATE VIEW red AS SELECT * FROM bicycle WHERE color = 'red'")
  /// try db.execute("UPDATE bicycle SET color = \(color) WHERE id = \(id)")            // bound, never pasted
  /// ```
  ///
  /// Each statement stands for itself unless a transaction is open: after an error those before it stay done. BEGIN,
  /// COMMIT, END and ROLLBACK do what ``beginTransaction(_:)``, ``commitTransaction()`` and ``rollbackTransaction(_:)``
  /// do; savepoints are refused, since `transaction` has them.
  public func execute(_ sql: SQL) throws {
    try locked { do { try executeEach(sql) } catch { throw located(error, in: nil) } }
  }

  private func executeEach(_ sql: SQL) throws {
    if let failure = sql.failure { throw failure }
    let connection = try openConnection()
    try checkIsNotInFunction(connection)
    var text = sql.text
    try text.withUTF8 { text in
      var rest = text
      var bound = 0
      while !rest.isEmpty {
        // Before it is compiled: a DELETE compiled without the hook would not call it.
        observation?.refresh()
        try connection.checkBrake()
        let (statement, next) = try connection.compileFirst(rest)
        // The values that stand in the statement's text are its own.
        let end = statement == nil ? text.count : text.count - next.count
        let values = sql.arguments[bound...].prefix(sql.offsets[bound...].prefix { $0 < end }.count)
        guard let statement else { break }
        try statement.checkParameters(count: values.count)
        if try !runControl(statement) { try run(statement, binding: values) }
        bound = values.endIndex
        rest = next
      }
    }
  }

  /// Runs SQL text that was made at run time. Never make it of input from outside: nothing in it is bound.
  @_disfavoredOverload
  public func execute(_ sql: String) throws { try execute(SQL(verbatim: sql)) }

  /// The rows of a query as structs; the columns are found by their names, in any order, others are passed over.
  ///
  /// ```swift
  /// try db.query("SELECT * FROM bicycle WHERE id = \(id)", as: Bicycle.self)
  /// ```
  @inlinable
  public func query<Model: Sqlable>(_ sql: SQL, as model: Model.Type) throws -> [Model] {
    var models: [Model] = []
    try eachRow(of: sql, .named(TableInfo.of(model))) { models.append(try Model(row: $0)) }
    return models
  }

  /// The first column of a query's rows.
  ///
  /// ```swift
  /// try db.query("SELECT name FROM bicycle WHERE id = \(id)", as: String.self)
  /// ```
  @inlinable
  public func query<Value: SqlValue>(_ sql: SQL, as type: Value.Type) throws -> [Value] {
    try query(sql) { try $0.get(at: 0) }
  }

  /// The rows of a query as tuples of values, from the first column on; a model among them takes as many columns as it
  /// has, in their order.
  ///
  /// ```swift
  /// let counts = try db.query("SELECT color, count(*) FROM bicycle GROUP BY color", as: String.self, Int.self)
  /// ```
  ///
  /// Throws `.misuse` when the result has fewer columns.
  @inlinable
  public func query<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type
  ) throws -> [(First, Second, repeat each Output)] {
    var rows: [(First, Second, repeat each Output)] = []
    let layout = try ResultLayout(of: first, second, repeat each type)
    try eachRow(of: sql, .positioned(layout)) { row in
      var row = ResultRow(row, types: layout.types)
      rows.append((try First.next(of: &row), try Second.next(of: &row), repeat try (each Output).next(of: &row)))
    }
    return rows
  }

  /// The rows of a query, with all their columns.
  ///
  /// ```swift
  /// let rows = try db.query("SELECT * FROM \(table: name)", as: DynamicRow.self)
  /// ```
  public func query(_ sql: SQL, as type: DynamicRow.Type) throws -> [DynamicRow] {
    let layout = ResultLayout([])
    return try query(sql) { row in
      var row = ResultRow(row, types: layout.types)
      return try DynamicRow.next(of: &row)
    }
  }

  /// The rows of a query, each made into what `body` makes of it. When `body` throws, what the query wrote is undone.
  ///
  /// ```swift
  /// let counts = try db.query("SELECT color, count(*) FROM bicycle GROUP BY color") { row in
  ///   (color: try row.get(at: 0, as: String.self), count: try row.get(at: 1, as: Int.self))
  /// }
  /// ```
  @discardableResult
  @inlinable
  public func query<Result>(_ sql: SQL, _ body: (ReadRow) throws -> Result) throws -> [Result] {
    var results: [Result] = []
    try eachRow(of: sql, .unknown) { results.append(try body($0)) }
    return results
  }

  /// Runs a query and calls `body` with each of its rows.
  @usableFromInline
  func eachRow(of sql: SQL, _ columns: ExpectedColumns, _ body: (ReadRow) throws -> Void) throws {
    try running { connection in
      if let failure = sql.failure { throw failure }
      // What begins so is a key of the cache, not a text.
      guard sql.text.utf8.first != 0 else {
        throw SqlError.invalidStatement("the SQL text holds a NUL byte")
      }
      let mark = connection.parameters.mark
      // Before it is compiled: a DELETE compiled without the hook would not call it.
      observation?.refresh()
      let statement = try connection.prepared(since: mark) {
        connection.sql.begin()
        connection.sql.append(text: sql.text)
        for argument in sql.arguments { connection.parameters.append(argument) }
        return try connection.prepareBuffered()
      } check: { statement in
        try statement.checkParameters(count: sql.arguments.count)
        if !statement.isReadOnly { try checkIsNotInFunction(connection) }
        guard statement.controlKeyword == nil else {
          throw misuse("a query can't begin or end a transaction; execute(_:) can")
        }
      }
      defer { connection.finish(statement) }
      func readRows() throws {
        do {
          guard try statement.step() else { return }
          // After the first step: until then a schema change by another process goes unnoticed.
          try statement.expect(columns)
          repeat { try body(ReadRow(statement)) } while try statement.step()
        } catch {
          // A savepoint can't end while the statement writes.
          statement.rewind()
          throw error
        }
      }
      // RETURNING changes all rows before it gives the first, and they would stay changed when `body` throws.
      try run(statement, on: connection, atomically: statement.columnCount == 0, steps: readRows)
    }
  }

  // MARK: - The steps, with the lock held

  private func run(_ statement: PreparedStatement, binding values: ArraySlice<SQL.Argument>) throws {
    let connection = try openConnection()
    try checkTransactionIsAlive(connection)
    let mark = connection.parameters.mark
    statement.mark = mark
    defer { connection.finish(statement) }
    for argument in values { connection.parameters.append(argument) }
    try connection.bind(statement, since: mark)
    try run(statement, on: connection) { while try statement.step() {} }
  }

  /// Calls `steps` to run a statement: as a write, unless it changes nothing that is observed.
  private func run(
    _ statement: PreparedStatement, on connection: Connection, atomically isAtomic: Bool = true,
    steps: () throws -> Void
  ) throws {
    // A schema change moves key columns that observation has looked up. To be found out before the next write and not
    // now: a deferred transaction that reads first may not get to write.
    defer { noteSchemaChange(statement) }
    if statement.standsAlone {
      if !statement.isReadOnly, transactions.levels.isEmpty { try checkFile(connection) }
      return try steps()
    }
    try writing(on: connection, atomically: isAtomic, mayKeep: mayKeep(statement)) {
      let mark = observation?.mark ?? 0
      try steps()
      try forgetDroppedRows(statement, after: mark)
    }
  }

  /// Whether the statement may keep what it did before it failed, where somebody is to hear what it did.
  private func mayKeep(_ statement: PreparedStatement) -> Bool {
    observation?.isActive == true && statement.mayKeepWhatFailed
  }

  private func noteSchemaChange(_ statement: PreparedStatement) {
    guard let observation, statement.columnCount == 0 else { return }
    // To SQLite ATTACH is read-only.
    if !observation.isActive || statement.definesSchema {
      observation.otherSchemasDidChange()
    } else if !statement.isReadOnly {
      observation.schemaDidChange()
    }
  }

  /// To be called after a write, where it may have been DROP TABLE.
  private func forgetDroppedRows(_ statement: PreparedStatement, after mark: Int) throws {
    guard let observation, observation.mark > mark, statement.firstKeyword == "DROP" else { return }
    try observation.forgetRowsOfDroppedTables(after: mark)
  }

  /// Runs BEGIN, COMMIT and ROLLBACK by way of the handle's own books; false for any other statement.
  private func runControl(_ statement: PreparedStatement) throws -> Bool {
    guard let keyword = statement.controlKeyword else { return false }
    let words = statement.firstKeywords(3)
    switch keyword {
    case "BEGIN":
      guard transactionLevel == 0 else { throw misuse("BEGIN inside a transaction") }
      try beginTransaction(
        words.contains("IMMEDIATE") ? .immediate : words.contains("EXCLUSIVE") ? .exclusive : .deferred)
    case "COMMIT", "END": try commitTransaction()
    case "ROLLBACK" where !words.contains("TO"): try rollbackTransaction(1)
    default:
      throw misuse("savepoints are made by transaction(_:) and beginTransaction(), not in raw SQL")
    }
    return true
  }
}

extension PreparedStatement {
  /// Throws unless its parameters are those of the values, which all stand where one may be. One written by hand would
  /// take the value of another, or none, which is NULL.
  func checkParameters(count: Int) throws {
    guard parameterCount == count, !namesParameters else {
      throw SqlError.invalidStatement(
        "the SQL text has a parameter that is no interpolated value; write \\(value) in its place"
      )
    }
  }

  /// Whether it may change the schema of any database, or attach one.
  fileprivate var definesSchema: Bool {
    guard let keyword = firstKeyword else { return false }
    return ["CREATE", "DROP", "ALTER", "ATTACH", "DETACH"].contains(keyword)
  }

  /// Whether it is run without a transaction of its own: it changes nothing, or refuses to run inside one, or changes
  /// nothing that is observed.
  fileprivate var standsAlone: Bool {
    isReadOnly || ["VACUUM", "PRAGMA", "ATTACH", "DETACH"].contains(firstKeyword)
  }

  /// The first word, if the statement begins or ends a transaction or savepoint.
  fileprivate var controlKeyword: String? {
    // None of them gives rows. Whether it is read-only says nothing: BEGIN IMMEDIATE is not.
    guard columnCount == 0, let keyword = firstKeyword,
      ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"].contains(keyword)
    else { return nil }
    return keyword
  }

  /// Says what the rows are like, of which the statement stands on the first.
  func expect(_ columns: ExpectedColumns) throws {
    switch columns {
    case .unknown: expectAnyColumns()
    case .named(let table):
      // A model's columns are found among the result's by their names.
      expect(
        ResultLayout(
          readColumnNames().map { name in
            table.columns.first { $0.name.isSameName(as: name) }.map { ResultColumn($0) } ?? ResultColumn()
          }))
    case .positioned(let layout):
      try check(layout)
      expect(layout)
    }
    try row.pointee.findValues()
  }
}

/// Which columns of a result are read, and as what.
@usableFromInline
enum ExpectedColumns {
  case unknown
  case named(TableInfo)
  case positioned(ResultLayout)
}

extension ParameterBuffer {
  func append(_ argument: SQL.Argument) {
    switch argument {
    case .value(let value): append(value)
    case .list(let values): append(ValueList(values))
    case .parameter(let name): append(Placeholder(name: name))
    }
  }
}
