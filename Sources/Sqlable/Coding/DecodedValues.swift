// Checks the values in decoded statements against the model's columns, as is done for those written in Swift: decoded
// terms know their columns only by name.

extension StatementTree {
  /// Throws `.encoding` for a value that its column can't store or be compared with.
  func checkValues(of table: TableInfo) throws {
    for term in terms { try term.checkValues(of: table) }
    for assignment in assignments {
      try assignment.value.checkValues(of: table)
      guard let position = table.position(named: assignment.column.name) else { continue }
      try assignment.value.checkIsStored(in: table.columns[position], of: table)
    }
  }

  private var terms: [SqlExpression] {
    switch self {
    case .select(let query): [query.filter].compactMap(\.self) + query.clauses.order.map(\.expression)
    case .insert(let query): [query.rest.value.upsert?.condition].compactMap(\.self)
    case .update(let query): query.selection.terms
    case .delete(let query): query.selection.terms
    }
  }

  private var assignments: [Assignment] {
    switch self {
    case .select, .delete: []
    case .insert(let query): query.rest.value.upsert?.assignments ?? []
    case .update(let query): query.rest.value.assignments
    }
  }
}

extension RowSelection {
  fileprivate var terms: [SqlExpression] { [filter].compactMap(\.self) + rest.value.order.map(\.expression) }
}

extension SqlExpression {
  /// Throws if a value, here or in a subterm, does not fit the column that it is compared with.
  fileprivate func checkValues(of table: TableInfo) throws {
    switch node {
    case .binary(let operation, let left, let right):
      if operation.isComparison { try SqlExpression.check([left, right].map { $0.declared(in: table) }, of: table) }
      if operation == .matchesGlob { try right.checkIsPattern(of: table) }
    case .between(let term, let low, let high):
      try SqlExpression.check([term, low, high].map { $0.declared(in: table) }, of: table)
    case .isIn(let term, let values):
      try SqlExpression.check([term.declared(in: table)] + values.map { SqlExpression($0) }, of: table)
    case .like(_, let pattern, _): try pattern.checkIsPattern(of: table)
    default: break
    }
    for term in node.terms { try term.checkValues(of: table) }
  }

  /// The column as the model declares it; any other term unchanged.
  private func declared(in table: TableInfo) -> SqlExpression {
    guard case .column(let column) = node, let position = table.position(named: column.name) else { return self }
    return SqlExpression(.column(ColumnReference(table.columns[position])))
  }

  /// Throws if a value among compared terms does not fit the columns among them.
  private static func check(_ terms: [SqlExpression], of table: TableInfo) throws {
    for case .column(let column) in terms.map(\.node) {
      // SQLite converts nothing in a BLOB column: it may hold any value that another program stored.
      guard let type = column.definition?.type, type.storageClass != .blob else { continue }
      for case .value(let value) in terms.map(\.node) where !type.compares(with: value.storageClass) {
        throw type.mismatch(value.storageClass).at(table: table.name, column: column.name)
      }
    }
  }

  private func checkIsPattern(of table: TableInfo) throws {
    guard case .value(let value) = node, ![.text, .null].contains(value.storageClass) else { return }
    throw SqlError.encoding(expected: "TEXT", found: "\(value.storageClass)").at(table: table.name)
  }

  /// Throws if the term is known not to fit the column that it is assigned to.
  fileprivate func checkIsStored(in column: Column, of table: TableInfo) throws {
    if case .value(let value) = node {
      guard column.type.stores(value) else {
        throw column.type.mismatch(value.storageClass).at(table: table.name, column: column.name)
      }
    } else if case .invalid(let term) = declared(in: table).storable(in: column).node {
      throw term.error.at(table: table.name, column: column.name)
    }
  }
}
