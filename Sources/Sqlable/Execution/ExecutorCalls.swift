// What every executor has, by the one function that it is.

extension SqlExecutor {
  /// Runs SQL whose rows, if any, are of no interest; a handle and a pool take many statements, separated by `;`.
  ///
  /// ```swift
  /// try db.execute("UPDATE bicycle SET color = \(color) WHERE id = \(id)")     // bound, never pasted
  /// ```
  public func execute(_ sql: SQL, file: StaticString = #fileID, line: UInt = #line) throws {
    try run(sql, file: file, line: line)
  }

  /// The rows of a query as structs; the columns are found by their names, in any order, others are passed over.
  public func query<Model: Sqlable>(
    _ sql: SQL, as model: Model.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Model] {
    try run(sql.rows(as: model), file: file, line: line)
  }

  /// The first column of a query's rows.
  public func query<Value: SqlValue>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [Value] {
    try run(sql.rows(as: type), file: file, line: line)
  }

  /// The rows of a query, with all their columns.
  public func query(
    _ sql: SQL, as type: DynamicRow.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [DynamicRow] {
    try run(sql.rows(as: type), file: file, line: line)
  }

  /// The rows of a query as tuples of values and models, from the first column on.
  public func query<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> [(First, Second, repeat each Output)] {
    try run(sql.rows(as: first, second, repeat each type), file: file, line: line)
  }
}

extension AsyncSqlExecutor {
  /// Runs SQL whose rows, if any, are of no interest; a pool takes many statements, separated by `;`.
  public func execute(_ sql: SQL, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await run(sql, file: file, line: line)
  }

  /// The rows of a query as structs; the columns are found by their names, in any order, others are passed over.
  public func query<Model: Sqlable & Sendable>(
    _ sql: SQL, as model: Model.Type, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Model] {
    try await run(sql.rows(as: model), file: file, line: line)
  }

  /// The first column of a query's rows.
  public func query<Value: SqlValue & Sendable>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [Value] {
    try await run(sql.rows(as: type), file: file, line: line)
  }

  /// The rows of a query, with all their columns.
  public func query(
    _ sql: SQL, as type: DynamicRow.Type, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [DynamicRow] {
    try await run(sql.rows(as: type), file: file, line: line)
  }

  /// The rows of a query as tuples of values and models, from the first column on.
  public func query<
    First: SelectOutput & Sendable, Second: SelectOutput & Sendable, each Output: SelectOutput & Sendable
  >(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [(First, Second, repeat each Output)] {
    try await run(sql.rows(as: first, second, repeat each type), file: file, line: line)
  }
}
