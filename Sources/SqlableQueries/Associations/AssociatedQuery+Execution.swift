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

extension AssociatedQuery: Runnable {
  /// Reads the rows, each with what belongs to it.
  ///
  /// A row whose key is NULL, or to which no row belongs, has none. Throws what reading throws. Throws `.misuse` if a
  /// foreign key refers to another table or column; if it is not declared as one and `of` does not say what it refers
  /// to; if its storage class differs from the key's; or if it has a user-defined collation.
  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [(Root, repeat each Part)] {
    let levels = db.transactionLevel
    do {
      // A statement that calls a function holds its snapshot, and no transaction can begin in it.
      if try db.isInFunction { return try rows(db) }
      // Outside a transaction the statements would see commits that happen between them.
      return try db.transaction(.deferred, rows)
    } catch { throw db.errorOfSeparateTransaction(error, levels: levels) }
  }

  /// The SQL that reads the rows.
  public var sql: String { root.sql }

  public var isReadOnly: Bool { true }

  public func requests() throws -> [SqlRequest] { try root.requests() }

  /// Reads the rows, then what belongs to them, level by level; a commit between two of them shows in the later only.
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

/// A level whose rows above are read.
private struct WaitingLevel {
  let level: any GatheredLevel
  /// The values by which rows of it belong to those above.
  let values: [DatabaseValue]

  func query() -> LevelQuery? { level.query(for: values) }
}

extension GatheredLevel {
  /// The levels below, now that this one has its rows.
  fileprivate var levels: ArraySlice<WaitingLevel> {
    childLevels.enumerated().map { WaitingLevel(level: $1, values: values(forLevel: $0)) }[...]
  }

  /// Takes the rows of an answer.
  fileprivate func take(_ answer: SqlAnswer, of request: SqlRequest, as query: LevelQuery) throws {
    try ReceivedRows(answer: answer, sql: request.sql).forEach(.positioned(ResultLayout(query.columns)), take)
  }
}

extension SqliteDatabase {
  /// Whether a function runs that a statement of this handle calls.
  fileprivate var isInFunction: Bool {
    get throws { try locked { try openConnection().userCode.isRunning } }
  }

  fileprivate func gather(_ level: some GatheredLevel, by query: LevelQuery) throws {
    let reading = try beginReading(query.query, as: query.columns)
    defer { endReading(reading) }
    while try reading.step() { try level.take(reading.row) }
  }
}
