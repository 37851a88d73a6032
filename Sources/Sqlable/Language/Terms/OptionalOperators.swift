// Terms of which one may be NULL and the other not: a foreign key and the key that it points at.

extension TypedTerm {
  /// `"a" = "b"`, where `a` may be NULL.
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" = "b"`, where `b` may be NULL.
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> "b"`, where `a` may be NULL.
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" <> "b"`, where `b` may be NULL.
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < "b"`, where `a` may be NULL.
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" < "b"`, where `b` may be NULL.
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= "b"`, where `a` may be NULL.
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" <= "b"`, where `b` may be NULL.
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > "b"`, where `a` may be NULL.
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" > "b"`, where `b` may be NULL.
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= "b"`, where `a` may be NULL.
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }

  /// `"a" >= "b"`, where `b` may be NULL.
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }
}

extension TypedTerm {
  /// The same term, as one that may be NULL: to compute with one that is.
  ///
  /// ```swift
  /// Flight.year.optional - Plane.year     // "year" - "year", an Int?
  /// ```
  // No overloads of the operators for it: with them the compiler takes seconds for a sum of ten terms.
  public var optional: TypedExpression<Value?> { TypedExpression(expression: expression) }
}
