// Finding the compiled statement of a query. Statements that a service repeats are found without writing their text:
// those about one struct by the columns that the struct sets, all others by their shape.

extension Connection {
  /// Runs an update or delete by a condition, or an insert from a query; returns the number of rows changed.
  func change(_ tree: StatementTree, of table: TableInfo) throws -> Int {
    try runToEnd(prepared(tree, table: table))
  }

  /// Runs a statement about one struct: an insert returns the row's id, an update or delete the number of rows changed.
  func change(_ tree: StatementTree, of table: TableInfo, _ row: RowValues) throws -> Int {
    let statement = try prepared(tree, table: table, row: row)
    guard case .insert(let query) = tree else { return try runToEnd(statement) }
    defer { finish(statement) }
    return try insert(statement, query, row: row)
  }

  /// Runs a change whose values are bound, and returns the number of rows that it changed.
  func runToEnd(_ statement: PreparedStatement) throws -> Int {
    defer { finish(statement) }
    return try stepToEnd(statement)
  }

  /// The same for a statement that the caller finishes.
  func stepToEnd(_ statement: PreparedStatement) throws -> Int {
    while try statement.step() {}
    return changes
  }

  /// The compiled statement of a query, with its values bound.
  func prepared(_ query: SelectQuery, of kind: SqlBuffer.KeyKind) throws -> (statement: PreparedStatement, hasKey: Bool)
  {
    try prepared(kind) { try SelectWriter(sql: sql, parameters: parameters).write(statement: query) }
  }

  /// The compiled statement of a change without structs, with its values bound.
  func prepared(_ tree: StatementTree, table: TableInfo) throws -> PreparedStatement {
    try prepared(.statement) { try write(tree, table, .none) }.statement
  }

  private func write(_ tree: StatementTree, _ table: TableInfo, _ row: RowValues) throws {
    let writer = StatementWriter(table: table, sql: sql, parameters: parameters)
    try writer.write(tree, row: row)
    guard !sql.isKey else { return }
    try check(tree, table)
    guard case .insert(let query) = tree else { return }
    let omitted = OmittedKey(try writer.omittedKey(of: query, row), of: table)
    let isAssigned = try withoutRules { try isKeyAssigned(omitted) }
    if isAssigned { return }
    guard table.keyIsRowid, !query.isUpsert, query.rest.value.returned == nil else { return }
    // The default of a key that is no rowid, although the model's declaration makes one.
    guard Library.hasReturning else {
      throw SqlError.misuse(Library.needed(for: "the id of a row whose key has a default", since: 35))
        .at(table: table.name)
    }
    sql.append(" RETURNING ")
    writer.writeList([table.columns[table.key[0]].definition.quotedName])
  }

  /// The compiled statement that `write` writes, with its values bound; found by its key or, if `write` refuses a key,
  /// by its text. `write` is called once for each of the two that is needed.
  @inline(__always)
  func prepared(
    _ kind: SqlBuffer.KeyKind, write: () throws -> Void
  ) throws -> (statement: PreparedStatement, hasKey: Bool) {
    let mark = parameters.mark
    sql.begin(key: kind)
    // Writing the text reports the error.
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

  /// The compiled statement for a struct with these values, with the values bound. They must stay valid until its run
  /// ends.
  func prepared(_ tree: StatementTree, table: TableInfo, row: RowValues) throws -> PreparedStatement {
    guard let plain = tree.plainChange, let shape = row.shape, plain.isInsert || row.holdsKey(of: table) else {
      return try prepared(.statement) { try write(tree, table, row) }.statement
    }
    let mark = parameters.mark
    sql.begin(key: .row)
    sql.append(plain.verb)
    if let conflict = plain.conflict { sql.append(conflict.sql) }
    sql.append(address: table)
    sql.append(word: shape)
    let statement: PreparedStatement
    do {
      statement = try prepareBuffered {
        sql.begin()
        try write(tree, table, row)
        parameters.drop(since: mark)
      }
    } catch {
      parameters.release(to: mark)
      throw error
    }
    do {
      try statement.bind(row, as: plain, key: table.key)
    } catch {
      finish(statement)
      throw error
    }
    return statement
  }
}

extension Connection {
  /// The compiled statement that inserts so many structs, each of which sets the same columns, without a conflict
  /// policy; nothing is bound.
  func preparedInsert(_ query: InsertQuery, of rows: Int, setting shape: UInt64) throws -> PreparedStatement {
    let (table, mark) = (query.table, parameters.mark)
    defer { parameters.release(to: mark) }
    sql.begin(key: .row)
    sql.append("INSERT")
    sql.append(address: table)
    sql.append(word: shape)
    // A single one is found by the key of a struct's insert.
    if rows > 1 { sql.append(word: UInt64(rows)) }
    return try prepareBuffered {
      // The text depends on which columns are set, and on no value.
      let slots = ParameterSlots(count: table.count)
      slots.memory.update(repeating: .null)
      let row = RowValues(slots: UnsafeMutableBufferPointer(rebasing: slots.memory[..<table.count]), shape: shape)
      sql.begin()
      try write(.insert(query), table, row)
      let placeholders = repeatElement("?", count: shape.nonzeroBitCount).joined(separator: ", ")
      for _ in 1..<rows { sql.append(text: ", (\(placeholders))") }
    }
  }

  /// Throws if the statement would make a full-text index stale: the triggers that update it do not fire for rows that
  /// REPLACE deletes.
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
  /// Returns whether SQLite assigns the part of the key that an insert leaves out, or there is none.
  ///
  /// Throws if the insert would store NULL in it: no struct could update or delete that row.
  func isKeyAssigned(_ omitted: OmittedKey?) throws -> Bool {
    guard let omitted else { return true }
    let (table, database) = (omitted.table, omitted.database)
    // Compiled and not run, so that traces and counts of ordinary inserts do not see it: SQLite names the result after
    // the column that is the rowid. A column named _rowid_ hides the rowid.
    if let rowid = omitted.rowid, !rowid.isSameName(as: "_rowid_") {
      var sql = "SELECT _rowid_ FROM \(table.quotedName(inDatabase: database))"
      let named = try? sql.withUTF8 { try compileFirst($0, isInternal: true).statement?.readColumnNames().first }
      if let named, named.isSameName(as: rowid) { return true }
    }
    var nullable: Set<[UInt8]> = []
    var isAssigned = true
    // By the table and not the model: SQL that created it may have an expression as the default, or an INTEGER key,
    // which SQLite assigns.
    let pragma = "table_xinfo".quotedName(inDatabase: database)
    let isRowid = try omitted.isSingle && !hasKeyIndex(of: table, in: database)
    for row in try rows("PRAGMA \(pragma)(\(table.quotedName))") {
      let (name, isNotNull, value, isKey) = (row[1], row[3] != "0", row[4], row[5] != "0")
      let hasDefault = !value.isEmpty && !value.isSameName(as: "NULL")
      guard isKey, !isRowid, omitted.columns.contains(where: { $0.isSameName(as: name) }) else { continue }
      isAssigned = false
      // An integer key that is no rowid is never assigned, so NOT NULL can only fail.
      if !isNotNull || omitted.isInteger, !hasDefault { nullable.insert(name.foldedName) }
    }
    guard let column = omitted.columns.first(where: { nullable.contains($0.foldedName) }) else { return isAssigned }
    throw SqlError.misuse(
      "the struct has no value for its key \(table).\(column), and the column has no default"
    ).at(table: table, column: column)
  }

  /// True if a table has an index of its primary key: such a key is not the rowid.
  package func hasKeyIndex(of table: String, in database: String?) throws -> Bool {
    let pragma = "index_list".quotedName(inDatabase: database)
    return try rows("PRAGMA \(pragma)(\(table.quotedName))").contains { $0[3] == "pk" }
  }
}

/// A change of one struct that is fully described by its columns and a conflict policy.
private struct PlainChange {
  enum Form {
    case insert, save, update, delete
  }

  let form: Form
  let conflict: ConflictPolicy?

  var isInsert: Bool { form == .insert || form == .save }

  /// Distinguishes the form in a key.
  var verb: StaticString {
    switch form {
    case .insert: "INSERT"
    case .save: "INSERT OR UPDATE"
    case .update: "UPDATE"
    case .delete: "DELETE"
    }
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

  /// The statement as a change of one struct; nil if there is more to it.
  fileprivate var plainChange: PlainChange? {
    switch self {
    case .insert(let query) where query.rest.isDefault && query.form != .query:
      PlainChange(form: query.form == .save ? .save : .insert, conflict: query.conflict)
    case .update(let query) where query.isRowLevel && query.rest.isDefault && query.selection.isAll:
      PlainChange(form: .update, conflict: query.conflict)
    case .delete(let query) where query.isRowLevel && query.rest.isDefault && query.selection.isAll:
      PlainChange(form: .delete, conflict: nil)
    default: nil
    }
  }
}

extension PreparedStatement {
  /// Binds a struct's values in the order in which the statement of this form names them.
  fileprivate func bind(_ row: RowValues, as change: PlainChange, key: [Int]) throws {
    switch change.form {
    case .insert, .save: try bindInsert(row)
    case .update:
      var index: Int32 = 0
      try row.eachValue(except: key) { value in
        index += 1
        try bind(value, at: index)
      }
      for position in key {
        index += 1
        try bind(row[position], at: index)
      }
    case .delete:
      for (index, position) in key.enumerated() { try bind(row[position], at: Int32(index + 1)) }
    }
  }

  /// Binds a struct's values to an INSERT of the same columns.
  func bindInsert(_ row: RowValues) throws {
    var index: Int32 = 0
    try row.eachValue { value in
      index += 1
      try bind(value, at: index)
    }
  }
}

extension RowValues {
  /// True if the struct has a key to find its row by. If not, the writer throws.
  fileprivate func holdsKey(of table: TableInfo) -> Bool {
    !table.key.isEmpty
      && table.key.allSatisfy { position in
        switch self[position] {
        case .unset, .null: false
        default: true
        }
      }
  }
}
