// How statements are run. The loops over rows are inlinable: in the module of the model they become one loop without
// dynamic calls.

extension Statement where Output == [Model] {
  /// Reads the rows. Throws `.schema` when table or column is missing, `.decoding` when a value does not fit the struct.
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> [Model] {
    let table = try TableInfo.of(Model.self)
    return try db.locked {
      let statement = try db.prepare(query, of: table)
      defer { db.finish(statement) }
      let run = db.beginRun()
      defer { db.endRun(run) }
      var models: [Model] = []
      while try statement.step() { models.append(try Model(row: ReadRow(statement))) }
      return models
    }
  }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  ///
  /// ```swift
  /// try Bicycle.read().forEach(db) { bike in
  ///   print(bike.name)
  ///   return bike.id == 100 ? .stop : .continue
  /// }
  /// ```
  ///
  /// Other statements may be run on the handle meanwhile, this one included. Rows that are changed meanwhile may or may
  /// not be seen. Other threads that use this handle wait.
  // Disfavored: a closure of several lines without a return would be ambiguous.
  @_disfavoredOverload
  @inlinable
  public func forEach(_ db: SqliteDatabase, _ body: (Model) throws -> Iteration) throws {
    let table = try TableInfo.of(Model.self)
    return try db.locked {
      let statement = try db.prepare(query, of: table)
      defer { db.finish(statement) }
      while try statement.step() {
        if try body(Model(row: ReadRow(statement))) == .stop { return }
      }
    }
  }

  /// Reads row after row without keeping them; what `body` returns is of no interest, unless it is ``Iteration/stop``.
  @inlinable
  public func forEach<Outcome>(_ db: SqliteDatabase, _ body: (Model) throws -> Outcome) throws {
    let table = try TableInfo.of(Model.self)
    return try db.locked {
      let statement = try db.prepare(query, of: table)
      defer { db.finish(statement) }
      while try statement.step() {
        // Asked of the value: which of the two forms was called is the compiler's choice, not the user's.
        if try body(Model(row: ReadRow(statement))) as? Iteration == .stop { return }
      }
    }
  }
}

/// Whether a loop over rows goes on.
public enum Iteration: Sendable {
  case `continue`, stop
}

extension Statement where Output == Model? {
  /// Reads the row, or nil when there is none.
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> Model? {
    let table = try TableInfo.of(Model.self)
    return try db.locked {
      let statement = try db.prepare(query, of: table)
      defer { db.finish(statement) }
      let run = db.beginRun()
      defer { db.endRun(run) }
      return try statement.step() ? try Model(row: ReadRow(statement)) : nil
    }
  }
}

extension Statement where Output == Bool {
  /// Tells whether there is such a row.
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> Bool { try db.integer(of: query, TableInfo.of(Model.self)) != 0 }
}

extension Statement where Output == Int {
  /// Runs it: a count gives the number of rows, an insert the row's id, an update or delete the number of rows changed.
  @discardableResult
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> Int {
    let table = try TableInfo.of(Model.self)
    guard query.kind.takesRows else { return try db.runWithoutRow(query, of: table) }
    return try db.runRow(query, of: table) { writer in try rows.take(0, into: &writer) }
  }
}

extension Statement where Output == [Int] {
  /// Inserts the rows in one transaction, or in a savepoint inside the open one, and gives their ids in order.
  ///
  /// When one of them fails none is stored.
  @discardableResult
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> [Int] {
    let (table, count) = (try TableInfo.of(Model.self), rows.count)
    if count == 0 { return [] }
    var ids: [Int] = []
    ids.reserveCapacity(count)
    var index = 0
    if case .models(let models) = rows {
      try models.withUnsafeBufferPointer { models in
        try db.insert(query, of: table) {
          ids.append($0)
        } take: { writer in
          guard index < models.count else { return false }
          try writer.take(models[index])
          index += 1
          return true
        }
      }
    } else {
      try db.insert(query, of: table) {
        ids.append($0)
      } take: { writer in
        index += 1
        return try rows.take(index - 1, into: &writer)
      }
    }
    return ids
  }
}

// MARK: - The steps, the same for all models

extension SqliteDatabase {
  /// A read, compiled, bound and ready for its first step; the lock is held.
  @usableFromInline
  func prepare(_ query: Query, of table: TableInfo) throws -> PreparedStatement {
    let connection = try openConnection()
    try checkTransactionIsAlive()
    let statement: PreparedStatement
    do { statement = try connection.prepared(query, table: table) } catch { throw placed(error, in: table) }
    statement.expectColumns(table.identities, count: table.count)
    return statement
  }

  @usableFromInline
  func finish(_ statement: PreparedStatement) {
    statement.connection.finish(statement)
  }

  /// The integer that a read gives.
  @usableFromInline
  func integer(of query: Query, _ table: TableInfo) throws -> Int {
    try locked {
      let statement = try prepare(query, of: table)
      defer { finish(statement) }
      return try statement.step() ? Int(statement.integer(at: 0)) : 0
    }
  }

  /// Runs a count, or an update or delete by a condition.
  @usableFromInline
  func runWithoutRow(_ query: Query, of table: TableInfo) throws -> Int {
    guard query.kind.changesRows else { return try integer(of: query, table) }
    do {
      return try locked {
        let run = beginRun()
        defer { endRun(run) }
        return try writing { connection in
          let statement = try connection.prepared(query, table: table)
          defer { connection.finish(statement) }
          while try statement.step() {}
          return connection.changes
        }
      }
    } catch { throw placed(error, in: table) }
  }

  /// Runs a statement about one struct, whose values `take` writes: an insert gives the row's id, an update or delete the
  /// number of rows changed.
  @usableFromInline
  func runRow(_ query: Query, of table: TableInfo, take: (inout RowWriter) throws -> Bool) throws -> Int {
    do {
      return try locked {
        let connection = try openConnection()
        try checkTransactionIsAlive()
        let run = beginRun()
        defer { endRun(run) }
        var writer = RowWriter(table: table, buffer: connection.parameters)
        defer { writer.finish() }
        let mark = connection.parameters.mark
        defer { connection.parameters.release(to: mark) }
        // Before the write begins: the struct's own code may write and observe too, and what it does is not the statement's.
        do {
          guard try take(&writer) else { return 0 }
        } catch { throw connection.labelled(error) }
        return try writing { connection in
          let statement = try connection.prepared(query, table: table, row: writer.values)
          defer { connection.finish(statement) }
          if query.kind.isInsert {
            return try connection.insert(statement, isSave: query.kind == .save, table: table, row: writer.values)
          }
          while try statement.step() {}
          return connection.changes
        }
      }
    } catch { throw placed(error, in: table) }
  }

  /// Inserts structs, whose values `take` writes one after the other until it returns false, and gives `note` their ids.
  @usableFromInline
  func insert(
    _ query: Query, of table: TableInfo, note: (Int) -> Void, take: (inout RowWriter) throws -> Bool
  ) throws {
    do {
      try locked {
        let connection = try openConnection()
        try checkTransactionIsAlive()
        let run = beginRun()
        defer { endRun(run) }
        var batch = InsertBatch(query: query, table: table, connection: connection)
        var writer = RowWriter(table: table, buffer: connection.parameters)
        defer { writer.finish() }
        try writing(asOne: false) { _ in
          defer { batch.finish() }
          while true {
            let mark = connection.parameters.mark
            defer { connection.parameters.release(to: mark) }
            do {
              guard try take(&writer) else { return }
            } catch { throw connection.labelled(error) }
            try refreshObservation()
            note(try batch.insert(writer.values))
          }
        }
      }
    } catch { throw placed(error, in: table) }
  }
}

extension StatementRows {
  @inlinable
  var count: Int {
    switch self {
    case .none: 0
    case .models(let models): models.count
    case .stored(let rows): rows.count
    }
  }

  /// Writes a row's values into `writer`; false when there is no such row.
  @inlinable
  func take(_ index: Int, into writer: inout RowWriter) throws -> Bool {
    switch self {
    case .models(let models) where models.indices.contains(index): try writer.take(models[index])
    case .stored(let rows) where rows.indices.contains(index): try writer.take(rows[index])
    default: return false
    }
    return true
  }
}
