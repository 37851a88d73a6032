// Finding the compiled statement of a query. What a service runs again and again is found without writing its text:
// statements about one struct by the columns that the struct gives, all others by their shape.

extension Connection {
  /// Runs an update or delete by a condition and gives the number of rows changed.
  func change(_ query: Query, of table: TableInfo) throws -> Int {
    let statement = try prepared(query, table: table)
    defer { finish(statement) }
    while try statement.step() {}
    return changes
  }

  /// Runs a statement about one struct: an insert gives the row's id, an update or delete the number of rows changed.
  func change(_ query: Query, of table: TableInfo, _ row: RowValues) throws -> Int {
    let statement = try prepared(query, table: table, row: row)
    defer { finish(statement) }
    if query.kind.isInsert { return try insert(statement, query, table: table, row: row) }
    while try statement.step() {}
    return changes
  }

  /// The compiled statement of a query without rows, with its values bound.
  func prepared(_ query: Query, table: TableInfo) throws -> PreparedStatement {
    try prepared(.statement) {
      if !sql.isKey { try check(query, table) }
      try StatementWriter(table: table, sql: sql, parameters: parameters).write(query)
    }.statement
  }

  /// The compiled statement that `write` writes, with its values bound: found by its key, or, where that says that there
  /// is none, by its text. It is called once for each that is needed.
  @inline(__always)
  func prepared(
    _ kind: SqlBuffer.KeyKind, write: () throws -> Void
  ) throws -> (statement: PreparedStatement, hasKey: Bool) {
    let mark = parameters.mark
    sql.begin(key: kind)
    // What is wrong with it the text tells.
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

  /// The compiled statement for a struct with these values, with the values bound. They must stay until its run is
  /// over.
  func prepared(_ query: Query, table: TableInfo, row: RowValues) throws -> PreparedStatement {
    func write() throws {
      if !sql.isKey { try check(query, table) }
      try StatementWriter(table: table, sql: sql, parameters: parameters).write(query, row: row)
    }
    guard query.isPlain, let shape = row.shape, query.kind.isInsert || row.holdsKey(of: table) else {
      return try prepared(.statement, write: write).statement
    }
    let mark = parameters.mark
    sql.begin(key: .row)
    sql.append(query.kind.verb)
    if let conflict = query.conflict { sql.append(conflict.sql) }
    sql.append(address: table)
    sql.append(word: shape)
    let statement: PreparedStatement
    do {
      statement = try prepareBuffered {
        sql.begin()
        try write()
        parameters.drop(since: mark)
      }
    } catch {
      parameters.release(to: mark)
      throw error
    }
    do {
      try statement.bind(row, as: query.kind, key: table.key)
    } catch {
      finish(statement)
      throw error
    }
    return statement
  }
}

extension Connection {
  /// Throws where the statement would leave an index behind that is not told of the rows that REPLACE deletes.
  func check(_ query: Query, _ table: TableInfo) throws {
    guard query.conflict == .replace, !firesDeleteTriggersOnReplace, case .external = table.fullText?.content else {
      return
    }
    throw SqlError.misuse(
      "REPLACE on a table with a full-text index needs Configuration.recursiveTriggers; an upsert or save() does not"
    ).at(table: table.name)
  }
}

extension Query.Kind {
  /// What tells statements about one struct from another.
  fileprivate var verb: StaticString {
    switch self {
    case .insert, .insertMany: "INSERT"
    case .save: "INSERT OR UPDATE"
    case .update: "UPDATE"
    case .deleteRow: "DELETE"
    case .read, .first, .count, .exists, .insertQuery, .assign, .delete: "about no struct"
    }
  }
}

extension PreparedStatement {
  /// Binds a struct's values in the order in which the statement of that kind names them.
  fileprivate func bind(_ row: RowValues, as kind: Query.Kind, key: [Int]) throws {
    switch kind {
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
    case .deleteRow:
      for (index, position) in key.enumerated() { try bind(row[position], at: Int32(index + 1)) }
    default: try bindInsert(row)
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
  /// Whether the struct has a row to be found by. Where it has none the writer says so.
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
