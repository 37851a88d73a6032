// Pages of rows that begin after a given row. Unlike an offset they skip nothing, so that every page costs the same.

extension Statement where Output == [Model] {
  /// The first rows in the order of the statement, followed by the primary key: the page before those of
  /// ``page(after:limit:)``.
  ///
  /// ```swift
  /// let first = Bicycle.read().orderBy(Bicycle.color, .desc).page(limit: 50)
  /// // … ORDER BY "color" DESC, "id" DESC LIMIT ?
  /// ```
  ///
  /// Running the statement throws the errors of a page after a row.
  public consuming func page(limit: Int) -> Statement { paged(after: nil, limit) }

  /// The rows after a row, such as the last one of the page before, in the order of the statement.
  ///
  /// ```swift
  /// let page = Bicycle.read().orderBy(Bicycle.color, .desc).page(after: last, limit: 50)
  /// // … WHERE "color" <= ? AND ("color" < ? OR "id" < ?) ORDER BY "color" DESC, "id" DESC LIMIT ?
  /// ```
  ///
  /// The primary key follows the terms of the order, so that no two rows have the same place; an index on the terms
  /// finds the page. NULL has its place as in the order. Rows that are inserted or deleted meanwhile move no other row
  /// to another page, and the row itself may be gone: keep the row, not only its key, to go on from there.
  ///
  /// Running the statement throws `.invalidStatement` if the model has no primary key, or a term of the order is not a
  /// column of the model. A statement with an offset, or a change of rows, throws `.invalidStatement` too. A row that
  /// can't be stored throws `.encoding`.
  public consuming func page(after row: Model, limit: Int) -> Statement { paged(after: row, limit) }

  private consuming func paged(after row: Model?, _ limit: Int) -> Statement {
    guard case .select(var query) = tree else {
      tree.refuse("a page")
      return self
    }
    do {
      let table = try tree.table
      guard !table.key.isEmpty else {
        throw SqlError.invalidStatement("a page needs a table with a primary key")
          .at(table: table.name)
      }
      let last = query.clauses.order.last?.direction.isUpwards ?? true
      let order = query.clauses.order
      for position in table.key where !order.contains(where: { table.isColumn(position, $0.expression) }) {
        let term = OrderTerm(expression: table.columns[position].expression, order: last ? .asc : .desc)
        query.clauses.order.append(term)
      }
      for term in query.clauses.order { _ = try table.position(ofPageTerm: term) }
      if let row {
        guard let values = try StoredRow.rows(of: [row], in: table).first else { return self }
        let marks = try query.clauses.order.map { try PageMark($0, values, table) }
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

extension Select {
  /// The first rows in the order: the page before those of ``page(after:limit:)``.
  ///
  /// ```swift
  /// let first = Car.select(Car.name, Car.price, Car.id).orderBy(Car.price.desc, Car.id.desc).page(limit: 50)
  /// // … ORDER BY "price" DESC, "id" DESC LIMIT ?
  /// ```
  ///
  /// Running the query throws the errors of a page after values.
  public consuming func page(limit: Int) -> Self { paged(after: nil, limit) }

  /// The rows after the row that has these values in the terms of the order.
  ///
  /// ```swift
  /// let page = Car.select(Car.name, Car.price, Car.id).orderBy(Car.price.desc, Car.id.desc)
  ///   .page(after: last.map { [$0.1, $0.2] }, limit: 50)
  /// // … WHERE "price" <= ? AND ("price" < ? OR "price" IS NULL OR "id" < ?) … LIMIT ?
  /// ```
  ///
  /// End the order with a key, so that no two rows have the same place. Otherwise a page leaves out rows with the same
  /// values as the last row before the page. nil stands for NULL, which has its place as in the order. Running the
  /// query throws `.invalidStatement` if the number of values differs from that of the terms, without an order, and
  /// with an offset. Groups, windows and combined queries throw it too: name such a query first.
  public consuming func page(after values: [any SqlValue], limit: Int) -> Self { paged(after: values, limit) }

  private consuming func paged(after values: [any SqlValue]?, _ limit: Int) -> Self {
    query.refuseIfCombined("a page")
    let order = query.clauses.order
    if !query.clauses.groups.isEmpty || order.contains(where: { $0.expression.combinesRows }) {
      let error = SqlError.invalidStatement(
        "a page can't be read from a query with groups, or ordered by a window; wrap the query in named(_:)")
      query.clauses.filter.and(SqlExpression(invalid: error))
    } else if order.isEmpty || values.map({ $0.count != order.count }) == true {
      let error = SqlError.invalidStatement(
        "a page needs an order, and a value for each of its \(order.count) terms")
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

/// The place of a row in one term of an order.
private struct PageMark {
  let term: OrderTerm
  /// The row's value, in the form of the column.
  let value: SqlExpression
  let mayBeNull: Bool

  init(term: OrderTerm, value: SqlExpression, mayBeNull: Bool) {
    (self.term, self.value, self.mayBeNull) = (term, value, mayBeNull)
  }

  init(_ term: OrderTerm, _ row: StoredRow, _ table: TableInfo) throws {
    let position = try table.position(ofPageTerm: term)
    let (column, isKey) = (table.columns[position], table.key.contains(position))
    // A struct that keeps defaults leaves out nil: in a nullable column, a missing value is NULL.
    let stored = row[column.name] ?? (column.type.isNullable ? .null : nil)
    guard let value = stored, !isKey || value != .null else {
      let reason = isKey ? "a page can't begin after a row without a key" : "the struct has no value for the column"
      throw SqlError.invalidStatement(reason).at(table: table.name, column: column.name)
    }
    (self.term, self.value) = (term, SqlExpression(value))
    mayBeNull = table.mayBeNull(position)
  }

  private var expression: SqlExpression { term.expression }
  private var isNull: Bool { if case .value(.null) = value.node { true } else { false } }
  private var isNullFirst: Bool { term.direction == .asc || term.direction == .descNullsFirst }

  /// True if a row comes later by this term alone; nil if none does.
  var isLater: SqlExpression? {
    if isNull { return isNullFirst ? SqlExpression(.isNotNull(expression)) : nil }
    return compared(term.direction.isUpwards ? .greater : .less)
  }

  /// True if a row comes later or has the same place; nil if all do.
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
  /// The rows after a place. `a >= ? AND (a > ? OR b > ?)` lets an index on the first term find them, which
  /// `a > ? OR (a = ? AND b > ?)` does not.
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
  /// True if the expression has an aggregate or a window function, which no WHERE can have.
  fileprivate var combinesRows: Bool {
    if case .call(let call) = node, call.window != nil || call.isAggregate { return true }
    return node.hasTerm { $0.combinesRows }
  }
}

extension SelectQuery {
  fileprivate mutating func takePage(_ limit: Int) {
    if clauses.offset != nil {
      filter(SqlExpression(invalid: SqlError.invalidStatement("a page can't have an offset")))
    }
    self.limit = limit
  }
}

extension SelectQuery.Clauses {
  /// True if a term of the order may be NULL; false only for columns that are known never to be NULL.
  fileprivate func mayBeNull(_ term: SqlExpression) -> Bool {
    let name: (alias: String?, column: ColumnReference)
    switch term.node {
    case .collate(let operand, _): return mayBeNull(operand)
    case .column(let reference): name = (nil, reference)
    case .qualified(let alias, let reference): name = (alias, reference)
    default: return true
    }
    // An outer join has NULL where it finds no row.
    guard !missesRows else { return true }
    for source in sources where source.alias.isExactly(name.alias) {
      guard case .table = source.kind, let position = source.table.position(of: name.column) else { continue }
      return source.table.mayBeNull(position)
    }
    return true
  }
}

extension TableInfo {
  /// True if a column may be NULL. A rowid is never NULL, whatever the declaration of its column says.
  fileprivate func mayBeNull(_ position: Int) -> Bool {
    columns[position].type.isNullable && !(keyIsRowid && key.contains(position))
  }

  /// The position of the column by which pages are ordered.
  fileprivate func position(ofPageTerm term: OrderTerm) throws -> Int {
    guard let position = columns.indices.first(where: { isColumn($0, term.expression) }) else {
      throw SqlError.invalidStatement("a page after a row needs an order by columns of its model").at(table: name)
    }
    return position
  }

  /// True if a term is the column at a position, by itself or with a collation.
  fileprivate func isColumn(_ position: Int, _ term: SqlExpression) -> Bool {
    switch term.node {
    case .column(let reference): self.position(of: reference) == position
    case .collate(let operand, _): isColumn(position, operand)
    default: false
    }
  }
}
