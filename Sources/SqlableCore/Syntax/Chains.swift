// AND and OR are flat lists: a tree would be as deep as the chain is long.

extension SqlExpression {
  package func and(_ other: SqlExpression) -> SqlExpression {
    switch (node, other.node) {
    case (.all(let own), .all(let others)): SqlExpression(.all(own.appending(others)))
    case (.all(let own), _): SqlExpression(.all(own.appending(other)))
    case (_, .all(let others)): SqlExpression(.all(TermChain([self] + others)))
    default: SqlExpression(.all(TermChain([self, other])))
    }
  }

  package func or(_ other: SqlExpression) -> SqlExpression {
    switch (node, other.node) {
    case (.any(let own), .any(let others)): SqlExpression(.any(own.appending(others)))
    case (.any(let own), _): SqlExpression(.any(own.appending(other)))
    case (_, .any(let others)): SqlExpression(.any(TermChain([self] + others)))
    default: SqlExpression(.any(TermChain([self, other])))
    }
  }
}

extension SqlExpression? {
  /// Combines the condition with a further one.
  package mutating func and(_ condition: SqlExpression) { self = self?.and(condition) ?? condition }
}
