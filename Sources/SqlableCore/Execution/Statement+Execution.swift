// Running statements. Inlinable loops over rows are specialized for the model and make no dynamic calls.

extension Statement where Output == [Model] {
  /// Reads one row after another without keeping them, until `body` returns ``Iteration/stop``.
  ///
  /// ```swift
  /// try Bicycle.read().forEach(db) { bike in
  ///   print(bike.name)
  ///   return bike.id == 100 ? .stop : .continue
  /// }
  /// ```
  ///
  /// `body` can run other statements on the handle, and this statement too. Changes that these statements make might or
  /// might not appear in later rows. Other threads that use this handle wait.
  // Disfavored: otherwise a closure of several statements without a return would match both overloads.
  @_disfavoredOverload
  @inlinable
  public func forEach(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line, _ body: (Model) throws -> Iteration
  ) throws {
    let isTraced = try db.beginCall(file, line)
    defer { if isTraced { db.endCall() } }
    let reading = try db.beginReading(tree, isLoop: true)
    defer { db.endReading(reading) }
    while try reading.step() {
      if try body(reading.row.model()) == .stop { return }
    }
  }

  /// Reads one row after another without keeping them. Ignores the value that `body` returns, unless that value is
  /// ``Iteration/stop``.
  @inlinable
  public func forEach<Outcome>(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line, _ body: (Model) throws -> Outcome
  ) throws {
    let isTraced = try db.beginCall(file, line)
    defer { if isTraced { db.endCall() } }
    let reading = try db.beginReading(tree, isLoop: true)
    defer { db.endReading(reading) }
    while try reading.step() {
      // Check at run time, because the compiler can choose this overload for a closure that returns `Iteration`.
      if try body(reading.row.model()) as? Iteration == .stop { return }
    }
  }
}

extension Statement {
  /// The query of an insert. Throws `.invalidStatement` for any other statement.
  @usableFromInline
  var insertQuery: InsertQuery {
    get throws {
      let table = try tree.table
      if case .insert(let query) = tree { return query }
      throw SqlError.invalidStatement("only an insert can have several structs").at(table: table.name)
    }
  }
}

/// The answer of a loop's closure: to continue with the next row, or to stop the loop.
public enum Iteration: Sendable {
  case `continue`, stop
}

extension Statement: Runnable {
  /// Runs the statement on a handle; only executors call this method. A read returns an array, or one row or nil. A
  /// count returns a number, and `exists` a Bool. An insert returns the id of its row, or an array of ids in the order
  /// of the rows. An update or delete returns the number of rows changed. With `returning`, a change returns its rows.
  ///
  /// An insert of several rows runs in one transaction, or in a savepoint inside an open transaction. If one row fails,
  /// no row is stored.
  @_disfavoredOverload
  @discardableResult
  @inlinable
  public func run(_ db: SqliteDatabase) throws -> Output {
    // If the statement's type is known at compile time, the compiler removes all branches but one.
    if Output.self == [Model].self { return try identical(models(db)) }
    if Output.self == Model?.self { return try identical(firstModel(db)) }
    if Output.self == Int.self { return try identical(number(db)) }
    if Output.self == [Int].self { return try identical(insertedIds(db)) }
    return try identical(db.runWithoutRow(tree) != 0)
  }

  @inlinable
  func models(_ db: SqliteDatabase) throws -> [Model] {
    guard !tree.changesRows else { return try returned(db, tree.table) }
    let reading = try db.beginReading(tree)
    defer { db.endReading(reading) }
    var models: [Model] = []
    while try reading.step() { models.append(try reading.row.model()) }
    return models
  }

  @inlinable
  func firstModel(_ db: SqliteDatabase) throws -> Model? {
    guard !tree.changesRows else { return try returned(db, tree.table).first }
    let reading = try db.beginReading(tree)
    defer { db.endReading(reading) }
    return try reading.step() ? try reading.row.model() : nil
  }

  @inlinable
  func number(_ db: SqliteDatabase) throws -> Int {
    guard tree.takesRows else { return try db.runWithoutRow(tree) }
    guard let run = try db.beginRow(tree) else { return try otherNumber(db) }
    // The struct is written here, because a closure for the writing would add two calls to each run.
    let isWritten: Bool
    do { isWritten = try rows.take(0, into: &run.writer.pointee) } catch { throw db.cancel(run, because: error) }
    guard isWritten else {
      db.cancel(run)
      return 0
    }
    return try db.finish(run, tree)
  }

  @inlinable
  @inline(never)
  func otherNumber(_ db: SqliteDatabase) throws -> Int {
    try db.runRow(tree) { writer in try rows.take(0, into: &writer) }
  }

  @inlinable
  func insertedIds(_ db: SqliteDatabase) throws -> [Int] {
    let (query, count) = (try insertQuery, rows.count)
    // `locked` throws if the handle is closed.
    if count == 0 { return try db.locked { [] } }
    var ids: [Int] = []
    ids.reserveCapacity(count)
    var index = 0
    if case .models(let models) = rows {
      try models.withUnsafeBufferPointer { models in
        try models.withMemoryRebound(to: Borrowed<Model>.self) { models in
          try db.insert(query, count: count) {
            ids.append($0)
          } take: { writer in
            guard index < models.count else { return false }
            try models[index].write(to: &writer)
            index += 1
            return true
          }
        }
      }
    } else {
      try db.insert(query, count: count) {
        ids.append($0)
      } take: { writer in
        index += 1
        return try rows.take(index - 1, into: &writer)
      }
    }
    return ids
  }
}

/// Casts a value to the result's type without copying the value. A copy of a model takes 400 instructions.
@inlinable
func identical<Value, Output>(_ value: consuming Value, as type: Output.Type = Output.self) throws -> Output {
  guard Value.self == Output.self else { throw SqlError.withoutResult(of: Output.self) }
  return unsafeBitCast(value, to: Output.self)
}

extension SqlError {
  @usableFromInline
  static func withoutResult(of type: Any.Type) -> SqlError { .invalidStatement("a statement can't return \(type)") }
}

// MARK: - Steps shared by all models

// `reading`, `running` and `writing` are inlined together with their closures. Passing a closure to another function
// would copy the statement.

extension SqliteDatabase {
  /// Starts a read: compiles and binds the statement. With `isLoop`, the caller may end transactions during the read.
  @usableFromInline
  func beginReading(_ tree: StatementTree, isLoop: Bool = false) throws -> StatementRun {
    if let read = tree.integerKeyRead { return try beginReading(read, isLoop: isLoop) }
    return try beginOtherReading(tree, isLoop: isLoop)
  }

  // A separate function: inlined into `beginReading`, this code would make a read by key copy the query too.
  @inline(never)
  private func beginOtherReading(_ tree: StatementTree, isLoop: Bool) throws -> StatementRun {
    guard case .select(let query) = tree else {
      throw SqlError.invalidStatement("a loop can't run a change with RETURNING; use run").at(
        table: tree.tableInfo.name)
    }
    return try beginReading(modelsOf: query, isLoop: isLoop)
  }

  package func beginReading(modelsOf query: SelectQuery, isLoop: Bool = false) throws -> StatementRun {
    let table = query.table
    try table.checkDeclarations()
    return try reading(of: table, isLoop: isLoop) { connection in
      let statement = try connection.prepared(query, of: .statement).statement
      statement.expectColumns(table.identities, count: table.count)
      return statement
    }
  }

  package func integer(of query: SelectQuery) throws -> Int {
    let reading = try beginReading(modelsOf: query)
    defer { endReading(reading) }
    return try reading.integer()
  }

  /// Runs a count, or an update or delete with a condition.
  @usableFromInline
  func runWithoutRow(_ tree: StatementTree) throws -> Int {
    if case .select(let query) = tree { return try integer(of: query) }
    let table = try tree.table
    return try running(of: table) { connection in
      try writing(on: connection) { try connection.change(tree, of: table) }
    }
  }

  /// Runs a statement that takes one struct, such as an upsert. A ``PlainChange`` has a faster path. `take` writes the
  /// struct's values. Returns an insert's row id, or else the number of rows changed.
  @usableFromInline
  func runRow(_ tree: StatementTree, take: (inout RowWriter) throws -> Bool) throws -> Int {
    let table = try tree.table
    return try running(of: table) { connection in
      var writer = RowWriter(table: table, buffer: connection.parameters, written: tree.writtenColumns)
      defer { writer.finish(connection.parameters) }
      // `take` calls the struct's own code before the write starts, because this code can run other writes, which do
      // not belong to this statement.
      return try writer.withRow(in: connection.parameters, take) { row in
        // Without RETURNING, an upsert has a second part that reads the id of the updated row.
        try writing(on: connection, atomically: Library.hasReturning || !tree.isUpsert) {
          try connection.change(tree, of: table, row)
        }
      } ?? 0
    }
  }

  /// Inserts the structs that `take` writes until it returns false. Passes each id to `note`. Returns the number of
  /// rows.
  @discardableResult
  @usableFromInline
  func insert(
    _ query: InsertQuery, note: (Int) -> Void, take: (inout RowWriter) throws -> Bool
  ) throws -> Int {
    try running(of: query.table) { connection in
      var batch = InsertBatch(query: query, table: query.table, connection: connection)
      defer { batch.finish() }
      var count = 0
      try writeEachRow(of: .insert(query), on: connection, take) { row in
        note(try batch.insert(row))
        count += connection.changes
      }
      return count
    }
  }

  /// Inserts `count` structs, several per statement if possible. `take` writes the next struct; `note` gets each id.
  @usableFromInline
  func insert(
    _ query: InsertQuery, count: Int, note: (Int) -> Void, take: (inout RowWriter) throws -> Bool
  ) throws {
    guard count >= RowGroup.minimumBatch else {
      _ = try insert(query, note: note, take: take)
      return
    }
    try running(of: query.table) { connection in
      var batch = InsertBatch(query: query, table: query.table, connection: connection)
      defer { batch.finish() }
      try writing(on: connection, atomically: false) {
        guard var group = try RowGroup(query, on: connection) else {
          return try eachRow(of: .insert(query), on: connection, take) { row in note(try batch.insert(row)) }
        }
        defer { group.finish() }
        try insert(&group, &batch, on: connection, note: note, take: take)
      }
    }
  }

  private func insert(
    _ group: inout RowGroup, _ batch: inout InsertBatch, on connection: Connection, note: (Int) -> Void,
    take: (inout RowWriter) throws -> Bool
  ) throws {
    let bytes = connection.parameterBytes
    var index = 0
    func insertWaitingRows() throws {
      try checkTransactionIsAlive(connection)
      try refreshObservation()
      try group.insert(with: &batch, from: index - group.count, note: note)
    }
    defer { group.clear() }
    while true {
      group.begin()
      let mark = bytes.pointee.beginRow()
      do { guard try take(&group.writer) else { break } } catch { throw error.inBatch(index) }
      if try group.add() {
        bytes.pointee.keep(since: mark)
        index += 1
        guard group.isFull || bytes.pointee.hasGrown(since: mark) else { continue }
        try insertWaitingRows()
      } else {
        try insertWaitingRows()
        do { note(try batch.insert(group.writer.values)) } catch { throw error.inBatch(index) }
        index += 1
      }
      group.clear()
    }
    try insertWaitingRows()
  }

  /// Calls `write` with the values of each struct, until `take` returns false. All calls run in one
  /// transaction or savepoint, so a failure undoes all of them.
  func writeEachRow(
    of tree: StatementTree, on connection: Connection, isBatch: Bool = true, _ take: (inout RowWriter) throws -> Bool,
    _ write: (RowValues) throws -> Void
  ) throws {
    try writing(on: connection, atomically: false) {
      try eachRow(of: tree, on: connection, isBatch: isBatch, take, write)
    }
  }

  private func eachRow(
    of tree: StatementTree, on connection: Connection, isBatch: Bool = true, _ take: (inout RowWriter) throws -> Bool,
    _ write: (RowValues) throws -> Void
  ) throws {
    var writer = RowWriter(
      table: try tree.table, buffer: connection.parameters, written: tree.writtenColumns)
    defer { writer.finish(connection.parameters) }
    var index = 0
    while true {
      do {
        let isWritten: Void? = try writer.withRow(in: connection.parameters, take) { row in
          try checkTransactionIsAlive(connection)
          try refreshObservation()
          try write(row)
        }
        if isWritten == nil { return }
      } catch { throw isBatch ? error.inBatch(index) : error }
      index += 1
    }
  }
}

extension RowWriter {
  /// Calls `body` with the values that `take` writes, then discards the values. Returns nil if `take` returns false.
  @inline(__always)
  fileprivate mutating func withRow<Value>(
    in parameters: ParameterBuffer, _ take: (inout RowWriter) throws -> Bool, _ body: (RowValues) throws -> Value
  ) throws -> Value? {
    let mark = parameters.mark
    defer { parameters.release(to: mark) }
    return try take(&self) ? try body(values) : nil
  }
}

extension Statement where Output == [Int] {
  /// Inserts structs as a sequence produces them, in constant memory. Returns the number of rows inserted.
  ///
  /// ```swift
  /// try Bicycle.insert().run(db, streaming: lines.lazy.map(Bicycle.init))
  /// ```
  ///
  /// All inserts run in one transaction, or in a savepoint inside an open transaction. If one insert fails, no row is
  /// stored. Structs that were passed to `insert` are inserted first. The handle's lock is held until the end, so a
  /// slow sequence blocks other writers of the file and other threads that use the handle.
  @discardableResult
  @inlinable
  public func run(
    _ db: SqliteDatabase, streaming rows: some Sequence<Model>, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Int {
    var rows = rows.makeIterator()
    return try run(db, file: file, line: line) { rows.next() }
  }

  /// Inserts the structs that `next` returns, in constant memory, until `next` returns nil. Returns the number of rows
  /// inserted.
  ///
  /// ```swift
  /// try Bicycle.insert().run(db) { try reader.next() }
  /// ```
  ///
  /// Rethrows the errors of `next`; after an error nothing is stored. ``run(_:streaming:file:line:)`` describes the
  /// transaction and the lock.
  @discardableResult
  @inlinable
  public func run(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line, next: () throws -> Model?
  ) throws -> Int {
    let isTraced = try db.beginCall(file, line)
    defer { if isTraced { db.endCall() } }
    let (query, count) = (try insertQuery, rows.count)
    var index = 0
    return try db.insert(query) { _ in
    } take: { writer in
      if index < count {
        index += 1
        return try rows.take(index - 1, into: &writer)
      }
      guard let model = try next() else { return false }
      try writer.take(model)
      return true
    }
  }
}
