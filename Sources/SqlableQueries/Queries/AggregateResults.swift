import SqlableCore

extension SelectQuery.Clauses {
  /// True if a term of the result might be an aggregate.
  package var hasAggregates: Bool {
    results.contains { result in
      switch result {
      case .term(let term): term.mayHaveAggregate
      case .model(_, let replaced): replaced.contains { $0.term.mayHaveAggregate }
      case .table: false
      }
    }
  }
}

extension SqlExpression {
  @inline(never)
  fileprivate var mayHaveAggregate: Bool {
    if case .call(let call) = node, call.window == nil {
      switch call.function {
      case .countRows: return true
      case .builtIn(let function):
        if function.facts.kind == .aggregate { return true }
      // A registered function can be an aggregate.
      case .named: return true
      }
    }
    return node.hasTerm(where: \.mayHaveAggregate)
  }
}
