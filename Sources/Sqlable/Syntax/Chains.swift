// AND and OR are flat lists: a tree would be as deep as the chain is long.

extension SqlExpression {
  func and(_ other: SqlExpression) -> SqlExpression {
    switch (node, other.node) {
    case (.all(let own), .all(let others)): SqlExpression(.all(own + others))
    case (.all(let own), _): SqlExpression(.all(own + [other]), size: Size(chaining: own.count, self, other))
    case (_, .all(let others)): SqlExpression(.all([self] + others))
    default: SqlExpression(.all([self, other]), size: Size(chaining: 1, self, other))
    }
  }

  func or(_ other: SqlExpression) -> SqlExpression {
    switch (node, other.node) {
    case (.any(let own), .any(let others)): SqlExpression(.any(own + others))
    case (.any(let own), _): SqlExpression(.any(own + [other]), size: Size(chaining: own.count, self, other))
    case (_, .any(let others)): SqlExpression(.any([self] + others))
    default: SqlExpression(.any([self, other]), size: Size(chaining: 1, self, other))
    }
  }
}

extension SqlExpression? {
  /// Combines the condition with a further one.
  mutating func and(_ condition: SqlExpression) { self = self?.and(condition) ?? condition }
}
