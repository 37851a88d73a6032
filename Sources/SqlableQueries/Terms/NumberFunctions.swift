import SqlableCore

/// A random integer for each row: `random()`.
public func randomInteger() -> TypedExpression<Int> { TypedExpression(expression: .call(.random, [])) }

extension NumberTerm {
  /// The absolute value: `abs("a")`.
  public func abs() -> Same { Same(expression: expression.call(.abs)) }
}

extension TypedTerm where Value: BinaryFloatingPoint {
  /// The number rounded to `digits` decimal places: `round("a", 2)`.
  public func round(_ digits: Int = 0) -> TypedExpression<Double> {
    TypedExpression(expression: expression.call(.round, .short(digits)))
  }

  /// The number rounded to `digits` decimal places, where `digits` is a term: `round("a", "b")`.
  public func round<Digits: TypedTerm>(_ digits: Digits) -> TypedExpression<Double> where Digits.Value == Int {
    TypedExpression(expression: expression.call(.round, digits.expression))
  }
}

extension TypedTerm {
  /// The number rounded to `digits` decimal places: `round("a", 2)`. NULL stays NULL.
  public func round<Wrapped: BinaryFloatingPoint>(_ digits: Int = 0) -> TypedExpression<Double?>
  where Value == Wrapped? {
    TypedExpression(expression: expression.call(.round, .short(digits)))
  }

  /// The number rounded to `digits` decimal places, where `digits` is a term: `round("a", "b")`. NULL stays NULL.
  public func round<Wrapped: BinaryFloatingPoint, Digits: TypedTerm>(_ digits: Digits) -> TypedExpression<Double?>
  where Value == Wrapped?, Digits.Value == Int {
    TypedExpression(expression: expression.call(.round, digits.expression))
  }
}

extension SqlTerm {
  /// The number rounded to `digits` decimal places: `round("a", 2)`.
  public func round(_ digits: Int = 0) -> SqlExpression { expression.call(.round, .short(digits)) }

  /// The number rounded to `digits` decimal places, where `digits` is a term: `round("a", "b")`.
  public func round(_ digits: some SqlTerm) -> SqlExpression { expression.call(.round, digits.expression) }
}
