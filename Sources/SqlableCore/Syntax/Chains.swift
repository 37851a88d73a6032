// AND and OR are flat lists, because the depth of a binary tree would equal the length of the chain.

extension SqlExpression {
  /// True for `all([])`, which matches every row. A filter omits such a condition.
  fileprivate var isAlwaysTrue: Bool { if case .value(.integer(1)) = node { true } else { false } }

  package func and(_ other: SqlExpression) -> SqlExpression {
    if case .all(let left) = node {
      if case .all(let right) = other.node { return SqlExpression(.all(left.appending(right))) }
      return SqlExpression(.all(left.appending(other)))
    }
    if case .all(let right) = other.node { return SqlExpression(.all(TermChain([self] + right))) }
    return SqlExpression(.all(TermChain([self, other])))
  }

  package func or(_ other: SqlExpression) -> SqlExpression {
    if case .any(let left) = node {
      if case .any(let right) = other.node { return SqlExpression(.any(left.appending(right))) }
      return SqlExpression(.any(left.appending(other)))
    }
    if case .any(let right) = other.node { return SqlExpression(.any(TermChain([self] + right))) }
    return SqlExpression(.any(TermChain([self, other])))
  }
}

extension SqlExpression? {
  package mutating func and(_ condition: SqlExpression) { self = self?.and(condition) ?? condition }

  /// Adds the condition of a filter with AND, unless the condition is always true.
  mutating func filter(by condition: SqlExpression) { if !condition.isAlwaysTrue { and(condition) } }
}
