/// The rows of a statement or query, read and decoded one at a time on request.
///
/// ```swift
/// let bikes = try Bicycle.read().orderBy(Bicycle.name).cursor(db)
/// while let bike = try bikes.next() {
///   if bike.color == "red" { break }
/// }
/// ```
///
/// Between the steps, other code and other threads can use the handle, because a cursor holds the handle's lock only
/// during a step. Changes made between the steps might or might not appear in later rows.
///
/// A cursor keeps its snapshot until the last row is read or the cursor is deallocated. Until then the WAL can't
/// shrink, and the handle can't be closed. A cursor is not `Sendable`: use it on one thread. Releasing a cursor never
/// waits: if another thread holds the handle's lock, that thread ends the snapshot when it releases the lock. Traced
/// events report the file and line that created the cursor.
public final class Cursor<Element> {
  private let core: CursorCore
  private let element: (PreparedStatement) throws -> Element

  init(_ core: CursorCore, _ element: @escaping (PreparedStatement) throws -> Element) {
    self.core = core
    self.element = element
  }

  /// Returns the next row, or nil after the last row.
  ///
  /// Throws for a row that can't be decoded, for example `.decoding`; the next call returns the row after that row.
  /// After any other error there are no more rows.
  public func next() throws -> Element? { try core.next(element) }
}

extension Statement where Output == [Model] {
  /// Returns a cursor that reads row after row. Throws `.invalidStatement` for a change that returns its rows.
  public func cursor(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Cursor<Model> {
    let table = try tree.table
    guard case .select(let query) = tree else {
      throw SqlError.invalidStatement("a cursor can't run a change with RETURNING; use run").at(table: table.name)
    }
    let core = try CursorCore(db, table: table, at: CallSite(file: file, line: line)) { sql, parameters in
      try SelectWriter(sql: sql, parameters: parameters).write(statement: query)
    } expect: {
      $0.expectColumns(table.identities, count: table.count)
    }
    return Cursor(core) { try ReadRow($0).model() }
  }
}

extension Select {
  /// Returns a cursor that reads row after row.
  public func cursor(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Cursor<Row> {
    let layout = ResultLayout(query.clauses.columns)
    let core = try CursorCore(db, table: nil, at: CallSite(file: file, line: line)) { sql, parameters in
      try SelectWriter(sql: sql, parameters: parameters).write(statement: query)
    } expect: {
      $0.expect(layout)
    }
    return Cursor(core) { [read] statement in
      var row = ResultRow(ReadRow(statement), types: layout.types)
      return try read(&row)
    }
  }
}

extension SqlRows {
  /// Returns a cursor that reads row after row.
  ///
  /// ```swift
  /// let names = try SQL("SELECT name FROM bicycle ORDER BY name").rows(as: String.self).cursor(db)
  /// while let name = try names.next() { print(name) }
  /// ```
  ///
  /// Throws `.invalidStatement` for SQL that changes the database, even with RETURNING. If the columns of the result
  /// don't fit the type of the rows, the first `next()` throws `.misuse`.
  public func cursor(
    _ db: SqliteDatabase, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Cursor<Row> {
    let reader = try reader()
    let core = try CursorCore(db, text, reader.columns, at: CallSite(file: file, line: line))
    return Cursor(core) { try reader.read(ReadRow($0)) }
  }
}

/// The compiled statement that a cursor owns. The properties change only while the handle's lock is held.
package final class CursorCore {
  private let db: SqliteDatabase
  private let table: TableInfo?
  /// The bound values, at addresses that do not change.
  private let parameters = ParameterBuffer()
  private var statement: PreparedStatement?
  /// The expected columns of SQL text, until the first step has checked them.
  private var uncheckedColumns: ExpectedColumns?

  init(
    _ db: SqliteDatabase, table: TableInfo?, at site: CallSite, write: (SqlBuffer, ParameterBuffer) throws -> Void,
    expect: (PreparedStatement) throws -> Void
  ) throws {
    self.db = db
    self.table = table
    try db.running(of: table) { connection in
      let mark = parameters.mark
      connection.sql.begin()
      try write(connection.sql, parameters)
      let statement = try connection.prepareBuffered()
      do {
        try expect(statement)
        try connection.bind(statement, parameters, since: mark)
      } catch {
        connection.finish(statement)
        throw error
      }
      connection.tracer?.setCallSite(site, of: TracedStatement(statement.handle))
      connection.openCursors += 1
      self.statement = statement
    }
  }

  /// Creates a cursor over the rows that SQL text returns.
  convenience init(_ db: SqliteDatabase, _ sql: SQL, _ columns: ExpectedColumns, at site: CallSite) throws {
    try self.init(db, table: nil, at: site) {
      try sql.write(to: $0, $1)
    } expect: { statement in
      try statement.checkParameters(count: sql.arguments.count)
      guard statement.isReadOnly, statement.columnCount > 0 else {
        throw SqlError.invalidStatement(
          "the SQL text of a cursor must be a query that changes nothing; use query(_:as:) or execute(_:)")
      }
    }
    uncheckedColumns = columns
  }

  /// Creates a cursor over the rows of the library's own SQL.
  package convenience init(_ db: SqliteDatabase, text: String) throws {
    try self.init(db, table: nil, at: CallSite(file: #fileID, line: #line)) { sql, _ in
      sql.append(text: text)
    } expect: {
      $0.expectAnyColumns()
    }
  }

  deinit {
    guard let owned = statement.map(Unmanaged.passRetained) else { return }
    // From here on, another thread can use and finalize the statement.
    statement = nil
    // Don't wait for the lock, because this could deadlock: a pool's closure holds the lock until its end, and might
    // wait for this thread.
    db.abandon(owned, with: parameters)
  }

  package func next<Element>(_ element: (PreparedStatement) throws -> Element) throws -> Element? {
    guard statement != nil else { return nil }
    return try db.locked {
      let isAtRow: Bool
      do {
        isAtRow = try db.running(of: table) { connection in
          try connection.checkInterruption()
          let isAtRow = try statement?.step() ?? false
          // Check after the first step, because this step detects other processes' schema changes.
          if let columns = uncheckedColumns.take() { try statement?.expect(columns, isAtRow: isAtRow) }
          return isAtRow
        }
      } catch {
        finish()
        throw error
      }
      guard isAtRow, let statement else {
        finish()
        return nil
      }
      let run = db.beginRun()
      defer { db.endRun(run) }
      return try element(statement)
    }
  }

  private func finish() {
    statement?.finishCursor()
    statement = nil
  }
}
