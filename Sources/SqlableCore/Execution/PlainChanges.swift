import CSqlableSQLite

// Inserts, updates and deletes of one struct. Their SQL depends only on the table, the conflict policy and the columns
// that the struct sets, so the cache finds the compiled statements by a short key. A run retains neither the table nor
// the connection.

/// A change of one struct, without further clauses.
struct PlainChange {
  enum Form: UInt8 {
    case insert, save, update, delete
  }

  let form: Form
  let conflict: ConflictPolicy?
  let table: Unmanaged<TableInfo>

  @inline(__always)
  init(_ form: Form, _ table: TableInfo, _ conflict: ConflictPolicy? = nil) {
    self.form = form
    self.conflict = conflict
    self.table = .passUnretained(table)
  }

  @inline(__always)
  var isInsert: Bool { form == .insert || form == .save }

  /// The number that identifies the kind of statement and the conflict policy in a short key.
  @inline(__always)
  private var word: UInt64 {
    let policy: UInt64 =
      switch conflict {
      case nil: 0
      case .abort: 1
      case .ignore: 2
      case .replace: 3
      }
    return UInt64(SqlBuffer.KeyKind.row.rawValue) << 56 | policy << 2 | UInt64(form.rawValue)
  }

  /// Returns the short key of the statement for these values. Returns nil if the table has too many columns, or if the
  /// values of an update or delete lack the primary key. Without the key, rendering the SQL throws.
  @inline(__always)
  func key(_ row: RowValues) -> ShortKey? {
    guard let shape = row.shape else { return nil }
    let holdsKey = isInsert || table._withUnsafeGuaranteedRef { row.holdsKey(of: $0) }
    return holdsKey ? ShortKey(word, of: table, columns: shape) : nil
  }

  /// The text that identifies the kind of statement in a cache key.
  fileprivate var verb: StaticString {
    switch form {
    case .insert: "INSERT"
    case .save: "INSERT OR UPDATE"
    case .update: "UPDATE"
    case .delete: "DELETE"
    }
  }
}

extension StatementTree {
  /// The statement as a change of one struct; nil if the statement has other clauses.
  @inline(__always)
  var plainChange: PlainChange? {
    switch self {
    case .insert(let query) where query.rest.isDefault && query.form != .query:
      PlainChange(query.form == .save ? .save : .insert, query.table, query.conflict)
    case .update(let query) where query.isRowLevel && query.rest.isDefault:
      PlainChange(.update, query.table, query.conflict)
    case .delete(let query) where query.isRowLevel && query.rest.isDefault:
      PlainChange(.delete, query.table)
    default: nil
    }
  }
}

/// A running change of one struct. The handle's lock is held until the change ends. Retains no objects.
@usableFromInline
struct RowRun {
  @usableFromInline let writer: UnsafeMutablePointer<RowWriter>
  fileprivate let change: PlainChange
  fileprivate let connection: Unmanaged<Connection>
  fileprivate let mark: ParameterBytes.RowMark
  fileprivate let protectedLevels: Int
}

extension SqliteDatabase {
  /// Starts a change of one struct. The caller then calls the struct's code, which writes the values, and ends the
  /// change with `finish(_:_:)` or `cancel`. Returns nil if the statement has further clauses.
  ///
  /// The database write starts only in `finish(_:_:)`, because the struct's code can run other writes, which do not
  /// belong to this statement.
  @usableFromInline
  func beginRow(_ tree: StatementTree) throws -> RowRun? {
    guard let change = tree.plainChange else { return nil }
    try change.table._withUnsafeGuaranteedRef { try $0.checkDeclarations() }
    try enter()
    do {
      guard let unretained = unretainedConnection else { throw closed }
      return try unretained._withUnsafeGuaranteedRef { connection in
        try checkTransactionIsAlive(connection)
        let writer = rowWriter.take(for: change.table, on: connection, keyOnly: change.form == .delete)
        return RowRun(
          writer: writer, change: change, connection: unretained, mark: connection.parameterBytes.pointee.beginRow(),
          protectedLevels: beginRun())
      }
    } catch {
      let error = located(error, in: change.table.takeUnretainedValue())
      unlockAndDeliver()
      throw error
    }
  }

  @usableFromInline
  func cancel(_ run: RowRun) { end(run) }

  /// Ends a change whose struct could not be written, and returns the error to throw.
  @usableFromInline
  func cancel(_ run: RowRun, because error: any Error) -> any Error {
    // The writer is reused, so it must not keep the error.
    run.writer.pointee.failure = nil
    defer { end(run) }
    return located(error, in: run.change.table.takeUnretainedValue())
  }

  /// Runs the change with the values in the run's writer. Returns the row's id for an insert, and the number of changed
  /// rows for any other change.
  @usableFromInline
  func finish(_ run: RowRun, _ tree: StatementTree) throws -> Int {
    defer { end(run) }
    do {
      return try run.connection._withUnsafeGuaranteedRef { connection in
        // Without RETURNING, an upsert has a second part that reads the id of the updated row.
        try writing(on: connection, atomically: run.change.form != .save || Library.hasReturning) {
          try connection.change(run.change, tree, run.writer.pointee.values)
        }
      }
    } catch { throw located(error, in: run.change.table.takeUnretainedValue()) }
  }

  @inline(__always)
  private func end(_ run: RowRun) {
    run.connection._withUnsafeGuaranteedRef { $0.parameterBytes.pointee.release(to: run.mark) }
    rowWriter.giveBack(run.writer)
    endRun(run.protectedLevels)
    unlockAndDeliver()
  }
}

extension Connection {
  /// Runs a change of one struct. An insert returns the id of the inserted or updated row, or 0 without a row or id. An
  /// update or delete returns the number of rows changed.
  @inline(__always)
  fileprivate func change(_ plain: PlainChange, _ tree: StatementTree, _ row: RowValues) throws -> Int {
    guard let key = plain.key(row) else { return try change(tree, of: plain.table.takeUnretainedValue(), row) }
    let statement = try recent(key) ?? written(tree, plain, row, key)
    // Unlike `finish(_:)`, does not release the values: they belong to the row.
    defer {
      statement.rewind()
      statement.isInUse = false
    }
    try statement.bind(row, as: plain)
    guard plain.isInsert else {
      while try statement.stepWithoutRow() {}
      return changes
    }
    return try plain.table._withUnsafeGuaranteedRef { table in
      try insert(
        statement, key: row.integer(at: table.keyPlaces.only), isSave: plain.form == .save, table: table
      ) { plain.form == .save ? try idOfUpdatedRow(tree, row) : nil }
    }
  }

  /// Returns the compiled statement for a struct, with its values bound. The values must stay valid until the run ends.
  func prepared(_ tree: StatementTree, table: TableInfo, row: RowValues) throws -> PreparedStatement {
    guard let plain = tree.plainChange, let key = plain.key(row) else {
      return try prepared(.statement) { try write(tree, table, row) }.statement
    }
    let statement = try recent(key) ?? written(tree, plain, row, key)
    do {
      try statement.bind(row, as: plain)
    } catch {
      finish(statement)
      throw error
    }
    return statement
  }

  @inline(never)
  private func written(
    _ tree: StatementTree, _ plain: PlainChange, _ row: RowValues, _ key: ShortKey
  ) throws -> PreparedStatement {
    let (table, mark) = (plain.table.takeUnretainedValue(), parameters.mark)
    sql.begin(key: .row)
    sql.append(plain.verb)
    if let conflict = plain.conflict { sql.append(conflict.sql) }
    sql.append(address: table)
    sql.append(word: row.shape ?? 0)
    defer { parameters.release(to: mark) }
    let statement = try prepareBuffered {
      sql.begin()
      try write(tree, table, row)
      parameters.drop(since: mark)
    }
    cache.noteRecent(statement, key)
    return statement
  }
}

extension PreparedStatement {
  /// Steps without beginning a row: the caller can read the row only with `integer(at:)`.
  @inline(__always)
  func stepWithoutRow() throws -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_DONE { return false }
    guard code == SQLITE_ROW else { throw failure(code) }
    return true
  }

  @inline(__always)
  fileprivate func bind(_ row: RowValues, as change: PlainChange) throws {
    let code =
      switch change.form {
      case .insert, .save: row.bind(to: handle)
      case .update: change.table._withUnsafeGuaranteedRef { row.bindUpdate(of: $0, to: handle) }
      case .delete: change.table._withUnsafeGuaranteedRef { row.bindKey(of: $0, to: handle) }
      }
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Binds a struct's values to an INSERT that names the same columns, after the parameters of earlier structs.
  ///
  /// - Parameter index: The index of the last bound parameter.
  func bindInsert(_ row: RowValues, after index: inout Int32) throws {
    let code = row.bind(to: handle, after: &index)
    guard code == SQLITE_OK else { throw failure(code) }
  }
}

extension RowValues {
  /// True if the struct sets its whole key. If not, rendering the SQL throws.
  @inline(__always)
  fileprivate func holdsKey(of table: TableInfo) -> Bool {
    table.keyPlaces.only >= 0 ? isSetAndNotNull(table.keyPlaces.only) : holdsKeys(of: table)
  }

  @inline(never)
  private func holdsKeys(of table: TableInfo) -> Bool {
    !table.key.isEmpty && table.key.allSatisfy(isSetAndNotNull)
  }

  @inline(__always)
  private func isSetAndNotNull(_ position: Int) -> Bool {
    switch self[position] {
    case .unset, .null: false
    default: true
    }
  }

  /// Binds the values outside the key, and then the key.
  @inline(__always)
  fileprivate func bindUpdate(of table: TableInfo, to handle: OpaquePointer) -> Int32 {
    var index: Int32 = 0
    let code = bind(to: handle, after: &index, except: table.keyPlaces.bits)
    return code == SQLITE_OK ? bindKey(of: table, to: handle, after: index) : code
  }

  @inline(__always)
  fileprivate func bindKey(of table: TableInfo, to handle: OpaquePointer, after index: Int32 = 0) -> Int32 {
    if table.keyPlaces.only >= 0 { return bind(table.keyPlaces.only, to: handle, at: index + 1) }
    for (offset, position) in table.key.enumerated() {
      let code = bind(position, to: handle, at: index + Int32(offset) + 1)
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }

  /// The integer at a position; nil for any other value, and for the position -1.
  @inline(__always)
  fileprivate func integer(at position: Int) -> Int? {
    guard position >= 0, case .integer(let integer) = self[position] else { return nil }
    return Int(integer)
  }
}
