// Comparisons of a nullable with a non-nullable term, such as a foreign key with the referenced key.

extension TypedTerm {
  /// `"a" = "b"` for a nullable `a`.
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" = "b"` for a nullable `b`.
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> "b"` for a nullable `a`.
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" <> "b"` for a nullable `b`.
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < "b"` for a nullable `a`.
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" < "b"` for a nullable `b`.
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= "b"` for a nullable `a`.
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" <= "b"` for a nullable `b`.
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > "b"` for a nullable `a`.
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" > "b"` for a nullable `b`.
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= "b"` for a nullable `a`.
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Value == Right.Value? {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }

  /// `"a" >= "b"` for a nullable `b`.
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value? {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }
}

extension TypedTerm {
  /// The same term with an optional type, for arithmetic with a nullable term.
  ///
  /// ```swift
  /// Flight.year.optional - Plane.year     // "year" - "year", an Int?
  /// ```
  // A property instead of operator overloads: with overloads the compiler needs seconds to type-check a sum of ten
  // terms.
  public var optional: TypedExpression<Value?> { TypedExpression(expression: expression) }
}
