// Order and limit.

extension Renderer {
  /// Writes an ORDER BY, if there are terms. `position` returns the result column, from 1, that a term refers to.
  func write(_ order: [OrderTerm], stack: Int, position: (SqlExpression) throws -> Int? = { _ in nil }) throws {
    if order.isEmpty { return }
    var renderer = self
    renderer.isOrdering = true
    for (index, term) in order.enumerated() {
      sql.append(index == 0 ? "ORDER BY " : ", ")
      if let position = try position(term.expression) {
        sql.append(text: "\(position)")
      } else {
        // A literal number would be a column's position; a bound one orders nothing, which is right.
        try renderer.write(term.expression, within: .any, stack: stack)
      }
      sql.append(term.direction.sql)
    }
  }

  /// Writes the order that ends a query.
  func write(_ order: [OrderTerm], position: (SqlExpression) throws -> Int? = { _ in nil }) throws {
    if order.isEmpty { return }
    sql.append(" ")
    try write(order, stack: baseStack, position: position)
  }

  /// Checks an order that has no effect on the result, and so is not written.
  func check(_ order: [OrderTerm]) throws {
    guard !order.isEmpty else { return }
    let (end, mark) = (sql.count, parameters.mark)
    defer { parameters.release(to: mark) }
    try write(order)
    if !sql.isKey { sql.truncate(to: end) }
  }

  /// Writes the limit that ends a query.
  func write(limit: Int?, offset: Int?) throws {
    if let limit, limit < 0 { throw SqlError.invalidStatement("a limit can't be negative") }
    if let offset, offset < 0 { throw SqlError.invalidStatement("an offset can't be negative") }
    guard limit != nil || offset != nil else { return }
    sql.append(" LIMIT ?")
    parameters.append(.integer(Int64(limit ?? -1)) as BoundValue)
    guard let offset else { return }
    sql.append(" OFFSET ?")
    parameters.append(.integer(Int64(offset)) as BoundValue)
  }
}
