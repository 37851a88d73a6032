// Pages of rows that start after a given row. SQLite can find the start of such a page by an index. To skip the rows of
// an offset, SQLite reads all of these rows.

import SqlableCore

extension Statement where Output == [Model] {
  /// Returns the first page of rows; `page(after:limit:)` returns the next pages. The rows are in the statement's
  /// order, then in the order of the primary key.
  ///
  /// ```swift
  /// let first = Bicycle.read().orderBy(Bicycle.color, .desc).page(limit: 50)
  /// // … ORDER BY "color" DESC, "id" DESC LIMIT ?
  /// ```
  ///
  /// Running the statement throws the same errors as `page(after:limit:)`.
  public consuming func page(limit: Int) -> Statement { paged(limit) { _, _ in nil } }

  /// Returns the page of rows that follow a row in the statement's order, or the first page for nil. Pass the last row
  /// of the previous page.
  ///
  /// ```swift
  /// let page = Bicycle.read().orderBy(Bicycle.color, .desc).page(after: last, limit: 50)
  /// // … WHERE "color" <= ? AND ("color" < ? OR "id" < ?) ORDER BY "color" DESC, "id" DESC LIMIT ?
  /// ```
  ///
  /// The statement adds the primary key to the order, so that the order is unique. SQLite can find the page by an index
  /// on the order's terms. NULL sorts as in the statement's order.
  ///
  /// Inserts and deletes between two reads do not move other rows to another page. The given row can be deleted,
  /// because the page uses the struct's values. Keep the struct, not only the key, or keep a ``pageToken(after:)``.
  ///
  /// Running the statement throws `.invalidStatement` if the model has no primary key, or if a term of the order is not
  /// a column of the model. A statement that has an offset or changes rows throws `.invalidStatement` too. A row with
  /// values that the columns can't store throws `.encoding`.
  public consuming func page(after row: Model?, limit: Int) -> Statement {
    paged(limit) { order, table in try row.map { try table.values(of: $0, in: order) } }
  }

  /// Returns the page of rows that follow a token's row in the statement's order, or the first page for nil.
  ///
  /// ```swift
  /// let list = Bicycle.read().orderBy(Bicycle.color, .desc)
  /// let bikes = try await list.page(after: token, limit: 50).run(pool)
  /// let next = try list.pageToken(after: bikes.last)
  /// ```
  ///
  /// Running the statement throws `.invalidStatement` if the token is damaged, or belongs to another table or order.
  /// Also throws the errors of `page(after:limit:)` with a row.
  // Disfavored, because otherwise a literal nil would be ambiguous.
  @_disfavoredOverload
  public consuming func page(after token: PageToken?, limit: Int) -> Statement {
    paged(limit) { order, table in try token.map { try $0.values(in: order, of: table) } }
  }

  /// Returns the token of a row, for a client that continues the list after this row. Returns nil if the row is nil.
  ///
  /// Call this method on the statement whose pages the client reads. Throws for an invalid order or row, as running
  /// `page(after:limit:)` does.
  public func pageToken(after row: Model?) throws -> PageToken? {
    guard let row else { return nil }
    guard case .select(let query) = tree else {
      throw SqlError.invalidStatement("pageToken(after:) can only be called on a read")
    }
    let table = try tree.table
    let order = try query.pageOrder(of: table)
    return try PageToken(order, of: table, after: table.values(of: row, in: order))
  }

  /// - Parameter values: Returns the values after which the page begins, one for each term of the order; nil for the
  ///   first page.
  private consuming func paged(
    _ limit: Int, after values: ([OrderTerm], TableInfo) throws -> [DatabaseValue]?
  ) -> Statement {
    guard case .select(var query) = tree else {
      tree.refuse("a page")
      return self
    }
    do {
      let table = try tree.table
      query.clauses.order = try query.pageOrder(of: table)
      if let values = try values(query.clauses.order, table) {
        let marks = try zip(query.clauses.order, values).map { try PageMark($0, $1, table) }
        query.filter(.after(marks[...]))
      }
    } catch {
      query.filter(SqlExpression(invalid: error))
    }
    query.takePage(limit)
    tree = .select(query)
    return self
  }
}

extension SelectQuery {
  /// Returns the order, extended by the columns of the primary key. Throws if a term is not a column of the table.
  fileprivate func pageOrder(of table: TableInfo) throws -> [OrderTerm] {
    guard !table.key.isEmpty else {
      throw SqlError.invalidStatement("a page needs a table with a primary key").at(table: table.name)
    }
    var order = clauses.order
    let last: Order = order.last?.direction.isUpwards ?? true ? .asc : .desc
    for position in table.key where !order.contains(where: { table.isColumn(position, $0.expression) }) {
      order.append(OrderTerm(expression: table.columns[position].expression, order: last))
    }
    for term in order { _ = try table.position(ofPageTerm: term) }
    return order
  }
}

extension Select {
  /// Returns the first page of rows; `page(after:limit:)` returns the next pages.
  ///
  /// ```swift
  /// let first = Car.select(Car.name, Car.price, Car.id).orderBy(Car.price.desc, Car.id.desc).page(limit: 50)
  /// // … ORDER BY "price" DESC, "id" DESC LIMIT ?
  /// ```
  ///
  /// Running the query throws the same errors as `page(after:limit:)`.
  public consuming func page(limit: Int) -> Self { paged(after: nil, limit) }

  /// Returns the page of rows that follow a row with these values. The list has one value for each term of the order.
  /// For nil, returns the first page.
  ///
  /// ```swift
  /// let page = Car.select(Car.name, Car.price, Car.id).orderBy(Car.price.desc, Car.id.desc)
  ///   .page(after: [last.1, last.2], limit: 50)
  /// // … WHERE "price" <= ? AND ("price" < ? OR "price" IS NULL OR "id" < ?) … LIMIT ?
  /// ```
  ///
  /// Add a key as the last term of the order, so that the order is unique. Otherwise a page leaves out rows with the
  /// same values as the last row of the previous page. Pass nil for NULL. NULL sorts as in the query's order.
  ///
  /// Running the query throws `.invalidStatement` if the query has an offset or no order, or if the numbers of terms
  /// and values differ. Combined queries, and queries with groups or an order by an aggregate or window function, throw
  /// `.invalidStatement` too. Give such a query a name, and read the page from the named query.
  public consuming func page(after values: [any SqlValue]?, limit: Int) -> Self { paged(after: values, limit) }

  private consuming func paged(after values: [any SqlValue]?, _ limit: Int) -> Self {
    query.refuseIfCombined("a page")
    let order = query.clauses.order
    if !query.clauses.groups.isEmpty || order.contains(where: { $0.expression.combinesRows }) {
      let error = SqlError.invalidStatement(
        "a page needs a query without groups, and an order without aggregates and window functions; wrap the query in "
          + "named(_:)"
      )
      query.clauses.filter.and(SqlExpression(invalid: error))
    } else if order.isEmpty || values.map({ $0.count != order.count }) == true {
      let error = SqlError.invalidStatement(
        "a page needs an order, and one value for each of the \(order.count) order terms")
      query.clauses.filter.and(SqlExpression(invalid: error))
    } else if let values {
      let clauses = query.clauses
      let marks = zip(order, values).map { term, value in
        PageMark(
          term: term, value: term.expression.value(value), mayBeNull: clauses.mayBeNull(term.expression))
      }
      query.clauses.filter.and(.after(marks[...]))
    }
    query.takePage(limit)
    return self
  }
}

/// The value of the previous page's last row for one term of the order.
private struct PageMark {
  let term: OrderTerm
  /// The row's value, as the column stores it.
  let value: SqlExpression
  let mayBeNull: Bool

  init(term: OrderTerm, value: SqlExpression, mayBeNull: Bool) {
    (self.term, self.value, self.mayBeNull) = (term, value, mayBeNull)
  }

  init(_ term: OrderTerm, _ value: DatabaseValue, _ table: TableInfo) throws {
    (self.term, self.value) = (term, SqlExpression(value))
    mayBeNull = table.mayBeNull(try table.position(ofPageTerm: term))
  }

  private var expression: SqlExpression { term.expression }
  private var isNull: Bool { if case .value(.null) = value.node { true } else { false } }
  private var isNullFirst: Bool { term.direction == .asc || term.direction == .descNullsFirst }

  /// The condition that this term alone orders a row after the marked row; nil if there can be no such row.
  var isLater: SqlExpression? {
    if isNull { return isNullFirst ? SqlExpression(.isNotNull(expression)) : nil }
    return compared(term.direction.isUpwards ? .greater : .less)
  }

  /// The condition that a row does not come before the marked row by this term; nil if that is true for all rows.
  var isNotEarlier: SqlExpression? {
    if isNull { return isNullFirst ? nil : SqlExpression(.isNull(expression)) }
    return compared(term.direction.isUpwards ? .greaterOrEqual : .lessOrEqual)
  }

  private func compared(_ comparison: SqlExpression.BinaryOperator) -> SqlExpression {
    let condition = SqlExpression(.binary(comparison, expression, value))
    return isNullFirst || !mayBeNull ? condition : condition || SqlExpression(.isNull(expression))
  }
}

extension SqlExpression {
  /// Returns the condition that a row follows the marked row. SQLite can search an index on the first term for
  /// `a >= ? AND (a > ? OR b > ?)`, but not for `a > ? OR (a = ? AND b > ?)`.
  fileprivate static func after(_ marks: ArraySlice<PageMark>) -> SqlExpression {
    guard let first = marks.first else { return .any([]) }
    let isLater = first.isLater
    guard marks.count > 1 else { return isLater ?? .any([]) }
    let rest = after(marks.dropFirst())
    let later = isLater.map { $0 || rest } ?? rest
    return first.isNotEarlier.map { $0 && later } ?? later
  }
}

extension SqlExpression {
  /// True if the expression contains an aggregate or window function, which WHERE can't contain.
  fileprivate var combinesRows: Bool {
    if case .call(let call) = node, call.window != nil || call.isAggregate { return true }
    return node.hasTerm { $0.combinesRows }
  }
}

extension SelectQuery {
  fileprivate mutating func takePage(_ limit: Int) {
    if clauses.offset != nil {
      let error = SqlError.invalidStatement("a page can't have an offset; use either page or limit(_:offset:)")
      filter(SqlExpression(invalid: error))
    }
    self.limit = limit
  }
}

extension SelectQuery.Clauses {
  /// True if a term of the order can be NULL. The result is false only for a column that is never NULL.
  fileprivate func mayBeNull(_ term: SqlExpression) -> Bool {
    let name: (alias: String?, column: ColumnReference)
    switch term.node {
    case .collate(let operand, _): return mayBeNull(operand)
    case .column(let reference): name = (nil, reference)
    case .qualified(let alias, let reference): name = (alias, reference)
    default: return true
    }
    // After an outer join, every column can be NULL.
    guard !missesRows else { return true }
    for source in sources where source.alias.isExactly(name.alias) {
      guard case .table = source.kind, let position = source.table.position(of: name.column) else { continue }
      return source.table.mayBeNull(position)
    }
    return true
  }
}

extension TableInfo {
  /// True if a column can be NULL. A rowid is never NULL, even if the column is declared nullable.
  func mayBeNull(_ position: Int) -> Bool {
    columns[position].type.isNullable && !(keyIsRowid && key.contains(position))
  }

  fileprivate func values<Model: Sqlable>(of model: Model, in order: [OrderTerm]) throws -> [DatabaseValue] {
    let row = try StoredRow.rows(of: [model], in: self).first
    return try order.map { term in
      let position = try position(ofPageTerm: term)
      let (column, isKey) = (columns[position], key.contains(position))
      // A struct can leave out a nil property. In a nullable column, a missing value is NULL.
      let stored = row?[column.name] ?? (column.type.isNullable ? .null : nil)
      guard let value = stored, !isKey || value != .null else {
        let reason =
          isKey
          ? "the row passed as `after` has no key" : "the row passed as `after` has no value for a column of the order"
        throw SqlError.invalidStatement(reason + "; pass a row that was read").at(table: name, column: column.name)
      }
      return value
    }
  }

  func position(ofPageTerm term: OrderTerm) throws -> Int {
    guard let position = columns.indices.first(where: { isColumn($0, term.expression) }) else {
      throw SqlError.invalidStatement(
        "a page of \(modelType) can only be ordered by columns of \(modelType); for another term, use select(…) and "
          + "page(after: [values], limit:)"
      ).at(table: name)
    }
    return position
  }

  fileprivate func isColumn(_ position: Int, _ term: SqlExpression) -> Bool {
    switch term.node {
    case .column(let reference): self.position(of: reference) == position
    case .collate(let operand, _): isColumn(position, operand)
    default: false
    }
  }
}
