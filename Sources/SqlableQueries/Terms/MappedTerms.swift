import SqlableCore

extension SqlExpression {
  /// Returns the term with its direct subterms and direct queries replaced.
  package func mapped(
    _ term: (SqlExpression) throws -> SqlExpression, _ query: (SelectQuery) throws -> SelectQuery
  ) rethrows -> SqlExpression {
    switch node {
    case .column, .value, .parameter, .qualified, .invalid: return self
    case .all(let terms): return SqlExpression(.all(TermChain(try terms.map(term))))
    case .any(let terms): return SqlExpression(.any(TermChain(try terms.map(term))))
    case .not(let operand): return SqlExpression(.not(try term(operand)))
    case .negative(let operand): return SqlExpression(.negative(try term(operand)))
    case .isNull(let operand): return SqlExpression(.isNull(try term(operand)))
    case .isNotNull(let operand): return SqlExpression(.isNotNull(try term(operand)))
    case .binary(let binary):
      return SqlExpression(.binary(binary.operation, try term(binary.left), try term(binary.right)))
    case .between(let operand, let low, let high):
      return SqlExpression(.between(try term(operand), try term(low), try term(high)))
    case .isIn(let operand, let values): return SqlExpression(.isIn(try term(operand), values))
    case .like(let operand, let pattern, let escape):
      return SqlExpression(.like(try term(operand), try term(pattern), escape: escape))
    case .collate(let operand, let collation): return SqlExpression(.collate(try term(operand), collation))
    case .call(var call):
      call.arguments = try call.arguments.map(term)
      call.order = try call.order.map { OrderTerm(expression: try term($0.expression), direction: $0.direction) }
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
    case .query(let queryTerm):
      return SqlExpression(
        .query(QueryTerm(kind: queryTerm.kind, term: try queryTerm.term.map(term), query: try query(queryTerm.query))))
    }
  }
}

extension SelectQuery.Result {
  /// Replaces all terms of the result.
  ///
  /// Loops instead of calling `map`: in a rethrowing function, Swift 6.3 miscompiles a closure with this switch, and
  /// the program crashes when the closure throws.
  fileprivate mutating func mapTerms(_ term: (SqlExpression) throws -> SqlExpression) rethrows {
    switch self {
    case .term(let original):
      let mapped = try term(original)
      self = .term(mapped)
    case .model(let index, var replaced):
      for position in replaced.indices {
        let other = try term(replaced[position].term)
        replaced[position] = SelectQuery.Replacement(column: replaced[position].column, term: other)
      }
      self = .model(index, replaced: replaced)
    case .table: break
    }
  }
}

extension SelectQuery.Clauses {
  package mutating func mapTerms(
    _ term: (SqlExpression) throws -> SqlExpression, _ query: (SelectQuery) throws -> SelectQuery
  ) rethrows {
    for index in sources.indices {
      switch sources[index].kind {
      case .defined(let definition): sources[index].define(try query(definition))
      case .call(let call): sources[index].kind = .call(try term(call))
      case .named, .table: break
      }
      sources[index].condition = try sources[index].condition.map(term)
    }
    for index in results.indices { try results[index].mapTerms(term) }
    rows = try rows.map { try $0.map(term) }
    filter = try filter.map(term)
    groups = try groups.map(term)
    having = try having.map(term)
    compounds = AppendedList(
      try compounds.map { SelectQuery.Compound(operation: $0.operation, query: try query($0.query)) })
    order = try order.map { OrderTerm(expression: try term($0.expression), direction: $0.direction) }
    limit = try limit?.map(term)
    offset = try offset?.map(term)
  }
}

// MARK: - Replacing

extension SqlExpression {
  /// Returns the term with a table's columns replaced. `other` returns the replacement for the column at a position.
  /// Nested queries are included, unless they read the table themselves.
  package func replacing(_ table: TableInfo, with other: (Int) -> SqlExpression) -> SqlExpression {
    if case .column(let reference) = node { return table.position(of: reference).map(other) ?? self }
    return mapped({ $0.replacing(table, with: other) }, { $0.replacingDeclared(table, with: other) })
  }

  /// Replaces columns inside a nested query. Compares declarations, not names, because the nested query's tables can
  /// have columns of the same names.
  fileprivate func replacingDeclared(_ table: TableInfo, with other: (Int) -> SqlExpression) -> SqlExpression {
    if case .column(let reference) = node {
      return table.columns.firstIndex { $0.definition === reference.definition }.map(other) ?? self
    }
    return mapped({ $0.replacingDeclared(table, with: other) }, { $0.replacingDeclared(table, with: other) })
  }
}

extension SelectQuery {
  fileprivate func replacingDeclared(_ table: TableInfo, with other: (Int) -> SqlExpression) -> SelectQuery {
    guard !clauses.sources.contains(where: { $0.alias == nil && $0.table.hasSameModel(as: table) }) else {
      return self
    }
    var query = self
    query.clauses.mapTerms({ $0.replacingDeclared(table, with: other) }, { $0.replacingDeclared(table, with: other) })
    return query
  }
}

// MARK: - Visiting

extension SqlExpression {
  /// Calls `term` with this term and all subterms, and `source` with all tables. Subqueries are included.
  package func visit(_ term: (SqlExpression) -> Void, _ source: (SelectQuery.Source) -> Void) {
    term(self)
    _ = node.hasTerm {
      $0.visit(term, source)
      return false
    }
    if case .query(let queryTerm) = node { queryTerm.query.visit(term, source) }
  }
}

extension SelectQuery {
  /// Calls `term` with all terms, and `source` with all tables. Subqueries are included.
  package func visit(_ term: (SqlExpression) -> Void, _ source: (SelectQuery.Source) -> Void) {
    var clauses = clauses
    clauses.sources.forEach(source)
    clauses.mapTerms(
      {
        $0.visit(term, source)
        return $0
      },
      {
        $0.visit(term, source)
        return $0
      })
  }
}

extension SqlExpression {
  /// True if the term is or contains an aggregate; see ``Call/isAggregate``. Aggregates in subqueries are ignored.
  package var hasAggregate: Bool {
    if case .call(let call) = node, call.isAggregate { return true }
    return node.terms.contains(where: \.hasAggregate)
  }
}
