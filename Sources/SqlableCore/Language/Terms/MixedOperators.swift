// Comparisons of a typed term with an untyped term. Running the statement checks the types that are known. The
// operators are disfavored, because an untyped parameter is both a typed and an untyped term: a comparison with such a
// parameter would be ambiguous.

extension SqlTerm {
  /// `"a" = "b"`
  @_disfavoredOverload
  public static func == (left: Self, right: some TypedTerm) -> SqlExpression {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> "b"`
  @_disfavoredOverload
  public static func != (left: Self, right: some TypedTerm) -> SqlExpression {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < "b"`
  @_disfavoredOverload
  public static func < (left: Self, right: some TypedTerm) -> SqlExpression {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= "b"`
  @_disfavoredOverload
  public static func <= (left: Self, right: some TypedTerm) -> SqlExpression {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > "b"`
  @_disfavoredOverload
  public static func > (left: Self, right: some TypedTerm) -> SqlExpression {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= "b"`
  @_disfavoredOverload
  public static func >= (left: Self, right: some TypedTerm) -> SqlExpression {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }
}

extension TypedTerm {
  /// `"a" = "b"`
  @_disfavoredOverload
  public static func == (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> "b"`
  @_disfavoredOverload
  public static func != (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < "b"`
  @_disfavoredOverload
  public static func < (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= "b"`
  @_disfavoredOverload
  public static func <= (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > "b"`
  @_disfavoredOverload
  public static func > (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= "b"`
  @_disfavoredOverload
  public static func >= (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }
}

// Comparisons of integers with floating-point numbers, such as an average. The left and the right operand can be
// optional.

/// A sum type of plain numbers: `Int` for integers, `Double` for floating-point numbers. Terms with these sum types can
/// be compared with each other.
public protocol PlainSum {}

extension Int: PlainSum {}
extension Double: PlainSum {}

extension TypedTerm where Value: SqlNumber, Value.Sum: PlainSum {
  /// `"a" = "b"`
  @_disfavoredOverload
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum: PlainSum {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> "b"`
  @_disfavoredOverload
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum: PlainSum {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < "b"`
  @_disfavoredOverload
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum: PlainSum {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= "b"`
  @_disfavoredOverload
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum: PlainSum {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > "b"`
  @_disfavoredOverload
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum: PlainSum {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= "b"`
  @_disfavoredOverload
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum: PlainSum {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }
}
