// Bitwise operations on integers. These operations are methods, because more operators would slow down type checking of
// all filters.

import SqlableCore

extension TypedTerm where Value: SqlInteger {
  /// The bitwise AND: `"a" & ?`.
  public func bitAnd(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.bitAnd, with: value))
  }

  /// The bitwise AND: `"a" & "b"`.
  public func bitAnd<Other: TypedTerm>(_ other: Other) -> TypedExpression<Value> where Other.Value == Value {
    TypedExpression(expression: expression.combined(.bitAnd, with: other.expression))
  }

  /// The bitwise OR: `"a" | ?`.
  public func bitOr(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.bitOr, with: value))
  }

  /// The bitwise OR: `"a" | "b"`.
  public func bitOr<Other: TypedTerm>(_ other: Other) -> TypedExpression<Value> where Other.Value == Value {
    TypedExpression(expression: expression.combined(.bitOr, with: other.expression))
  }

  /// The bits shifted left: `"a" << ?`.
  public func shiftedLeft(_ places: Int) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.shiftedLeft, with: places))
  }

  /// The bits shifted right, preserving the sign: `"a" >> ?`.
  public func shiftedRight(_ places: Int) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.shiftedRight, with: places))
  }

  /// The bitwise complement of the 64-bit integer: `~"a"`.
  public func inverted() -> TypedExpression<Value> {
    TypedExpression(expression: .special(.inverted, expression))
  }
}

extension SqlTerm {
  /// The bitwise AND: `"a" & ?`.
  public func bitAnd(_ value: any SqlValue) -> SqlExpression { expression.combined(.bitAnd, with: value) }

  /// The bitwise AND: `"a" & "b"`.
  public func bitAnd(_ other: some SqlTerm) -> SqlExpression { expression.combined(.bitAnd, with: other.expression) }

  /// The bitwise OR: `"a" | ?`.
  public func bitOr(_ value: any SqlValue) -> SqlExpression { expression.combined(.bitOr, with: value) }

  /// The bitwise OR: `"a" | "b"`.
  public func bitOr(_ other: some SqlTerm) -> SqlExpression { expression.combined(.bitOr, with: other.expression) }

  /// The bits shifted left: `"a" << ?`.
  public func shiftedLeft(_ places: Int) -> SqlExpression { expression.combined(.shiftedLeft, with: places) }

  /// The bits shifted right, preserving the sign: `"a" >> ?`.
  public func shiftedRight(_ places: Int) -> SqlExpression { expression.combined(.shiftedRight, with: places) }

  /// The bitwise complement of the 64-bit integer: `~"a"`.
  public func inverted() -> SqlExpression { .special(.inverted, expression) }
}
