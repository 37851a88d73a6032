extension Statement {
  /// The statement's SQL with `?` for each bound value. For a batch, the SQL of the first row.
  ///
  /// If the statement can't be run, the text is an SQL comment with the error.
  public var sql: String {
    do { return try withValues().sql } catch { return SqlError.comment(error) }
  }

  /// The values bound to each `?`, in order. For a batch, the values of the first row. A long list of `in` is bound as
  /// one parameter and omitted here. Empty if the statement can't be run.
  public var bindings: [DatabaseValue] { (try? withValues().bindings) ?? [] }

  /// Returns the SQL and values that are passed to SQLite for the row at `index`. Throws the errors that a run throws
  /// before SQLite is called.
  ///
  /// - Parameter isRemote: True if the statement runs on another machine. In this case, a list is bound as JSON or with
  ///   one `?` per value, and columns are qualified by their tables.
  package func withValues(row index: Int = 0, isRemote: Bool = false) throws -> StatementWithValues {
    let table = try tree.table
    let buffer = SqlBuffer()
    buffer.qualifiesColumns = isRemote
    let parameters = ParameterBuffer(lists: isRemote ? .expanded : .pointers)
    var writer = RowWriter(table: table, buffer: parameters, written: tree.writtenColumns)
    if tree.takesRows, try !rows.take(index, into: &writer) {
      return StatementWithValues(sql: "-- there are no rows to insert", parameters: ParameterBuffer())
    }
    // Without this call, the compiler could release the writer and the parameters before their memory is read.
    return try withExtendedLifetime((writer, parameters)) {
      let statement = StatementWriter(table: table, sql: buffer, parameters: parameters)
      try statement.write(tree, row: writer.values)
      var written = StatementWithValues(sql: buffer.text, parameters: parameters)
      if isRemote, case .insert(let query) = tree {
        written.omittedKey = OmittedKey(try statement.omittedKey(of: query, writer.values), of: table)
      }
      return written
    }
  }
}

extension Select {
  /// The query's SQL with `?` for each bound value. If the query can't be run, the text is a comment with the error.
  public var sql: String {
    do { return try query.withValues().sql } catch { return SqlError.comment(error) }
  }

  /// The values bound to the `?` of the SQL, in order. Empty if the query can't be run.
  public var bindings: [DatabaseValue] { (try? query.withValues().bindings) ?? [] }
}

extension SelectQuery {
  package func withValues(isRemote: Bool = false) throws -> StatementWithValues {
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer(lists: isRemote ? .expanded : .pointers))
    sql.qualifiesColumns = isRemote
    try SelectWriter(sql: sql, parameters: parameters).write(statement: self)
    return StatementWithValues(sql: sql.text, parameters: parameters)
  }
}

package struct StatementWithValues {
  package let sql: String
  package let parameters: ParameterBuffer
  var omittedKey: OmittedKey?

  package init(sql: String, parameters: ParameterBuffer, omittedKey: OmittedKey? = nil) {
    (self.sql, self.parameters, self.omittedKey) = (sql, parameters, omittedKey)
  }

  @inline(never)
  var bindings: [DatabaseValue] {
    // Without this call, the compiler could release the buffer before its memory is read.
    withExtendedLifetime(parameters) { parameters.parameters.compactMap { DatabaseValue($0) } }
  }
}

extension SqlError {
  package static func comment(_ error: any Error) -> String {
    // A message contains identifiers, and a line break in an identifier would end the comment.
    "-- " + String(message(of: error).map { $0.isNewline ? " " : $0 })
  }
}
