// What puts conditions together.

extension Column {
  /// `"a" IS NULL`
  public static prefix func ! (column: Column) -> SqlExpression { column.isNull }
}

extension TypedColumn {
  /// `"a" IS NULL`
  public static prefix func ! (column: TypedColumn) -> SqlExpression { column.isNull }
}

extension TypedColumn where Value == Bool {
  /// `NOT "a"`: a column that is never NULL is asked whether it is false.
  public static prefix func ! (column: TypedColumn) -> SqlExpression { !column.expression }
}

extension TypedColumn where Value == Bool? {
  /// `"a" IS NULL`: not whether it is false, which is easily meant.
  @available(*, deprecated, message: "of a Bool that may be NULL this is IS NULL: write isNull, or == false")
  public static prefix func ! (column: TypedColumn) -> SqlExpression { column.isNull }
}

extension SqlExpression {
  /// `NOT a`; NULL stays NULL.
  public static prefix func ! (term: SqlExpression) -> SqlExpression { SqlExpression(.not(term)) }

  /// `a AND b`
  public static func && (left: SqlExpression, right: SqlExpression) -> SqlExpression {
    // One flat list, however many: a tree would be as deep as the chain is long.
    switch (left.node, right.node) {
    case (.all(let own), .all(let others)): SqlExpression(.all(own + others))
    case (.all(let own), _): SqlExpression(.all(own + [right]), size: Size(chaining: own.count, left, right))
    case (_, .all(let others)): SqlExpression(.all([left] + others))
    default: SqlExpression(.all([left, right]), size: Size(chaining: 1, left, right))
    }
  }

  /// `a OR b`
  public static func || (left: SqlExpression, right: SqlExpression) -> SqlExpression {
    switch (left.node, right.node) {
    case (.any(let own), .any(let others)): SqlExpression(.any(own + others))
    case (.any(let own), _): SqlExpression(.any(own + [right]), size: Size(chaining: own.count, left, right))
    case (_, .any(let others)): SqlExpression(.any([left] + others))
    default: SqlExpression(.any([left, right]), size: Size(chaining: 1, left, right))
    }
  }

  /// `a AND b AND c`; true for no terms.
  public static func all(_ terms: [SqlExpression]) -> SqlExpression {
    switch terms.count {
    case 0: SqlExpression(SqlStorage.integer(1))
    case 1: terms[0]
    default: SqlExpression(.all(terms))
    }
  }

  /// `a OR b OR c`; false for no terms.
  public static func any(_ terms: [SqlExpression]) -> SqlExpression {
    switch terms.count {
    case 0: SqlExpression(SqlStorage.integer(0))
    case 1: terms[0]
    default: SqlExpression(.any(terms))
    }
  }
}

extension SqlExpression? {
  /// A further condition that has to be met too.
  @usableFromInline
  mutating func and(_ condition: SqlExpression) {
    if let earlier = self { self = earlier && condition } else { self = condition }
  }
}

/// `"a" IN (?, ?, ?)`
public func contains(_ term: some SqlTerm, _ values: some Sequence<some SqlValue>) -> SqlExpression {
  term.in(values)
}

/// `"a" IN (?, ?, ?)`
public func contains<Term: TypedTerm>(_ term: Term, _ values: some Sequence<Term.Value>) -> SqlExpression {
  term.in(values)
}
