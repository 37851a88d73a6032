import SqlableCore

extension AssociatedQuery {
  private func rows(_ db: SqliteDatabase) throws -> [(Root, repeat each Part)] {
    let gathered = try gathering()
    try db.gather(gathered.rows, by: rootQuery)
    var waiting = gathered.rows.levels
    while let next = waiting.popFirst() {
      guard let query = next.query() else { continue }
      try db.gather(next.level, by: query)
      waiting += next.level.levels
    }
    return try gathered.all()
  }

  private var rootQuery: LevelQuery { LevelQuery(root.asSelect().query) }
}

extension AssociatedQuery: Runnable, WrappingWork {
  /// Reads the rows, each with its associated rows.
  ///
  /// If a connecting column of a row is NULL, the row has no associated rows.
  ///
  /// Throws the errors of reads. Also throws `.misuse` in these cases:
  /// - A foreign key references another table or column than the association.
  /// - A foreign key stores text and the referenced column stores numbers, or the reverse.
  /// - A foreign key has a user-defined collation.
  /// - A column is not declared as a foreign key, and the association has no argument `of` with the referenced column.
  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [(Root, repeat each Part)] {
    let levels = db.transactionLevel
    do {
      // Inside an SQL function, the statement that calls the function holds a snapshot, and SQLite can't begin a
      // transaction.
      if try db.isInFunction { return try rows(db) }
      // Use a transaction. Otherwise, a later statement could read commits that the first statement did not read.
      return try db.transaction(.deferred, rows)
    } catch { throw db.errorOfSeparateTransaction(error, levels: levels) }
  }

  package var wrapped: Statement<Root, [Root]> { root }

  /// Reads the rows, then their associated rows, level by level. The levels share no snapshot: a later level can
  /// contain a commit that an earlier level lacks.
  public func run(over transport: some SqlTransport) async throws -> [(Root, repeat each Part)] {
    let gathered = try gathering()
    let request = try sentRequests()[0]
    try gathered.rows.take(try await transport.answer(to: request), of: request, as: rootQuery)
    var waiting = gathered.rows.levels
    while !waiting.isEmpty {
      var sent: [(level: any GatheredLevel, query: LevelQuery, request: SqlRequest)] = []
      for next in waiting {
        guard let query = next.query() else { continue }
        let request = SqlRequest(try query.query.withValues(isRemote: true), isReadOnly: true)
        if let parameter = request.parameter { throw SqlError.unprepared(parameter) }
        sent.append((next.level, query, request))
      }
      guard !sent.isEmpty else { break }
      let answers = try await transport.answers(to: sent.map(\.request))
      guard answers.count == sent.count else { throw SqlError.withoutAnswer }
      waiting = []
      for (sent, answer) in zip(sent, answers) {
        try sent.level.take(answer, of: sent.request, as: sent.query)
        waiting += sent.level.levels
      }
    }
    return try gathered.all()
  }
}

private struct WaitingLevel {
  let level: any GatheredLevel
  /// The values that connect the parent rows with this level's rows, in the order of the parent rows.
  let values: [DatabaseValue]

  func query() -> LevelQuery? { level.query(for: values) }
}

extension GatheredLevel {
  /// The child levels, each with the connecting values of this level's rows.
  fileprivate var levels: ArraySlice<WaitingLevel> {
    childLevels.enumerated().map { WaitingLevel(level: $1, values: values(forLevel: $0)) }[...]
  }

  fileprivate func take(_ answer: SqlAnswer, of request: SqlRequest, as query: LevelQuery) throws {
    try ReceivedRows(answer: answer, sql: request.sql).forEach(.positioned(ResultLayout(query.columns)), take)
  }
}

extension SqliteDatabase {
  fileprivate var isInFunction: Bool {
    get throws { try locked { try openConnection().userCode.isRunning } }
  }

  fileprivate func gather(_ level: some GatheredLevel, by query: LevelQuery) throws {
    let reading = try beginReading(query.query, as: query.columns)
    defer { endReading(reading) }
    while try reading.step() { try level.take(reading.row) }
  }
}
