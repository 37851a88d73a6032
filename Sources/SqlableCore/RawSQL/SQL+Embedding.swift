extension SQL.StringInterpolation {
  /// Embeds a query's SQL, with its values bound. Write the parentheses of a subquery in the text.
  ///
  /// ```swift
  /// try db.execute("INSERT INTO red (name) \(Bicycle.select(Bicycle.name).filter(Bicycle.color == "red"))")
  /// ```
  public mutating func appendInterpolation(_ query: Select<some Any>) {
    let isInText = !isAtStart
    embed { try SelectWriter(sql: $0, parameters: $1, isInText: isInText).write(query.query) }
  }

  /// True if the text contains no SQL yet, so that the embedded query is not inside another query.
  private var isAtStart: Bool {
    var text = text
    return text.withUTF8 { !$0.holdsStatement }
  }

  mutating func appendInterpolation(alone query: SelectQuery) {
    embed { try SelectWriter(sql: $0, parameters: $1).write(query) }
  }

  /// Embeds a statement's SQL, with its values bound. A statement that takes structs, such as the insert of a struct,
  /// can't be embedded: running the SQL throws `.invalidStatement`.
  public mutating func appendInterpolation<Model, Output>(_ statement: Statement<Model, Output>) {
    let isInText = !isAtStart
    embed { sql, parameters in
      let table = try statement.tree.table
      guard !statement.tree.takesRows else {
        throw SqlError.invalidStatement("a statement that takes structs can't be embedded in SQL text").at(
          table: table.name)
      }
      try StatementWriter(table: table, sql: sql, parameters: parameters, isInText: isInText).write(
        statement.tree)
    }
  }

  /// Embeds a condition or term in parentheses, with its values bound. Column names are not qualified, so the
  /// surrounding SQL must read the table of these columns.
  ///
  /// ```swift
  /// try db.query("SELECT count(*) FROM bicycle WHERE \(Bicycle.color == "red")", as: Int.self)
  /// // … WHERE ("color" = ?)
  /// ```
  public mutating func appendInterpolation(_ term: SqlExpression) {
    embed { sql, parameters in
      sql.append("(")
      try Renderer(Scope(), sql: sql, parameters: parameters).write(term)
      sql.append(")")
    }
  }

  /// Embeds a typed term in parentheses, with its values bound.
  public mutating func appendInterpolation<Value>(_ term: TypedExpression<Value>) {
    appendInterpolation(term.expression)
  }

  /// Binds a value in the storage format of a column. A date column, for example, can have another format than the
  /// default.
  ///
  /// ```swift
  /// try db.query("SELECT count(*) FROM visit WHERE at > \(day, as: Visit.at)", as: Int.self)
  /// ```
  public mutating func appendInterpolation(_ value: any SqlValue, as column: any ColumnConvertible) {
    bind {
      switch SqlExpression(value, for: column.column).node {
      case .value(let value): value
      case .invalid(let term): throw term.error
      default: .null
      }
    }
  }
}
