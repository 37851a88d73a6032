// Bitwise operations on integers. These operations are methods, because more operators would slow down type checking of
// all filters.

import SqlableCore

extension TypedTerm where Value: SqlInteger {
  /// The bitwise AND: `"a" & ?`.
  public func bitAnd(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.bitAnd, with: value))
  }

  /// The bitwise OR: `"a" | ?`.
  public func bitOr(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.bitOr, with: value))
  }
}

extension SqlTerm {
  /// The bitwise AND: `"a" & ?`.
  public func bitAnd(_ value: any SqlValue) -> SqlExpression { expression.combined(.bitAnd, with: value) }

  /// The bitwise OR: `"a" | ?`.
  public func bitOr(_ value: any SqlValue) -> SqlExpression { expression.combined(.bitOr, with: value) }
}

extension IntegerTerm {
  /// The bitwise AND: `"a" & "b"`.
  public func bitAnd<Other: IntegerTerm>(_ other: Other) -> Same where Other.Same == Same {
    Same(expression: expression.combined(.bitAnd, with: other.expression))
  }

  /// The bitwise OR: `"a" | "b"`.
  public func bitOr<Other: IntegerTerm>(_ other: Other) -> Same where Other.Same == Same {
    Same(expression: expression.combined(.bitOr, with: other.expression))
  }

  /// The bits shifted left: `"a" << ?`.
  public func shiftedLeft(_ places: Int) -> Same { Same(expression: expression.combined(.shiftedLeft, with: places)) }

  /// The bits shifted right, preserving the sign: `"a" >> ?`.
  public func shiftedRight(_ places: Int) -> Same { Same(expression: expression.combined(.shiftedRight, with: places)) }

  /// The bitwise complement of the 64-bit integer: `~"a"`.
  public func inverted() -> Same { Same(expression: .special(.inverted, expression)) }
}
