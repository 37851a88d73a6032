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

extension TypedTerm where Value: SqlNumber {
  /// `"a" + "b"`, where `a` may be NULL.
  public static func + <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Value>
  where Value == Right.Value? {
    TypedExpression(expression: left.expression.combined(.plus, with: right.expression))
  }

  /// `"a" + "b"`, where `b` may be NULL.
  public static func + <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Right.Value>
  where Right.Value == Value? {
    TypedExpression(expression: left.expression.combined(.plus, with: right.expression))
  }

  /// `"a" - "b"`, where `a` may be NULL.
  public static func - <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Value>
  where Value == Right.Value? {
    TypedExpression(expression: left.expression.combined(.minus, with: right.expression))
  }

  /// `"a" - "b"`, where `b` may be NULL.
  public static func - <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Right.Value>
  where Right.Value == Value? {
    TypedExpression(expression: left.expression.combined(.minus, with: right.expression))
  }

  /// `"a" * "b"`, where `a` may be NULL.
  public static func * <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Value>
  where Value == Right.Value? {
    TypedExpression(expression: left.expression.combined(.times, with: right.expression))
  }

  /// `"a" * "b"`, where `b` may be NULL.
  public static func * <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Right.Value>
  where Right.Value == Value? {
    TypedExpression(expression: left.expression.combined(.times, with: right.expression))
  }

  /// `"a" / "b"`, where `a` may be NULL.
  public static func / <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Value>
  where Value == Right.Value? {
    TypedExpression(expression: left.expression.combined(.divided, with: right.expression))
  }

  /// `"a" / "b"`, where `b` may be NULL.
  public static func / <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Right.Value>
  where Right.Value == Value? {
    TypedExpression(expression: left.expression.combined(.divided, with: right.expression))
  }

  /// `"a" % "b"`, where `a` may be NULL.
  public static func % <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Value>
  where Value == Right.Value? {
    TypedExpression(expression: left.expression.combined(.remainder, with: right.expression))
  }

  /// `"a" % "b"`, where `b` may be NULL.
  public static func % <Right: TypedTerm>(left: Self, right: Right) -> TypedExpression<Right.Value>
  where Right.Value == Value? {
    TypedExpression(expression: left.expression.combined(.remainder, with: right.expression))
  }
}
