// Lists of values.

extension Renderer {
  func writeList(_ expression: SqlExpression, stack: Int) throws {
    guard case .isIn(let term, let values) = expression.node else { return }
    try write(term, within: .comparison, stack: stack)
    write(list: values)
  }

  private func write(list values: [DatabaseValue]) {
    switch ListForm(values, isOrdering: isOrdering) {
    case .whole where parameters.expandsLists:
      // SQLite takes an empty list in an order for a position.
      sql.append(values.isEmpty ? " IN (SELECT 0 WHERE 0)" : " IN (")
      for (index, value) in values.enumerated() {
        if index > 0 { sql.append(", ") }
        write(value)
      }
      if !values.isEmpty { sql.append(")") }
    case .whole:
      sql.append(" IN (SELECT value FROM ")
      sql.append(text: ValueListModule.name)
      sql.append("(?))")
      parameters.append(ValueList(values))
    case .padded(let size):
      sql.append(" IN (")
      for index in 0..<size {
        if index > 0 { sql.append(", ") }
        write(values[min(index, values.count - 1)])
      }
      sql.append(")")
    }
  }
}

/// How the values of an IN list are bound.
enum ListForm {
  /// One by one, the last value as often as the size asks for: lists of like lengths share a statement.
  case padded(Int)
  /// All as one parameter.
  case whole

  init(_ values: [DatabaseValue], isOrdering: Bool) {
    guard values.count <= 32, !(isOrdering && values.isEmpty) else {
      self = .whole
      return
    }
    // The next of 0, 1, 2, 4, 8, 16, 32.
    var size = values.isEmpty ? 0 : 1
    while size < values.count { size *= 2 }
    self = .padded(size)
  }
}
