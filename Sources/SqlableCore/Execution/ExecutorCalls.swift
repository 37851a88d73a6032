// The calls that every executor inherits from its one method, `run`.

extension SqlExecutor {
  /// Runs SQL and ignores its rows. A handle and a pool accept several statements, separated by `;`.
  ///
  /// ```swift
  /// try db.execute("UPDATE bicycle SET color = \(color) WHERE id = \(id)")     // bound, never pasted
  /// ```
  public func execute(_ sql: SQL, file: StaticString = #fileID, line: UInt = #line) throws {
    try run(sql, file: file, line: line)
  }

  /// Runs SQL text built at run time. Never include external input in the text, because SQLite would run the input as
  /// SQL.
  @_disfavoredOverload
  public func execute(_ sql: String, file: StaticString = #fileID, line: UInt = #line) throws {
    try run(SQL(verbatim: sql), file: file, line: line)
  }

  /// Returns the rows of a query as structs. Columns are matched by name, in any order; additional columns are ignored.
  public func query<Model: Sqlable>(
    _ sql: SQL, as model: Model.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Model] {
    try run(sql.rows(as: model), file: file, line: line)
  }

  /// Returns the values of a query with a single column.
  public func query<Value: SqlValue>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Value] {
    try run(sql.rows(as: type), file: file, line: line)
  }

  /// Returns the rows of a query with all columns.
  public func query(
    _ sql: SQL, as type: DynamicRow.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [DynamicRow] {
    try run(sql.rows(as: type), file: file, line: line)
  }

  /// Returns the rows of a query as tuples of values and models.
  public func query<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> [(First, Second, repeat each Output)] {
    try run(sql.rows(as: first, second, repeat each type), file: file, line: line)
  }
}

extension AsyncSqlExecutor {
  /// Runs SQL and ignores its rows. A pool accepts several statements, separated by `;`.
  public func execute(_ sql: SQL, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await run(sql, file: file, line: line)
  }

  /// Runs SQL text built at run time. Never include external input in the text, because SQLite would run the input as
  /// SQL.
  @_disfavoredOverload
  public func execute(_ sql: String, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await run(SQL(verbatim: sql), file: file, line: line)
  }

  /// Returns the rows of a query as structs. Columns are matched by name, in any order; additional columns are ignored.
  public func query<Model: Sqlable & Sendable>(
    _ sql: SQL, as model: Model.Type, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Model] {
    try await run(sql.rows(as: model), file: file, line: line)
  }

  /// Returns the values of a query with a single column.
  public func query<Value: SqlValue>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Value] {
    try await run(sql.rows(as: type), file: file, line: line)
  }

  /// Returns the rows of a query with all columns.
  public func query(
    _ sql: SQL, as type: DynamicRow.Type, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [DynamicRow] {
    try await run(sql.rows(as: type), file: file, line: line)
  }

  /// Returns the rows of a query as tuples of values and models.
  public func query<
    First: SelectOutput & Sendable, Second: SelectOutput & Sendable, each Output: SelectOutput & Sendable
  >(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [(First, Second, repeat each Output)] {
    try await run(sql.rows(as: first, second, repeat each type), file: file, line: line)
  }
}
