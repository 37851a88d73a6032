// The execution of an insert that returns the existing row, if there is one.

import SqlableCore

extension InsertOrFind: Runnable, WrappingWork {
  package var wrapped: Statement<Model, Int> { insert }

  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Model {
    try check()
    // Return an existing row without the write lock. Compile the insert anyway: compiling throws if the unique index is
    // missing.
    if let row = try find.run(db) {
      try db.compile(insert.sql, of: insert.tree.tableInfo)
      return row
    }
    return try db.transaction { db in
      try insert.run(db)
      return try found(find.run(db))
    }
  }

  public func requests() throws -> [SqlRequest] {
    try check()
    return try insert.requests() + find.requests()
  }

  public func run(over transport: some SqlTransport) async throws -> Model {
    let requests = try sentRequests()
    if let row = try await find.run(over: transport) { return row }
    let answers = try await transport.answers(to: requests, of: self) { _ = try row($0, requests) }
    return try row(answers, requests)
  }

  private func row(_ answers: [SqlAnswer], _ requests: [SqlRequest]) throws -> Model {
    guard answers.count == requests.count, let answer = answers.last, let request = requests.last else {
      throw SqlError.withoutAnswer
    }
    let rows: [Model] = try ReceivedRows(answer: answer, sql: request.sql).map(.positioned(find.layout)) {
      try $0.model()
    }
    return try found(rows.first)
  }

  /// Throws the error of an insert that can't be run, even if the row exists.
  private func check() throws {
    if let defect = insert.tree.defect { throw defect }
  }

  private func found(_ row: Model?) throws -> Model {
    guard let row else {
      let table = insert.tree.tableInfo.name
      throw SqlError(
        .notFound, message: "table \(table) does not have the row that was inserted; a trigger might have changed it"
      ).at(table: table)
    }
    return row
  }
}

extension SqliteDatabase {
  /// Compiles a statement without running it, or finds it in the cache. Throws the error of an invalid statement.
  fileprivate func compile(_ sql: String, of table: TableInfo) throws {
    try running(of: table) { connection in
      connection.sql.begin()
      connection.sql.append(text: sql)
      try connection.finish(connection.prepareBuffered())
    }
  }
}
