// Comparisons of a typed term with an untyped term. Running the statement checks the types that are known. The
// operators are disfavored, because an untyped parameter is both a typed and an untyped term.

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

// Comparisons of integers with floating-point numbers, such as an average. Both can be optional.

extension TypedTerm where Value: SqlNumber, Value.Sum == Int {
  /// `"a" = "b"`
  @_disfavoredOverload
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Double {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> "b"`
  @_disfavoredOverload
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Double {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < "b"`
  @_disfavoredOverload
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Double {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= "b"`
  @_disfavoredOverload
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Double {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > "b"`
  @_disfavoredOverload
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Double {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= "b"`
  @_disfavoredOverload
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Double {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }
}

extension TypedTerm where Value: SqlNumber, Value.Sum == Double {
  /// `"a" = "b"`
  @_disfavoredOverload
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Int {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> "b"`
  @_disfavoredOverload
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Int {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < "b"`
  @_disfavoredOverload
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Int {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= "b"`
  @_disfavoredOverload
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Int {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > "b"`
  @_disfavoredOverload
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Int {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= "b"`
  @_disfavoredOverload
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression
  where Right.Value: SqlNumber, Right.Value.Sum == Int {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }
}
