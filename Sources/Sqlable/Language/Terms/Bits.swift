// Operations on the bits of integers. Methods: more operators would slow the compiler down with all filters.

extension TypedTerm where Value: SqlInteger {
  /// `"a" & ?`: the bits that both have.
  public func bitAnd(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.bitAnd, with: value))
  }

  /// `"a" & "b"`
  public func bitAnd<Other: TypedTerm>(_ other: Other) -> TypedExpression<Value> where Other.Value == Value {
    TypedExpression(expression: expression.combined(.bitAnd, with: other.expression))
  }

  /// `"a" | ?`: the bits that one of both has.
  public func bitOr(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.bitOr, with: value))
  }

  /// `"a" | "b"`
  public func bitOr<Other: TypedTerm>(_ other: Other) -> TypedExpression<Value> where Other.Value == Value {
    TypedExpression(expression: expression.combined(.bitOr, with: other.expression))
  }

  /// `"a" << ?`: the bits moved to higher places.
  public func shiftedLeft(_ places: Int) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.shiftedLeft, with: places))
  }

  /// `"a" >> ?`: the bits moved to lower places; the sign stays.
  public func shiftedRight(_ places: Int) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.shiftedRight, with: places))
  }

  /// `~"a"`: the bits that it has not, of 64.
  public func inverted() -> TypedExpression<Value> {
    TypedExpression(expression: .special(.inverted, expression))
  }
}

extension SqlTerm {
  /// `"a" & ?`: the bits that both have.
  public func bitAnd(_ value: any SqlValue) -> SqlExpression { expression.combined(.bitAnd, with: value) }

  /// `"a" & "b"`
  public func bitAnd(_ other: some SqlTerm) -> SqlExpression { expression.combined(.bitAnd, with: other.expression) }

  /// `"a" | ?`: the bits that one of both has.
  public func bitOr(_ value: any SqlValue) -> SqlExpression { expression.combined(.bitOr, with: value) }

  /// `"a" | "b"`
  public func bitOr(_ other: some SqlTerm) -> SqlExpression { expression.combined(.bitOr, with: other.expression) }

  /// `"a" << ?`: the bits moved to higher places.
  public func shiftedLeft(_ places: Int) -> SqlExpression { expression.combined(.shiftedLeft, with: places) }

  /// `"a" >> ?`: the bits moved to lower places; the sign stays.
  public func shiftedRight(_ places: Int) -> SqlExpression { expression.combined(.shiftedRight, with: places) }

  /// `~"a"`: the bits that it has not, of 64.
  public func inverted() -> SqlExpression { .special(.inverted, expression) }
}
