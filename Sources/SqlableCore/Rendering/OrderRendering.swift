extension Renderer {
  /// Writes an ORDER BY, if there are terms. `position` returns the position, from 1, of the result column that stands
  /// for a term; nil if the term itself is written.
  func write(_ order: [OrderTerm], stack: Int, position: (SqlExpression) throws -> Int? = { _ in nil }) throws {
    if order.isEmpty { return }
    var renderer = self
    renderer.isOrdering = true
    for (index, term) in order.enumerated() {
      sql.append(index == 0 ? "ORDER BY " : ", ")
      if let position = try position(term.expression) {
        sql.append(text: "\(position)")
      } else {
        // SQLite would treat a literal number as a position. A bound number has no effect on the order, as intended.
        try renderer.write(term.expression, within: .any, stack: stack)
      }
      sql.append(term.direction.sql)
    }
  }

  func write(_ order: [OrderTerm], position: (SqlExpression) throws -> Int? = { _ in nil }) throws {
    if order.isEmpty { return }
    sql.append(" ")
    try write(order, stack: baseStack, position: position)
  }

  /// Checks an order that has no effect on the result and is therefore not written.
  func check(_ order: [OrderTerm]) throws {
    guard !order.isEmpty else { return }
    let (end, mark) = (sql.count, parameters.mark)
    defer { parameters.release(to: mark) }
    try write(order)
    if !sql.isKey { sql.truncate(to: end) }
  }

  func write(limit: Int?, offset: Int?) throws {
    try write(limit: limit.map { .number($0) }, offset: offset.map { .number($0) } as SelectQuery.RowCount?)
  }

  func write(limit: SelectQuery.RowCount?, offset: SelectQuery.RowCount?) throws {
    if let number = limit?.number, number < 0 { throw SqlError.invalidStatement("a limit can't be negative") }
    if let number = offset?.number, number < 0 { throw SqlError.invalidStatement("an offset can't be negative") }
    guard limit != nil || offset != nil else { return }
    sql.append(" LIMIT ")
    try write(limit ?? .number(-1))
    guard let offset else { return }
    sql.append(" OFFSET ")
    try write(offset)
  }

  private func write(_ count: SelectQuery.RowCount) throws {
    switch count {
    case .number(let number):
      sql.append("?")
      parameters.append(.integer(Int64(number)) as BoundValue)
    case .term(let term):
      guard !term.hasColumn else { throw SqlError.invalidStatement("a limit or offset can't depend on a column") }
      // SQLite treats a negative limit as no limit.
      sql.append("max(")
      let renderer = sql.isKey ? self : Renderer(try Scope([], outer: nil), sql: sql, parameters: parameters)
      try renderer.write(term, within: .any, stack: baseStack + 8)
      sql.append(", 0)")
    }
  }
}

extension SqlExpression {
  fileprivate var hasColumn: Bool {
    switch node {
    case .column, .qualified: true
    default: node.hasTerm(where: \.hasColumn)
    }
  }
}
