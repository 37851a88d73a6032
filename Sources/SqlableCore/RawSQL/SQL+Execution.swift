extension SqliteDatabase {
  /// Runs SQL and ignores its rows. The SQL can contain several statements, separated by `;`.
  ///
  /// ```swift
  /// try db.execute("CREATE VIEW red AS SELECT * FROM bicycle WHERE color = 'red'")
  /// try db.execute("UPDATE bicycle SET color = \(color) WHERE id = \(id)")            // bound, never pasted
  /// ```
  ///
  /// Outside a transaction, each statement commits separately, so after an error the earlier statements stay committed.
  /// BEGIN, COMMIT, END and ROLLBACK act like `beginTransaction`, `commitTransaction` and `rollbackTransaction`.
  /// Savepoint statements are rejected, because `transaction` manages savepoints.
  public func execute(_ sql: SQL, file: StaticString = #fileID, line: UInt = #line) throws {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    try locked { do { try executeEach(sql) } catch { throw located(error, in: nil) } }
  }

  private func executeEach(_ sql: SQL) throws {
    if let failure = sql.failure { throw failure }
    let connection = try openConnection()
    try checkIsNotInFunction(connection)
    try sql.text.withCString(encodedAs: UTF8.self) { start in
      let text = UnsafeBufferPointer(start: start, count: sql.text.utf8.count)
      try connection.checkHasNoNul(text)
      var rest = text
      var bound = 0
      while !rest.isEmpty {
        // Refresh before compiling, because a DELETE that is compiled without the hook would not call the hook.
        observation?.refresh()
        try connection.checkInterruption()
        let (statement, next) = try connection.compileFirst(rest, isTerminated: true)
        // Take only the values whose `?` belongs to this statement.
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

  /// Runs SQL text built at run time. Never include external input in the text, because SQLite would run the input as
  /// SQL.
  @_disfavoredOverload
  public func execute(_ sql: String, file: StaticString = #fileID, line: UInt = #line) throws {
    try execute(SQL(verbatim: sql), file: file, line: line)
  }

  /// Returns the rows of a query as structs. Columns are matched by name, in any order; additional columns are ignored.
  ///
  /// ```swift
  /// try db.query("SELECT * FROM bicycle WHERE id = \(id)", as: Bicycle.self)
  /// ```
  @inlinable
  public func query<Model: Sqlable>(
    _ sql: SQL, as model: Model.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Model] {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    var models: [Model] = []
    try eachRow(of: sql, .named(TableInfo.of(model))) { models.append(try $0.model()) }
    return models
  }

  /// Returns the values of a query with a single column.
  ///
  /// ```swift
  /// try db.query("SELECT name FROM bicycle WHERE id = \(id)", as: String.self)
  /// ```
  ///
  /// Throws `.misuse` if the result does not have exactly one column.
  @inlinable
  public func query<Value: SqlValue>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Value] {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    var values: [Value] = []
    try eachRow(of: sql, .single) { values.append(try $0.get(at: 0)) }
    return values
  }

  /// Returns the rows of a query as tuples. The types read the columns in order. A value reads one column, and a model
  /// reads as many columns as it has. A ``DynamicRow`` must be the last type, and reads all remaining columns.
  ///
  /// ```swift
  /// let counts = try db.query("SELECT color, count(*) FROM bicycle GROUP BY color", as: String.self, Int.self)
  /// ```
  ///
  /// Throws `.misuse` if the types read another number of columns than the result has. The query then changes nothing.
  @inlinable
  public func query<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> [(First, Second, repeat each Output)] {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    var rows: [(First, Second, repeat each Output)] = []
    let layout = try ResultLayout(of: first, second, repeat each type)
    try eachRow(of: sql, .positioned(layout)) { row in
      var row = ResultRow(row, types: layout.types)
      rows.append((try First.next(of: &row), try Second.next(of: &row), repeat try (each Output).next(of: &row)))
    }
    return rows
  }

  /// Returns the rows of a query with all columns.
  ///
  /// ```swift
  /// let rows = try db.query("SELECT * FROM \(table: name)", as: DynamicRow.self)
  /// ```
  public func query(
    _ sql: SQL, as type: DynamicRow.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [DynamicRow] {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    let layout = ResultLayout([])
    return try query(sql) { row in
      var row = ResultRow(row, types: layout.types)
      return try DynamicRow.next(of: &row)
    }
  }

  /// Returns the result of `body` for each row of a query. If `body` throws, the query's changes are rolled back.
  ///
  /// ```swift
  /// let counts = try db.query("SELECT color, count(*) FROM bicycle GROUP BY color") { row in
  ///   (color: try row.get(at: 0, as: String.self), count: try row.get(at: 1, as: Int.self))
  /// }
  /// ```
  @discardableResult
  @inlinable
  public func query<Result>(
    _ sql: SQL, file: StaticString = #fileID, line: UInt = #line, _ body: (ReadRow) throws -> Result
  ) throws -> [Result] {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    var results: [Result] = []
    try eachRow(of: sql, .unknown) { results.append(try body($0)) }
    return results
  }

  /// Runs a query. Calls `note` once with the column names, and then `body` with each row.
  @usableFromInline
  func eachRow(
    of sql: SQL, _ columns: ExpectedColumns, names note: (([String]) -> Void)? = nil, _ body: (ReadRow) throws -> Void
  ) throws {
    try running { connection in
      let mark = connection.parameters.mark
      observation?.refresh()
      let statement = try connection.prepared(since: mark) {
        connection.sql.begin()
        try sql.write(to: connection.sql, connection.parameters)
        return try connection.prepareBuffered()
      } check: { statement in
        try statement.checkParameters(count: sql.arguments.count)
        if !statement.isReadOnly { try checkIsNotInFunction(connection) }
        guard statement.controlKeyword == nil else {
          throw misuse("a query can't begin or end a transaction; use execute(_:)")
        }
        // A change of the schema can't change the number of columns of such a statement, so the number is checked
        // before the first step.
        if statement.columnCount == 0 || (!statement.isReadOnly && statement.firstKeyword == "PRAGMA") {
          try columns.check(statement.columnCount)
        }
      }
      defer { connection.finish(statement) }
      func readRows() throws {
        do {
          var isAtRow = try statement.step()
          // The first step detects other processes' schema changes, so check the columns after this step. An error
          // rolls the step back.
          try statement.expect(columns, isAtRow: isAtRow)
          note?(statement.readColumnNames())
          while isAtRow {
            try body(ReadRow(statement))
            isAtRow = try statement.step()
          }
          // SQLite treats the EXPLAIN of a write as a write until the statement is reset, and a savepoint can't end
          // during a write.
          if !statement.isReadOnly { statement.rewind() }
        } catch {
          // Reset the statement first, because a savepoint can't end while a statement writes.
          statement.rewind()
          throw error
        }
      }
      // RETURNING changes all rows before it returns the first row. If `body` throws, all changes must be rolled back.
      try run(statement, on: connection, atomically: statement.columnCount == 0, steps: readRows)
    }
  }

  // MARK: - Steps with the lock held

  private func run(_ statement: PreparedStatement, binding values: ArraySlice<SQL.Argument>) throws {
    let connection = try openConnection()
    try checkTransactionIsAlive(connection)
    let mark = connection.parameters.mark
    statement.mark = mark
    defer { connection.finish(statement) }
    for argument in values { try connection.parameters.append(argument) }
    try connection.bind(statement, since: mark)
    try run(statement, on: connection) { while try statement.step() {} }
  }

  /// Runs a statement by calling `steps`: as a write of the handle, or directly if the statement `standsAlone`.
  private func run(
    _ statement: PreparedStatement, on connection: Connection, atomically isAtomic: Bool = true,
    steps: () throws -> Void
  ) throws {
    // A schema change can move the key columns that observation has looked up, so observation looks them up again
    // before the next write. An immediate lookup would be a read, and a deferred transaction that reads first can fail
    // to get the write lock.
    defer { noteSchemaChange(statement) }
    if statement.standsAlone {
      if statement.changesFile { try checkMayWrite() }
      if !statement.isReadOnly, transactions.levels.isEmpty { try checkFile(connection) }
      try steps()
      if statement.columnCount == 0, statement.firstKeyword == "ATTACH" { try connection.checkLastAttached() }
      return
    }
    try writing(on: connection, atomically: isAtomic, mayKeep: mayKeep(statement)) {
      let mark = observation?.mark ?? 0
      try steps()
      try forgetDroppedRows(statement, after: mark)
    }
  }

  /// True if the statement can keep some changes when it fails, and observers must be notified of these changes.
  private func mayKeep(_ statement: PreparedStatement) -> Bool {
    observation?.isActive == true && statement.mayKeepFailedRows
  }

  private func noteSchemaChange(_ statement: PreparedStatement) {
    guard let observation, statement.columnCount == 0 else { return }
    if !observation.isActive || statement.definesSchema {
      observation.otherSchemasDidChange()
    } else if !statement.isReadOnly {
      observation.schemaDidChange()
    }
  }

  /// After DROP TABLE, discards the deletions that observation recorded for the dropped tables.
  private func forgetDroppedRows(_ statement: PreparedStatement, after mark: Int) throws {
    guard let observation, observation.mark > mark, statement.firstKeyword == "DROP" else { return }
    try observation.forgetRowsOfDroppedTables(after: mark)
  }

  /// Runs BEGIN, COMMIT and ROLLBACK as transactions of the handle. Returns false for any other statement.
  private func runControl(_ statement: PreparedStatement) throws -> Bool {
    guard let keyword = statement.controlKeyword else { return false }
    switch keyword {
    case "BEGIN":
      guard transactionLevel == 0 else { throw misuse("can't run BEGIN inside a transaction; use transaction(_:)") }
      // Only the word after BEGIN matters: words after TRANSACTION are a name.
      let mode = statement.firstKeywords(2).last
      try beginTransaction(mode == "IMMEDIATE" ? .immediate : mode == "EXCLUSIVE" ? .exclusive : .deferred)
    case "COMMIT", "END": try commitTransaction()
    case "ROLLBACK" where !statement.withBytes({ SQLTokenizer($0).contains { $0.isWord("to") } }):
      try rollbackTransaction(1)
    default:
      throw misuse("raw SQL can't use savepoints; use nested calls of transaction(_:) or beginTransaction()")
    }
    return true
  }
}

extension PreparedStatement {
  /// Throws unless every parameter is a plain `?` with a value. A parameter such as `?2` or `:name` would get a wrong
  /// value or NULL.
  func checkParameters(count: Int) throws {
    guard parameterCount == count, !namesParameters else { throw SqlError.parameterInText }
  }

  /// True if the statement can change a database's schema, or attach or detach a database. Compares keywords, because
  /// SQLite reports ATTACH as read-only.
  fileprivate var definesSchema: Bool {
    guard let keyword = firstKeyword else { return false }
    return ["CREATE", "DROP", "ALTER", "ATTACH", "DETACH"].contains(keyword)
  }

  /// True if the statement must run without a transaction, or does not need a transaction. VACUUM, ATTACH and DETACH
  /// fail inside a transaction. Reads and pragmas notify no observer.
  fileprivate var standsAlone: Bool {
    isReadOnly || ["VACUUM", "PRAGMA", "ATTACH", "DETACH"].contains(firstKeyword)
  }

  /// True if the statement runs without a transaction and writes to the database file, such as VACUUM and
  /// `PRAGMA user_version = 1`. False for VACUUM INTO, and for pragmas that return rows, such as `journal_mode` and
  /// `wal_checkpoint`.
  fileprivate var changesFile: Bool {
    guard !isReadOnly, columnCount == 0, let keyword = firstKeyword else { return false }
    return keyword == "PRAGMA"
      || keyword == "VACUUM" && !withBytes { SQLTokenizer($0).contains { $0.isWord("into") } }
  }

  /// The first word, if the statement starts or ends a transaction or savepoint.
  fileprivate var controlKeyword: String? {
    // Transaction statements have no result columns. Don't test `isReadOnly`: BEGIN IMMEDIATE is not read-only.
    guard columnCount == 0, let keyword = firstKeyword,
      ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"].contains(keyword)
    else { return nil }
    return keyword
  }

  /// Sets the expected columns of the rows. Call after the first step. Throws if the result has other columns.
  func expect(_ columns: ExpectedColumns, isAtRow: Bool) throws {
    try checkColumns(columns.check)
    switch columns {
    case .unknown: expectAnyColumns()
    case .named(let table):
      let columnIndices = readColumnNames().map { name in table.columns.firstIndex { $0.name.isSameName(as: name) } }
      var seen: Set<Int> = []
      // Of two columns with the same name, one might belong to another table. A struct with values of two tables would
      // be saved as a row that never existed.
      if let duplicate = columnIndices.lazy.compactMap(\.self).first(where: { !seen.insert($0).inserted }) {
        throw SqlError.severalColumns(named: table.columns[duplicate].name)
      }
      expect(ResultLayout(columnIndices.map { $0.map { ResultColumn(table.columns[$0]) } ?? ResultColumn() }))
    case .single: expectAnyColumns()
    case .positioned(let layout):
      let ordered = layout.models.isEmpty ? layout : try layout.ordered(by: columnNames)
      // A row can have more columns than the layout, because a DynamicRow reads all remaining columns.
      expect(ordered.takesRest ? ordered.extended(to: columnCount, by: ResultColumn()) : ordered)
    }
    if isAtRow { try row.pointee.findValues() }
  }
}

@usableFromInline
package enum ExpectedColumns {
  case unknown
  case single
  case named(TableInfo)
  case positioned(ResultLayout)

  func check(_ columnCount: Int) throws {
    switch self {
    case .unknown: break
    case .named(let table): guard columnCount > 0 else { throw ResultLayout.mismatch(columnCount, table.count) }
    case .single: guard columnCount == 1 else { throw ResultLayout.mismatch(columnCount, 1) }
    case .positioned(let layout): try layout.checkExactly(columnCount)
    }
  }
}

extension SQL {
  /// Writes the text and its values. Throws the error of an interpolation that failed.
  func write(to sql: SqlBuffer, _ parameters: ParameterBuffer) throws {
    if let failure { throw failure }
    // The statement cache finds statements by their text or by a shorter key, and only a key may start with NUL.
    guard text.utf8.first != 0 else { throw SqlError.nulInText }
    sql.append(text: text)
    for argument in arguments { try parameters.append(argument) }
  }
}

extension ParameterBuffer {
  fileprivate func append(_ argument: SQL.Argument) throws {
    switch argument {
    case .value(let value): append(value)
    case .list(let values): append(ValueList(values))
    case .parameter(let name): try append(Placeholder(name: name))
    }
  }
}
