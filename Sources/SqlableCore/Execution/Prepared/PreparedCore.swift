// Prepared statements and their runs, independent of the types of models and rows.

/// The compiled statement of a ``Prepared``. The properties change only while the handle's lock is held.
@usableFromInline
final class PreparedCore {
  let db: SqliteDatabase
  let names: [String]
  let sql: String
  let targets: [Target]
  private let changesRows: Bool
  /// The table whose columns the statement returns; nil for a query or handwritten SQL.
  private let table: TableInfo?
  /// The columns of `table`, which are never freed.
  private let columns: (identities: UnsafePointer<UnsafeRawPointer>, count: Int)?
  /// The columns of the rows of a query; nil for a statement or handwritten SQL.
  private let layout: ResultLayout?
  /// The expected columns of a handwritten query, which can change with the schema; nil for other statements.
  private let textColumns: ExpectedColumns?
  /// True for a DELETE. A DELETE without a filter calls the change hook only if it was compiled while the hook was
  /// installed.
  private let isDelete: Bool
  /// True if the text of a change contains the word FAIL, which might be part of OR FAIL.
  private let mayKeepFailedRows: Bool
  private let site: CallSite
  private let kept: StatementSlot
  /// One target for each parameter, by the parameter's number.
  let single: [SingleTarget]
  /// The position of the only parameter, if this parameter takes an `Int` unchanged, as in a read by key; otherwise
  /// nil.
  private let integerIndex: Int32?
  /// The constants of the statement, with their positions counted from 1.
  private let fixed: [(index: Int32, value: DatabaseValue)]
  /// The constants that are long lists.
  private let lists: [(index: Int32, list: ValueList)]

  /// The source of a prepared statement: a statement, a query or handwritten SQL.
  enum Subject {
    case statement(StatementTree, TableInfo)
    case query(SelectQuery, ResultLayout)
    /// A handwritten query, with the columns that its rows should have. For a handwritten change, the columns are nil.
    case sql(SQL, ExpectedColumns?)

    fileprivate var table: TableInfo? {
      guard case .statement(_, let table) = self else { return nil }
      return table
    }

    fileprivate var changesRows: Bool {
      switch self {
      case .statement(let tree, _): tree.changesRows
      case .query: false
      case .sql(_, let columns): columns == nil
      }
    }

    fileprivate func check() throws {
      guard case .statement(let tree, let table) = self else { return }
      guard !tree.takesRows else {
        throw SqlError.invalidStatement(
          "a statement that takes structs can't be prepared; use run, which caches the compiled statement"
        ).at(table: table.name)
      }
      guard !tree.returnsRows else {
        throw SqlError.invalidStatement(
          "a change with RETURNING can't be prepared; use run, which caches the compiled statement"
        ).at(table: table.name)
      }
    }

    fileprivate func write(to sql: SqlBuffer, _ parameters: ParameterBuffer) throws {
      switch self {
      case .statement(let tree, let table):
        try StatementWriter(table: table, sql: sql, parameters: parameters).write(tree)
      case .query(let query, _): try SelectWriter(sql: sql, parameters: parameters).write(statement: query)
      case .sql(let text, _): try text.write(to: sql, parameters)
      }
    }

    fileprivate func check(_ statement: PreparedStatement) throws {
      guard case .sql(let sql, let columns) = self else { return }
      try statement.checkParameters(count: sql.arguments.count)
      let isQuery = statement.isReadOnly && statement.columnCount > 0
      guard isQuery || ["INSERT", "REPLACE", "UPDATE", "DELETE"].contains(statement.withBytes(\.verb)) else {
        throw SqlError.misuse(
          "only queries, INSERT, REPLACE, UPDATE and DELETE can be prepared from SQL text; use execute(_:)")
      }
      guard isQuery || statement.columnCount == 0 else {
        throw SqlError.invalidStatement("a change with RETURNING can't be prepared; use query(_:as:)")
      }
      switch (columns, isQuery) {
      case (nil, false): break
      case (let columns?, true): try statement.checkColumns(columns.check)
      case (nil, true):
        throw SqlError.misuse("the SQL text is a query; prepare it with the type of its rows: prepare(_:as:)")
      case (_?, false):
        throw SqlError.misuse("the SQL text is a change, which has no rows; use prepare(_:) without a type")
      }
    }
  }

  /// A `?` of the SQL, to which the parameter with this number is bound.
  struct Target {
    let number: Int
    let index: Int32
    /// The column that the value is compared with or stored in; nil if there is no such column.
    let column: ColumnDefinition?
    let isStored: Bool
    /// The direction in which a comparison with the column rounds the value; nil if the value is not compared.
    let side: RoundingSide?
    /// True if an `Int` is bound unchanged, as for a key.
    let takesIntegers: Bool

    fileprivate init(_ placeholder: Placeholder, number: Int, index: Int32) {
      self.number = number
      self.index = index
      column = placeholder.column as? ColumnDefinition
      isStored = placeholder.isStored
      side = placeholder.side
      takesIntegers = column.map { $0.type.base == .integer } ?? true
    }
  }

  /// The first `?` of a parameter. `takesIntegers` is true if an `Int` can be bound without a conversion; `takesFlags`
  /// is true if a `Bool` can. Both are false if the parameter occurs several times.
  struct SingleTarget {
    let index: Int32
    let takesIntegers: Bool
    let takesFlags: Bool

    fileprivate init(_ number: Int, of targets: [Target]) {
      let all = targets.filter { $0.number == number }
      index = all.first?.index ?? 0
      takesIntegers = all.count == 1 && all[0].takesIntegers
      takesFlags = all.count == 1 && all[0].column.map { $0.type.base == .boolean } ?? true
    }
  }

  @usableFromInline
  convenience init(_ tree: StatementTree, on db: SqliteDatabase, _ file: StaticString, _ line: UInt) throws {
    try self.init(.statement(tree, tree.table), on: db, at: CallSite(file: file, line: line))
  }

  init(_ subject: Subject, on db: SqliteDatabase, at site: CallSite) throws {
    try subject.check()
    self.site = site
    self.db = db
    (table, changesRows) = (subject.table, subject.changesRows)
    columns = subject.table.map { ($0.identities, $0.count) }
    layout = if case .query(_, let layout) = subject { layout } else { nil }
    textColumns = if case .sql(_, let columns) = subject { columns } else { nil }
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer())
    let mark = parameters.mark
    try subject.write(to: sql, parameters)
    let placeholders = parameters.placeholders(since: mark) ?? []
    let names = placeholders.reduce(into: [String]()) { names, next in
      if !names.contains(next.placeholder.name) { names.append(next.placeholder.name) }
    }
    targets = placeholders.map { index, placeholder in
      Target(placeholder, number: names.firstIndex(of: placeholder.name) ?? 0, index: index)
    }
    self.names = names
    single = names.indices.map { [targets] in SingleTarget($0, of: targets) }
    integerIndex = if targets.count == 1, targets[0].takesIntegers { targets[0].index } else { nil }
    var text = sql.text
    self.sql = text
    (isDelete, mayKeepFailedRows) =
      changesRows ? text.withUTF8 { ($0.verb == "DELETE", $0.containsFail) } : (false, false)
    var (fixed, lists): ([(Int32, DatabaseValue)], [(Int32, ValueList)]) = ([], [])
    for (position, value) in parameters.parameters.enumerated() {
      let index = Int32(position + 1)
      if case .list(let list) = value { lists.append((index, list.takeUnretainedValue())) }
      if let value = DatabaseValue(value) { fixed.append((index, value)) }
    }
    (self.fixed, self.lists) = (fixed, lists)
    withExtendedLifetime(parameters) {}
    kept = StatementSlot()
    try db.locked {
      do {
        let connection = try db.openConnection()
        if case .statement(let tree, let table) = subject { try connection.check(tree, table) }
        let statement = try compile(connection)
        try subject.check(statement)
        kept.statement = statement
        connection.keep(kept)
      } catch { throw db.located(error, in: table) }
    }
  }

  deinit { kept.abandon() }

  /// Compiles a copy of the statement, and binds the constants.
  private func compile(_ connection: Connection) throws -> PreparedStatement {
    var text = sql
    let statement = try text.withUTF8 { try connection.compile($0) }
    for (index, value) in fixed { try statement.bindCopy(value, at: index) }
    for (index, list) in lists { try statement.bind(.list(Unmanaged.passUnretained(list)), at: index) }
    statement.isInUse = false
    return statement
  }

  @inline(__always)
  private var idle: PreparedStatement? {
    guard let statement = kept.statement, !statement.isInUse else { return nil }
    return statement
  }

  /// Compiles the SQL again, because a loop is using the kept statement, or because the connection has dropped the
  /// statement. A connection drops its statements when an observer is added or memory is released.
  @inline(never)
  private func compileAgain(_ connection: Connection) throws -> PreparedStatement {
    let copy = try compile(connection)
    if kept.statement == nil { kept.statement = copy }
    return copy
  }

  /// Returns the statement with the values bound. The caller holds the lock.
  @inline(__always)
  private func begin(
    _ connection: Connection, _ bind: (PreparedStatement) throws -> Void
  ) throws -> PreparedStatement {
    try connection.checkInterruption()
    let statement = try idle ?? compileAgain(connection)
    statement.isInUse = true
    if connection.tracer != nil { setCallSite(of: statement, connection) }
    do { try bind(statement) } catch {
      connection.finish(statement)
      throw error
    }
    return statement
  }

  @inline(never)
  private func setCallSite(of statement: PreparedStatement, _ connection: Connection) {
    connection.tracer?.setCallSite(site, of: TracedStatement(statement.handle))
  }

  @usableFromInline
  func beginReading(isLoop: Bool = false, _ bind: (PreparedBinder) throws -> Void) throws -> StatementRun {
    try db.reading(of: table, isLoop: isLoop) { connection in
      let statement = try begin(connection, binding: bind)
      expectColumns(of: statement)
      return statement
    }
  }

  @usableFromInline
  func beginReading(integer value: Int) throws -> StatementRun {
    guard let integerIndex else { return try beginReading { try PositionedValues(value).bind(with: $0) } }
    return try db.reading(of: table) { connection in
      let statement = try begin(connection) { try $0.bind(.integer(Int64(value)), at: integerIndex) }
      expectColumns(of: statement)
      return statement
    }
  }

  @inline(__always)
  private func expectColumns(of statement: PreparedStatement) {
    if let columns {
      statement.expectColumns(columns.identities, count: columns.count)
    } else if let layout {
      statement.expect(layout)
    }
  }

  private func begin(
    _ connection: Connection, binding bind: (PreparedBinder) throws -> Void
  ) throws -> PreparedStatement {
    try begin(connection) {
      try bind(PreparedBinder(core: self, statement: $0, parameters: connection.parameters))
    }
  }

  /// Steps to the first row of a run; returns true if there is a row.
  @usableFromInline
  func firstStep(of reading: StatementRun) throws -> Bool {
    let isAtRow = try reading.step()
    // After a schema change, the step recompiles the statement. `*` in handwritten SQL can then return other columns.
    if let textColumns { try reading.statement.expect(textColumns, isAtRow: isAtRow) }
    return isAtRow
  }

  // Not inlinable, because the caller's module would retain and release the handle, which takes 125 instructions.
  @usableFromInline
  func endReading(_ reading: StatementRun) { db.endReading(reading) }

  @usableFromInline
  func run(_ bind: (PreparedBinder) throws -> Void) throws -> Int {
    guard changesRows else {
      let reading = try beginReading(bind)
      defer { db.endReading(reading) }
      return try reading.integer()
    }
    return try db.running(of: table) { connection in
      // Refresh before compiling, because the refresh can install the change hook. A DELETE without a filter calls the
      // hook only if the hook was installed first. A handwritten DELETE without a filter, but with values, is compiled
      // here, before the write.
      db.observation?.refresh()
      // Values are bound before the write starts, because the code that converts a value can run other writes, which do
      // not belong to this statement. A statement without values is compiled inside the write, because a statement that
      // was compiled before the hook was installed might not call the hook.
      let bound = targets.isEmpty ? nil : try begin(connection, binding: bind)
      defer { if let bound { connection.finish(bound) } }
      return try db.writing(on: connection, mayKeep: mayKeepFailedRows) {
        // If the change hook was installed after the refresh above, `kept` has lost the compiled DELETE. Compile the
        // DELETE again.
        guard let bound, !isDelete || kept.statement != nil else {
          return try connection.runToEnd(begin(connection, binding: bind))
        }
        return try connection.stepToEnd(bound)
      }
    }
  }
}
