// Lookup of compiled statements. A repeated statement is looked up without rendering its SQL. The cache key of a
// statement about one struct contains the columns that the struct sets. Any other cache key contains the statement
// without its values.

extension Connection {
  /// Runs an update or delete with a condition, or an insert from a query. Returns the number of rows changed.
  func change(_ tree: StatementTree, of table: TableInfo) throws -> Int {
    try runToEnd(prepared(tree, table: table))
  }

  /// Runs a statement about one struct. An insert returns the id of the inserted or updated row; 0 if no row was
  /// written or the table has no integer id. An update or delete returns the number of rows changed.
  func change(_ tree: StatementTree, of table: TableInfo, _ row: RowValues) throws -> Int {
    let statement = try prepared(tree, table: table, row: row)
    guard case .insert(let query) = tree else { return try runToEnd(statement) }
    defer { finish(statement) }
    return try insert(statement, query, row: row)
  }

  /// Runs a change whose values are bound, and returns the number of rows changed.
  func runToEnd(_ statement: PreparedStatement) throws -> Int {
    defer { finish(statement) }
    return try stepToEnd(statement)
  }

  /// Runs a change like `runToEnd(_:)`, but leaves finishing the statement to the caller.
  func stepToEnd(_ statement: PreparedStatement) throws -> Int {
    while try statement.step() {}
    return changes
  }

  /// Returns the compiled statement of a query, with its values bound.
  func prepared(_ query: SelectQuery, of kind: SqlBuffer.KeyKind) throws -> (statement: PreparedStatement, hasKey: Bool)
  {
    recorder?.note(query: query)
    guard let id = query.keyOfFirstRow else { return try written(query, of: kind) }
    let key = ShortKey(kind, of: .passUnretained(query.table))
    if let statement = try recent(key) {
      do { try bind(statement, key: id) } catch {
        finish(statement)
        throw error
      }
      return (statement, true)
    }
    let statement = try written(query, of: kind)
    cache.noteRecent(statement.statement, key)
    return statement
  }

  /// Returns the compiled statement of a read by an integer key, with its values bound.
  @inline(__always)
  func prepared(_ read: IntegerKeyRead) throws -> PreparedStatement {
    guard recorder == nil, let statement = try recent(ShortKey(.statement, of: read.table)) else {
      return try prepared(SelectQuery(of: read.table, integerKey: read.key), of: .statement).statement
    }
    do {
      try statement.bind(.integer(read.key), at: 1)
      // The limit of 1 stays bound from one read by key to the next, so it is bound only once.
      if !statement.holdsLimitOfOne { try statement.bind(.integer(1), at: 2) }
      statement.holdsLimitOfOne = true
    } catch {
      finish(statement)
      throw error
    }
    return statement
  }

  @inline(never)
  private func written(
    _ query: SelectQuery, of kind: SqlBuffer.KeyKind
  ) throws -> (statement: PreparedStatement, hasKey: Bool) {
    try prepared(kind) {
      if sql.isKey, sql.append(keyOfPlain: query, parameters) { return }
      try SelectWriter(sql: sql, parameters: parameters).write(statement: query)
    }
  }

  /// Binds the values of a read by key: the key, and the limit 1.
  @inline(__always)
  private func bind(_ statement: PreparedStatement, key: DatabaseValue) throws {
    if case .integer(let integer) = key {
      try statement.bind(.integer(integer), at: 1)
      return try statement.bind(.integer(1), at: 2)
    }
    let mark = parameters.mark
    statement.mark = mark
    parameters.append(key)
    parameters.append(.integer(1) as BoundValue)
    try bind(statement, since: mark)
  }

  /// Returns the statement that the last lookup with this short key found. Nil if there is no such statement, or if the
  /// statement is in use.
  @inline(__always)
  func recent(_ key: ShortKey) throws -> PreparedStatement? {
    try checkInterruption()
    return cache.takeRecent(key)
  }

  /// Returns the compiled statement of a change without structs, with its values bound.
  func prepared(_ tree: StatementTree, table: TableInfo) throws -> PreparedStatement {
    try prepared(.statement) { try write(tree, table, .none) }.statement
  }

  func write(_ tree: StatementTree, _ table: TableInfo, _ row: RowValues) throws {
    let writer = StatementWriter(table: table, sql: sql, parameters: parameters)
    try writer.write(tree, row: row)
    guard !sql.isKey else { return }
    try check(tree, table)
    guard case .insert(let query) = tree else { return }
    let omitted = OmittedKey(try writer.omittedKey(of: query, row), of: table)
    let isAssigned = try withoutRules { try isKeyAssigned(omitted) }
    if isAssigned { return }
    guard table.keyIsRowid, !query.isUpsert, query.rest.value.returned == nil else { return }
    // The model declares a rowid key, but the table's key is not the rowid, and has a default. So only RETURNING shows
    // the new row's id.
    guard Library.hasReturning else {
      throw SqlError.misuse(Library.needed(for: "returning the id of a row whose key has a default", since: 35))
        .at(table: table.name)
    }
    sql.append(" RETURNING ")
    writer.writeList([table.columns[table.key[0]].definition.quotedName])
  }

  /// Returns the compiled statement that `write` writes, with its values bound. The cache is searched by the
  /// statement's cache key or, if `write` refuses a cache key, by the SQL. `write` is called for the cache key and, if
  /// needed, again for the SQL.
  @inline(__always)
  func prepared(
    _ kind: SqlBuffer.KeyKind, write: () throws -> Void
  ) throws -> (statement: PreparedStatement, hasKey: Bool) {
    let mark = parameters.mark
    sql.begin(key: kind)
    // An error is ignored here, because writing the SQL below throws the error again.
    do { try write() } catch { sql.refuseKey() }
    let hasKey = sql.hasKey
    if !hasKey { parameters.drop(since: mark) }
    let statement = try prepared(since: mark) {
      guard hasKey else {
        sql.begin()
        try write()
        return try prepareBuffered()
      }
      return try prepareBuffered {
        let values = parameters.count
        sql.begin()
        try write()
        try parameters.dropCopies(from: values, of: mark)
      }
    }
    return (statement, hasKey)
  }
}

extension Connection {
  /// Returns the compiled insert, without conflict policy, of `rows` structs that set the same columns. Binds nothing.
  func preparedInsert(_ query: InsertQuery, of rows: Int, setting shape: UInt64) throws -> PreparedStatement {
    let (table, mark) = (query.table, parameters.mark)
    defer { parameters.release(to: mark) }
    sql.begin(key: .row)
    sql.append("INSERT")
    sql.append(address: table)
    sql.append(word: shape)
    // The key of a single struct's insert ends before this word.
    sql.append(word: UInt64(rows))
    return try prepareBuffered {
      // Use NULL for every value: the SQL depends only on which columns are set.
      let slots = ParameterSlots(count: table.count)
      slots.memory.update(repeating: .null)
      let row = RowValues(slots: UnsafeMutableBufferPointer(rebasing: slots.memory[..<table.count]), shape: shape)
      sql.begin()
      try write(.insert(query), table, row)
      let placeholders = repeatElement("?", count: shape.nonzeroBitCount).joined(separator: ", ")
      for _ in 1..<rows { sql.append(text: ", (\(placeholders))") }
    }
  }

  /// Throws if the statement would leave a full-text index stale: REPLACE deletes rows without firing the index's
  /// triggers.
  func check(_ tree: StatementTree, _ table: TableInfo) throws {
    guard tree.conflict == .replace, !firesDeleteTriggersOnReplace, case .external = table.fullText?.content else {
      return
    }
    throw SqlError.misuse(
      "REPLACE on a table with a full-text index needs Configuration.recursiveTriggers; use an upsert or save()"
    ).at(table: table.name)
  }
}

extension Connection {
  /// Returns true if SQLite assigns the omitted part of the primary key, or if no part is omitted.
  ///
  /// Throws if the insert would store NULL in the key, because no struct could update or delete that row.
  func isKeyAssigned(_ omitted: OmittedKey?) throws -> Bool {
    guard let omitted else { return true }
    let (table, database) = (omitted.table, omitted.database)
    // SQLite gives the result column of `_rowid_` the name of the column that is an alias of the rowid, if there is
    // such a column. The statement is compiled but not run, so that traces and counts of inserts do not include this
    // check. A column that is itself named _rowid_ hides the rowid, so the check is skipped.
    if let rowid = omitted.rowid, !rowid.isSameName(as: "_rowid_") {
      var sql = "SELECT _rowid_ FROM \(table.quotedName(inDatabase: database))"
      let named = try? sql.withUTF8 { try compileFirst($0, isInternal: true).statement?.readColumnNames().first }
      if let named, named.isSameName(as: rowid) { return true }
    }
    var nullable: Set<[UInt8]> = []
    var isAssigned = true
    // Ask for the columns of the table, because the table's SQL can declare what the model lacks: a default, or an
    // INTEGER key.
    let pragma = "table_xinfo".quotedName(inDatabase: database)
    let isRowid = try omitted.isSingle && !hasKeyIndex(of: table, in: database)
    for row in try rows("PRAGMA \(pragma)(\(table.quotedName))") {
      let (name, isNotNull, value, isKey) = (row[1], row[3] != "0", row[4], row[5] != "0")
      let hasDefault = !value.isEmpty && !value.isSameName(as: "NULL")
      guard isKey, !isRowid, omitted.columns.contains(where: { $0.isSameName(as: name) }) else { continue }
      isAssigned = false
      // An integer key that is NOT NULL is refused too. SQLite chooses a number only for the rowid, so the insert would
      // fail.
      if !isNotNull || omitted.isInteger, !hasDefault { nullable.insert(name.foldedName) }
    }
    guard let column = omitted.columns.first(where: { nullable.contains($0.foldedName) }) else { return isAssigned }
    throw SqlError.misuse(
      "the struct has no value for its key \(table).\(column), and the column has no default"
    ).at(table: table, column: column)
  }

  /// True if a table has an index for its primary key. The key is then not the rowid.
  package func hasKeyIndex(of table: String, in database: String?) throws -> Bool {
    let pragma = "index_list".quotedName(inDatabase: database)
    return try rows("PRAGMA \(pragma)(\(table.quotedName))").contains { $0[3] == "pk" }
  }
}

extension StatementTree {
  fileprivate var conflict: ConflictPolicy? {
    switch self {
    case .insert(let query): query.conflict
    case .update(let query): query.conflict
    case .select, .delete: nil
    }
  }
}

extension ShortKey {
  /// The cache key of a read by primary key.
  @inline(__always)
  fileprivate init(_ kind: SqlBuffer.KeyKind, of table: Unmanaged<TableInfo>) {
    self.init(UInt64(kind.rawValue) << 8, of: table)
  }
}

extension StatementRecorder {
  /// The only query that ran; nil if any other statement ran, or if the query ran several times.
  package var onlyQuery: SelectQuery? { runs == 1 && queries.count == 1 ? queries[0] as? SelectQuery : nil }
}
