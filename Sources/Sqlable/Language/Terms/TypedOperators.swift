// The operators of filters on typed columns and expressions: a value of another type does not compile.

extension TypedTerm {
  /// `"a" = ?`. A value that is nil makes it `IS NULL`.
  @inlinable
  public static func == (left: Self, right: Value) -> SqlExpression {
    left.expression.compared(.equal, with: right)
  }

  /// `"a" = "b"`
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> ?`. A value that is nil makes it `IS NOT NULL`.
  @inlinable
  public static func != (left: Self, right: Value) -> SqlExpression {
    left.expression.compared(.notEqual, with: right)
  }

  /// `"a" <> "b"`
  public static func != <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < ?`
  @inlinable
  public static func < (left: Self, right: Value) -> SqlExpression {
    left.expression.compared(.less, with: right)
  }

  /// `"a" < "b"`
  public static func < <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= ?`
  @inlinable
  public static func <= (left: Self, right: Value) -> SqlExpression {
    left.expression.compared(.lessOrEqual, with: right)
  }

  /// `"a" <= "b"`
  public static func <= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > ?`
  @inlinable
  public static func > (left: Self, right: Value) -> SqlExpression {
    left.expression.compared(.greater, with: right)
  }

  /// `"a" > "b"`
  public static func > <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= ?`
  @inlinable
  public static func >= (left: Self, right: Value) -> SqlExpression {
    left.expression.compared(.greaterOrEqual, with: right)
  }

  /// `"a" >= "b"`
  public static func >= <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }

  /// `"a" IN (?, ?, ?)`; nothing is in an empty list.
  @inlinable
  public static func ∈ (left: Self, right: some Sequence<Value>) -> SqlExpression { left.in(right) }

  /// `"a" IN (?, ?, ?)`
  ///
  /// Works for any number of values: a long list is bound as one. Nothing is in an empty list, not even NULL.
  @inlinable
  public func `in`(_ values: some Sequence<Value>) -> SqlExpression { expression.isIn(values) }

  /// `NOT "a" IN (?, ?, ?)`; everything is outside an empty list.
  public func notIn(_ values: some Sequence<Value>) -> SqlExpression { SqlExpression(.not(expression.isIn(values))) }

  /// `"a" BETWEEN ? AND ?`, both ends included.
  public func between(_ low: Value, and high: Value) -> SqlExpression { expression.isBetween(low, high) }

  /// `"a" IS NULL`
  public var isNull: SqlExpression { SqlExpression(.isNull(expression)) }

  /// `"a" IS NOT NULL`
  public var isNotNull: SqlExpression { SqlExpression(.isNotNull(expression)) }

  /// `"a" IS ?`: equal, where NULL equals NULL. Never NULL itself.
  @inlinable
  public func `is`(_ value: Value) -> SqlExpression { expression.compared(.isSame, with: value) }

  /// `"a" IS NOT ?`: different, where NULL differs from every value. Never NULL itself.
  @inlinable
  public func isNot(_ value: Value) -> SqlExpression { expression.compared(.isNotSame, with: value) }

  /// `"a" COLLATE NOCASE`: compared and ordered in another way.
  public func collate(_ collation: Collate) -> TypedExpression<Value> {
    TypedExpression(expression: SqlExpression(.collate(expression, collation)))
  }
}

extension TypedTerm where Value: SqlNumber {
  /// `"a" + ?`
  public static func + (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression.combined(.plus, with: right))
  }

  /// `"a" + "b"`
  public static func + <Right: TypedTerm>(
    left: Self, right: Right
  ) -> TypedExpression<Value> where Right.Value == Value {
    TypedExpression(expression: left.expression.combined(.plus, with: right.expression))
  }

  /// `"a" - ?`
  public static func - (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression.combined(.minus, with: right))
  }

  /// `"a" - "b"`
  public static func - <Right: TypedTerm>(
    left: Self, right: Right
  ) -> TypedExpression<Value> where Right.Value == Value {
    TypedExpression(expression: left.expression.combined(.minus, with: right.expression))
  }

  /// `"a" * ?`
  public static func * (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression.combined(.times, with: right))
  }

  /// `"a" * "b"`
  public static func * <Right: TypedTerm>(
    left: Self, right: Right
  ) -> TypedExpression<Value> where Right.Value == Value {
    TypedExpression(expression: left.expression.combined(.times, with: right.expression))
  }

  /// `"a" / ?`; a 0 throws `.invalidStatement` when the statement is run, since the result would be NULL.
  public static func / (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression.divided(.divided, by: right))
  }

  /// `"a" / "b"`; NULL where the right side is 0.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public static func / <Right: TypedTerm>(
    left: Self, right: Right
  ) -> TypedExpression<Value?> where Right.Value == Value {
    TypedExpression(expression: left.expression.combined(.divided, with: right.expression))
  }

  /// `"a" / "b"`; NULL where the right side is 0, and where a side is NULL.
  public static func / <Right: TypedTerm, Wrapped>(
    left: Self, right: Right
  ) -> TypedExpression<Value> where Right.Value == Value, Value == Wrapped? {
    TypedExpression(expression: left.expression.combined(.divided, with: right.expression))
  }

  /// `"a" % ?`; a 0 throws `.invalidStatement` when the statement is run, since the result would be NULL.
  public static func % (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression.divided(.remainder, by: right))
  }

  /// `"a" % "b"`; NULL where the right side is 0.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public static func % <Right: TypedTerm>(
    left: Self, right: Right
  ) -> TypedExpression<Value?> where Right.Value == Value {
    TypedExpression(expression: left.expression.combined(.remainder, with: right.expression))
  }

  /// `"a" % "b"`; NULL where the right side is 0, and where a side is NULL.
  public static func % <Right: TypedTerm, Wrapped>(
    left: Self, right: Right
  ) -> TypedExpression<Value> where Right.Value == Value, Value == Wrapped? {
    TypedExpression(expression: left.expression.combined(.remainder, with: right.expression))
  }

  /// `-"a"`
  public static prefix func - (term: Self) -> TypedExpression<Value> {
    TypedExpression(expression: SqlExpression(.negative(term.expression)))
  }
}

extension TypedTerm {
  /// `"a" IN (?, ?, ?)`, for a column that may be NULL and values that are not.
  public static func ∈ <Wrapped>(left: Self, right: some Sequence<Wrapped>) -> SqlExpression
  where Value == Wrapped?, Wrapped: SqlValue {
    left.expression.isIn(right)
  }

  /// `"a" IN (?, ?, ?)`, for a column that may be NULL and values that are not.
  public func `in`<Wrapped>(_ values: some Sequence<Wrapped>) -> SqlExpression
  where Value == Wrapped?, Wrapped: SqlValue {
    expression.isIn(values)
  }

  /// `NOT "a" IN (?, ?, ?)`, for a column that may be NULL and values that are not.
  public func notIn<Wrapped>(_ values: some Sequence<Wrapped>) -> SqlExpression
  where Value == Wrapped?, Wrapped: SqlValue {
    SqlExpression(.not(expression.isIn(values)))
  }
}

// Values on the left.

extension TypedTerm where Value: SqlNumber {
  /// `? + "a"`
  public static func + (left: Value, right: Self) -> TypedExpression<Value> {
    TypedExpression(expression: SqlExpression(left).combined(.plus, with: right.expression))
  }

  /// `? - "a"`
  public static func - (left: Value, right: Self) -> TypedExpression<Value> {
    TypedExpression(expression: SqlExpression(left).combined(.minus, with: right.expression))
  }

  /// `? * "a"`
  public static func * (left: Value, right: Self) -> TypedExpression<Value> {
    TypedExpression(expression: SqlExpression(left).combined(.times, with: right.expression))
  }

  /// `? / "a"`; NULL where the term is 0.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public static func / (left: Value, right: Self) -> TypedExpression<Value?> {
    TypedExpression(expression: SqlExpression(left).combined(.divided, with: right.expression))
  }

  /// `? / "a"`; NULL where the term is 0 or NULL.
  public static func / <Wrapped>(left: Value, right: Self) -> TypedExpression<Value> where Value == Wrapped? {
    TypedExpression(expression: SqlExpression(left).combined(.divided, with: right.expression))
  }
}

extension TypedTerm {
  /// `"a" > ?`: the same the other way round.
  @inlinable
  public static func < (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.greater, with: left)
  }

  /// `"a" >= ?`: the same the other way round.
  @inlinable
  public static func <= (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.greaterOrEqual, with: left)
  }

  /// `"a" < ?`: the same the other way round.
  @inlinable
  public static func > (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.less, with: left)
  }

  /// `"a" <= ?`: the same the other way round.
  @inlinable
  public static func >= (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.lessOrEqual, with: left)
  }

  /// `"a" = ?`: the same the other way round.
  @inlinable
  public static func == (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.equal, with: left)
  }

  /// `"a" <> ?`: the same the other way round.
  @inlinable
  public static func != (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.notEqual, with: left)
  }
}

// What the compiler says of a value of another type; without these it complains of a protocol that nobody asked for.
extension TypedTerm {
  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func == (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func != (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func < (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func <= (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func > (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func >= (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func + (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func - (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func * (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func / (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value is of another type than the term on the left")
  public static func % (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }
}
