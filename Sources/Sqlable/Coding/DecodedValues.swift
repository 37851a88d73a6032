// Values in statements that were decoded, held against the model's columns as those are that a program writes: decoded
// terms know their columns by name only.

extension StatementTree {
  /// Throws `.encoding` for a value that its column does not store or compare with.
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
  /// Throws where a value does not fit the column that it is beside, here or further inside.
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

  /// The column as the model declares it; any other term as it is.
  private func declared(in table: TableInfo) -> SqlExpression {
    guard case .column(let column) = node, let position = table.position(named: column.name) else { return self }
    return SqlExpression(.column(ColumnReference(table.columns[position])))
  }

  /// Throws where a value among terms that are compared has another form than the columns among them.
  private static func check(_ terms: [SqlExpression], of table: TableInfo) throws {
    for case .column(let column) in terms.map(\.node) {
      // SQLite keeps in a BLOB column whatever another program has stored there.
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

  /// Throws where it would be stored in a column of another type, as far as that is known.
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
