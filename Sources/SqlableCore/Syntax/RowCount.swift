extension SelectQuery {
  package enum RowCount: Sendable, Hashable, ExpressibleByIntegerLiteral {
    case number(Int)
    /// A term without columns of the query, such as a parameter. A negative value is treated as 0.
    case term(SqlExpression)

    package init(integerLiteral number: Int) { self = .number(number) }

    package init(_ term: SqlExpression) {
      if case .value(.integer(let value)) = term.node, let number = Int(exactly: value) {
        self = .number(number)
      } else {
        self = .term(term)
      }
    }

    package var number: Int? { if case .number(let number) = self { number } else { nil } }
    package var term: SqlExpression? { if case .term(let term) = self { term } else { nil } }

    package func map(_ term: (SqlExpression) throws -> SqlExpression) rethrows -> RowCount {
      guard case .term(let original) = self else { return self }
      let mapped = try term(original)
      return .term(mapped)
    }
  }
}
