extension Statement {
  @usableFromInline
  func returned(_ db: SqliteDatabase, _ table: TableInfo) throws -> [Model] {
    var models: [Model] = []
    try returned(db, table) { statement in
      statement.expectColumns(table.identities, count: table.count)
    } read: { statement in
      models.append(try ReadRow(statement).model())
    }
    return models
  }

  /// Runs the change as one write. `expect` sets the columns of the returned rows, and `read` is called for each row.
  func returned(
    _ db: SqliteDatabase, _ table: TableInfo, expect: (PreparedStatement) -> Void,
    read: (PreparedStatement) throws -> Void
  ) throws {
    var index = 0
    let count = rows.count
    try db.change(tree, of: table, isBatch: count > 1, expect: expect, read: read) { writer in
      guard index < count else { return false }
      index += 1
      return try rows.take(index - 1, into: &writer)
    }
  }
}

extension SqliteDatabase {
  /// Runs a change as one write, and calls `read` for each returned row. Each call of `take` supplies the next struct;
  /// `take` returns false after the last struct.
  fileprivate func change(
    _ tree: StatementTree, of table: TableInfo, isBatch: Bool, expect: (PreparedStatement) -> Void,
    read: (PreparedStatement) throws -> Void, take: (inout RowWriter) throws -> Bool
  ) throws {
    try running(of: table) { connection in
      guard !tree.takesRows else {
        return try writeEachRow(of: tree, on: connection, isBatch: isBatch, take) { row in
          try connection.read(connection.prepared(tree, table: table, row: row), expect, read)
        }
      }
      // SQLite changes all rows before RETURNING returns the first row. A row that can't be decoded must roll back all
      // changes.
      try writing(on: connection, atomically: false) {
        try connection.read(connection.prepared(tree, table: table), expect, read)
      }
    }
  }
}

extension Connection {
  fileprivate func read(
    _ statement: PreparedStatement, _ expect: (PreparedStatement) -> Void, _ body: (PreparedStatement) throws -> Void
  ) throws {
    defer { finish(statement) }
    expect(statement)
    while try statement.step() { try body(statement) }
  }
}

extension Returning {
  var layout: ResultLayout {
    ResultLayout(terms.map { ResultColumn(type: $0.columnDefinition?.type) })
  }
}
