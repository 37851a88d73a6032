// Conditions that a value lies in a Swift range. For two separate bounds, use `between(_:and:)`.

extension TypedTerm {
  /// True if the value is in a range.
  ///
  /// ```swift
  /// Car.price.between(1...5)          // "price" BETWEEN ? AND ?
  /// Car.price.between(1..<5)          // "price" >= ? AND "price" < ?
  /// Car.price.between(1...)           // "price" >= ?
  /// Car.price.between(...5)           // "price" <= ?
  /// Car.price.between(..<5)           // "price" < ?
  /// ```
  ///
  /// NULL if the value is NULL. SQLite evaluates the term twice for a range such as `1..<5`.
  public func between(_ range: some RangeExpression<Value>) -> SqlExpression where Value: Comparable {
    expression.isBetween(range)
  }

  /// True if the value of a nullable term is in a range: `"price" BETWEEN ? AND ?`. NULL if the value is NULL.
  public func between<Wrapped>(_ range: some RangeExpression<Wrapped>) -> SqlExpression
  where Value == Wrapped?, Wrapped: SqlValue {
    expression.isBetween(range)
  }

  @available(*, unavailable, message: "the range's bounds have a different type than the term")
  public func between(_ range: some RangeExpression) -> SqlExpression { expression }
}

extension SqlTerm {
  /// True if the value is in a range.
  ///
  /// ```swift
  /// Bicycle.id.between(1...5)         // "id" BETWEEN ? AND ?
  /// ```
  ///
  /// NULL if the value is NULL. SQLite evaluates the term twice for a range such as `1..<5`. Running the statement
  /// throws `.encoding` if the bounds do not fit the column.
  public func between<Bound: SqlValue>(_ range: some RangeExpression<Bound>) -> SqlExpression {
    expression.isBetween(range)
  }
}

extension SqlExpression {
  fileprivate func isBetween<Bound: SqlValue>(_ range: some RangeExpression<Bound>) -> SqlExpression {
    switch range {
    case let range as ClosedRange<Bound>: isBetween(range.lowerBound, range.upperBound)
    case let range as Range<Bound>:
      compared(.greaterOrEqual, with: range.lowerBound).and(compared(.less, with: range.upperBound))
    case let range as PartialRangeFrom<Bound>: compared(.greaterOrEqual, with: range.lowerBound)
    case let range as PartialRangeThrough<Bound>: compared(.lessOrEqual, with: range.upperBound)
    case let range as PartialRangeUpTo<Bound>: compared(.less, with: range.upperBound)
    default: SqlExpression(invalid: SqlError.invalidStatement("between(_:) takes a range of Swift's standard library"))
    }
  }
}
