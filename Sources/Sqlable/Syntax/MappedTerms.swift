extension SqlExpression {
  /// The term with each of its direct subterms, and each query in it, replaced.
  func mapped(
    _ term: (SqlExpression) throws -> SqlExpression, _ query: (SelectQuery) throws -> SelectQuery
  ) rethrows -> SqlExpression {
    switch node {
    case .column, .value, .parameter, .qualified, .invalid: return self
    case .all(let terms): return SqlExpression(.all(try terms.map(term)))
    case .any(let terms): return SqlExpression(.any(try terms.map(term)))
    case .not(let operand): return SqlExpression(.not(try term(operand)))
    case .negative(let operand): return SqlExpression(.negative(try term(operand)))
    case .isNull(let operand): return SqlExpression(.isNull(try term(operand)))
    case .isNotNull(let operand): return SqlExpression(.isNotNull(try term(operand)))
    case .binary(let operation, let left, let right):
      return SqlExpression(.binary(operation, try term(left), try term(right)))
    case .between(let operand, let low, let high):
      return SqlExpression(.between(try term(operand), try term(low), try term(high)))
    case .isIn(let operand, let values): return SqlExpression(.isIn(try term(operand), values))
    case .like(let operand, let pattern, let escape):
      return SqlExpression(.like(try term(operand), try term(pattern), escape: escape))
    case .collate(let operand, let collation): return SqlExpression(.collate(try term(operand), collation))
    case .call(var call):
      call.arguments = try call.arguments.map(term)
      call.filter = try call.filter.map(term)
      if var window = call.window {
        window.partition = try window.partition.map(term)
        window.order = try window.order.map {
          OrderTerm(expression: try term($0.expression), direction: $0.direction)
        }
        call.window = window
      }
      return SqlExpression(.call(call))
    case .special(var special):
      special.terms = try special.terms.map(term)
      return SqlExpression(.special(special))
    case .query(let own):
      return SqlExpression(
        .query(QueryTerm(kind: own.kind, term: try own.term.map(term), query: try query(own.query))))
    }
  }
}
