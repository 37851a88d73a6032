// AND and OR are flat lists, because the depth of a binary tree would equal the length of the chain.

extension SqlExpression {
  /// True for `all([])`, which matches every row. A filter omits the condition.
  fileprivate var isAlwaysTrue: Bool { if case .value(.integer(1)) = node { true } else { false } }

  package func and(_ other: SqlExpression) -> SqlExpression {
    switch (node, other.node) {
    case (.all(let left), .all(let right)): SqlExpression(.all(left.appending(right)))
    case (.all(let left), _): SqlExpression(.all(left.appending(other)))
    case (_, .all(let right)): SqlExpression(.all(TermChain([self] + right)))
    default: SqlExpression(.all(TermChain([self, other])))
    }
  }

  package func or(_ other: SqlExpression) -> SqlExpression {
    switch (node, other.node) {
    case (.any(let left), .any(let right)): SqlExpression(.any(left.appending(right)))
    case (.any(let left), _): SqlExpression(.any(left.appending(other)))
    case (_, .any(let right)): SqlExpression(.any(TermChain([self] + right)))
    default: SqlExpression(.any(TermChain([self, other])))
    }
  }
}

extension SqlExpression? {
  package mutating func and(_ condition: SqlExpression) { self = self?.and(condition) ?? condition }

  /// Adds the condition of a filter with AND, unless the condition is always true.
  mutating func filter(by condition: SqlExpression) { if !condition.isAlwaysTrue { and(condition) } }
}
