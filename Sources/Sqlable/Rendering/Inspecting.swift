extension Statement {
  /// The statement's SQL, with `?` for every value; for a batch, that of its first row.
  ///
  /// A statement that can't be run gives a comment that says why.
  public var sql: String {
    do { return try withValues().sql } catch { return SqlError.comment(error) }
  }

  /// The values that take the place of `?`, in order; for a batch, those of its first row. A long list of `in` counts
  /// as one, which is left out. Empty for a statement that can't be run.
  public var bindings: [DatabaseValue] { (try? withValues().bindings) ?? [] }

  /// The statement as SQLite would get it, about the row at `index` of those that it is about. Throws whatever makes it
  /// impossible to run.
  func withValues(row index: Int = 0, expandsLists: Bool = false) throws -> StatementWithValues {
    let table = try tree.table
    let buffer = SqlBuffer()
    let parameters = ParameterBuffer(expandsLists: expandsLists)
    var writer = RowWriter(table: table, buffer: parameters)
    if tree.takesRows, try !rows.take(index, into: &writer) {
      return StatementWithValues(sql: "-- there are no rows to insert", parameters: ParameterBuffer())
    }
    // Both own memory that is reached by its address only.
    return try withExtendedLifetime((writer, parameters)) {
      try StatementWriter(table: table, sql: buffer, parameters: parameters).write(tree, row: writer.values)
      return StatementWithValues(sql: buffer.text, parameters: parameters)
    }
  }
}

extension Select {
  /// The query's SQL, with `?` for every value. One that can't be run gives a comment that says why.
  public var sql: String {
    do { return try query.withValues().sql } catch { return SqlError.comment(error) }
  }

  /// The values that take the place of `?`, in order; empty for a query that can't be run.
  public var bindings: [DatabaseValue] { (try? query.withValues().bindings) ?? [] }
}

extension SelectQuery {
  func withValues(expandsLists: Bool = false) throws -> StatementWithValues {
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer(expandsLists: expandsLists))
    try SelectWriter(sql: sql, parameters: parameters).write(statement: self)
    return StatementWithValues(sql: sql.text, parameters: parameters)
  }
}

/// A statement's SQL, and the values that it binds.
struct StatementWithValues {
  let sql: String
  let parameters: ParameterBuffer

  var bindings: [DatabaseValue] {
    // It owns memory that is reached by its address only.
    withExtendedLifetime(parameters) { parameters.parameters.compactMap { DatabaseValue($0) } }
  }
}

extension SqlError {
  /// An error as a comment in SQL.
  static func comment(_ error: any Error) -> String {
    // A message names identifiers, and a line break in one would end the comment.
    "-- " + String(message(of: error).map { $0.isNewline ? " " : $0 })
  }
}

extension Returning {
  /// The SQL, with `?` for every value.
  public var sql: String { change.sql }
}
