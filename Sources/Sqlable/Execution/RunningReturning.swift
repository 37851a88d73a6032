// Changes that give the rows that they changed.

extension Statement {
  @usableFromInline
  func returned(_ db: SqliteDatabase, _ table: TableInfo) throws -> [Model] {
    var models: [Model] = []
    try returned(db, table) { statement in
      statement.expectColumns(table.identities, count: table.count)
    } read: { statement in
      models.append(try Model(row: ReadRow(statement)))
    }
    return models
  }

  /// Runs the change as one, and calls `read` for each row that it returns, of which `expect` says what it is like.
  func returned(
    _ db: SqliteDatabase, _ table: TableInfo, expect: (PreparedStatement) -> Void,
    read: (PreparedStatement) throws -> Void
  ) throws {
    var index = 0
    let count = rows.count
    try db.change(tree, of: table, expect: expect, read: read) { writer in
      guard index < count else { return false }
      index += 1
      return try rows.take(index - 1, into: &writer)
    }
  }
}

extension SqliteDatabase {
  /// Runs a change as one, and calls `read` for each row that it returns. `take` writes the values of one struct after
  /// the other, for a statement about structs, until it returns false.
  fileprivate func change(
    _ tree: StatementTree, of table: TableInfo, expect: (PreparedStatement) -> Void,
    read: (PreparedStatement) throws -> Void, take: (inout RowWriter) throws -> Bool
  ) throws {
    try running(of: table) { connection in
      guard !tree.takesRows else {
        return try writeEachRow(of: table, on: connection, take) { row in
          try connection.read(connection.prepared(tree, table: table, row: row), expect, read)
        }
      }
      // RETURNING changes all rows before it gives the first, and they would stay changed when one is no struct.
      try writing(on: connection, atomically: false) {
        try connection.read(connection.prepared(tree, table: table), expect, read)
      }
    }
  }
}

extension Connection {
  /// Runs a statement to its end, and lets go of it.
  fileprivate func read(
    _ statement: PreparedStatement, _ expect: (PreparedStatement) -> Void, _ body: (PreparedStatement) throws -> Void
  ) throws {
    defer { finish(statement) }
    expect(statement)
    while try statement.step() { try body(statement) }
  }
}

extension Returning {
  /// Runs the change as one: when a value does not fit its type nothing is changed.
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [Row] {
    let layout = layout
    var rows: [Row] = []
    try change.returned(db, change.tree.table) { statement in
      statement.expect(layout)
    } read: { statement in
      var row = ResultRow(ReadRow(statement), types: layout.types)
      rows.append(try read(&row))
    }
    return rows
  }

  /// What the rows are like.
  var layout: ResultLayout {
    ResultLayout(terms.map { ResultColumn(type: $0.columnDefinition?.type) })
  }
}
