// The operators of typed columns and expressions. A value of another type does not compile.

extension TypedTerm {
  /// `"a" = ?`, or `"a" IS NULL` for nil.
  @inlinable
  public static func == (left: Self, right: Value) -> SqlExpression {
    left.expression.compared(.equal, with: right)
  }

  /// `"a" = "b"`
  public static func == <Right: TypedTerm>(left: Self, right: Right) -> SqlExpression where Right.Value == Value {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> ?`, or `"a" IS NOT NULL` for nil.
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

  /// True if the value is in a list: `"a" IN (?, ?, ?)`. False for an empty list.
  @inlinable
  public static func ∈ (left: Self, right: some Sequence<Value>) -> SqlExpression { left.in(right) }

  /// True if the value is in a list: `"a" IN (?, ?, ?)`.
  ///
  /// The list can have any length: SQLite receives a long list as a single parameter. With an empty list the result is
  /// false, even for NULL.
  @inlinable
  public func `in`(_ values: some Sequence<Value>) -> SqlExpression { expression.isIn(values) }

  /// True if the value is not in a list: `NOT "a" IN (?, ?, ?)`. True for an empty list.
  public func notIn(_ values: some Sequence<Value>) -> SqlExpression { SqlExpression(.not(expression.isIn(values))) }

  /// True if the value is in a range, including both bounds: `"a" BETWEEN ? AND ?`.
  public func between(_ low: Value, and high: Value) -> SqlExpression { expression.isBetween(low, high) }

  /// True if the value is between two terms, or equals one of them: `"a" BETWEEN "b" AND "c"`.
  public func between<Low: TypedTerm, High: TypedTerm>(_ low: Low, and high: High) -> SqlExpression
  where Low.Value == Value, High.Value == Value {
    expression.isBetween(low.expression, high.expression)
  }

  /// True if the value is between `low` and `high`, or equals one of them: `"a" BETWEEN "b" AND ?`.
  public func between<Low: TypedTerm>(_ low: Low, and high: Value) -> SqlExpression where Low.Value == Value {
    expression.isBetween(low.expression, expression.value(high, .below))
  }

  /// True if the value is between `low` and `high`, or equals one of them: `"a" BETWEEN ? AND "b"`.
  public func between<High: TypedTerm>(_ low: Value, and high: High) -> SqlExpression where High.Value == Value {
    expression.isBetween(expression.value(low, .above), high.expression)
  }

  /// True if the values are equal, where NULL equals only NULL: `"a" IS ?`. Never NULL.
  @inlinable
  public func `is`(_ value: Value) -> SqlExpression { expression.compared(.isSame, with: value) }

  /// True if the values differ, where NULL equals only NULL: `"a" IS NOT ?`. Never NULL.
  @inlinable
  public func isNot(_ value: Value) -> SqlExpression { expression.compared(.isNotSame, with: value) }

  /// Returns the term with another collation for comparing and ordering text: `"a" COLLATE NOCASE`.
  public func collate(_ collation: Collate) -> TypedExpression<Value> {
    TypedExpression(expression: SqlExpression(.collate(expression, collation)))
  }
}

// Programs often compare a key of type `Int` with a struct's `Int?`, which is nil until the struct is stored.
extension TypedTerm where Value: SqlInteger {
  /// `"a" = ?`, or `"a" IS NULL` for nil.
  @_disfavoredOverload
  @inlinable
  public static func == (left: Self, right: Value?) -> SqlExpression {
    left.expression.compared(.equal, with: right)
  }

  /// `"a" <> ?`, or `"a" IS NOT NULL` for nil.
  @_disfavoredOverload
  @inlinable
  public static func != (left: Self, right: Value?) -> SqlExpression {
    left.expression.compared(.notEqual, with: right)
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

  /// `"a" / ?`. Running the statement with 0 throws `.invalidStatement`, because the result would be NULL.
  public static func / (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression.divided(.divided, by: right))
  }

  /// `"a" / "b"`. NULL if the right side is 0.
  // Disfavored, so that a nullable term gets the overload that returns a single optional.
  @_disfavoredOverload
  public static func / <Right: TypedTerm>(
    left: Self, right: Right
  ) -> TypedExpression<Value?> where Right.Value == Value {
    TypedExpression(expression: left.expression.combined(.divided, with: right.expression))
  }

  /// `"a" / "b"`. NULL if the right side is 0 or either side is NULL.
  public static func / <Right: TypedTerm, Wrapped>(
    left: Self, right: Right
  ) -> TypedExpression<Value> where Right.Value == Value, Value == Wrapped? {
    TypedExpression(expression: left.expression.combined(.divided, with: right.expression))
  }

  /// `"a" % ?`. Running the statement with 0 throws `.invalidStatement`, because the result would be NULL.
  public static func % (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression.divided(.remainder, by: right))
  }

  /// `"a" % "b"`. NULL if the right side is 0.
  // Disfavored, so that a nullable term gets the overload that returns a single optional.
  @_disfavoredOverload
  public static func % <Right: TypedTerm>(
    left: Self, right: Right
  ) -> TypedExpression<Value?> where Right.Value == Value {
    TypedExpression(expression: left.expression.combined(.remainder, with: right.expression))
  }

  /// `"a" % "b"`. NULL if the right side is 0 or either side is NULL.
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
  /// `"a" IN (?, ?, ?)` for a nullable term and values that are not optional.
  public static func ∈ <Wrapped>(left: Self, right: some Sequence<Wrapped>) -> SqlExpression
  where Value == Wrapped?, Wrapped: SqlValue {
    left.expression.isIn(right)
  }

  /// `"a" IN (?, ?, ?)` for a nullable term and values that are not optional.
  public func `in`<Wrapped>(_ values: some Sequence<Wrapped>) -> SqlExpression
  where Value == Wrapped?, Wrapped: SqlValue {
    expression.isIn(values)
  }

  /// `NOT "a" IN (?, ?, ?)` for a nullable term and values that are not optional.
  public func notIn<Wrapped>(_ values: some Sequence<Wrapped>) -> SqlExpression
  where Value == Wrapped?, Wrapped: SqlValue {
    SqlExpression(.not(expression.isIn(values)))
  }
}

// Operators with the value on the left.

extension TypedTerm where Value: SqlNumber {
  /// `? + "a"`
  public static func + (left: Value, right: Self) -> TypedExpression<Value> {
    TypedExpression(expression: right.expression.operand(left, .plus).combined(.plus, with: right.expression))
  }

  /// `? - "a"`
  public static func - (left: Value, right: Self) -> TypedExpression<Value> {
    TypedExpression(expression: right.expression.operand(left, .minus).combined(.minus, with: right.expression))
  }

  /// `? * "a"`
  public static func * (left: Value, right: Self) -> TypedExpression<Value> {
    TypedExpression(expression: right.expression.operand(left, .times).combined(.times, with: right.expression))
  }

  /// `? / "a"`. NULL if the term is 0.
  // Disfavored, so that a nullable term gets the overload that returns a single optional.
  @_disfavoredOverload
  public static func / (left: Value, right: Self) -> TypedExpression<Value?> {
    TypedExpression(expression: right.expression.operand(left, .divided).combined(.divided, with: right.expression))
  }

  /// `? / "a"`. NULL if the term is 0 or NULL.
  public static func / <Wrapped>(left: Value, right: Self) -> TypedExpression<Value> where Value == Wrapped? {
    TypedExpression(expression: right.expression.operand(left, .divided).combined(.divided, with: right.expression))
  }
}

extension TypedTerm {
  /// `? < "a"`, written as `"a" > ?`.
  @inlinable
  public static func < (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.greater, with: left)
  }

  /// `? <= "a"`, written as `"a" >= ?`.
  @inlinable
  public static func <= (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.greaterOrEqual, with: left)
  }

  /// `? > "a"`, written as `"a" < ?`.
  @inlinable
  public static func > (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.less, with: left)
  }

  /// `? >= "a"`, written as `"a" <= ?`.
  @inlinable
  public static func >= (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.lessOrEqual, with: left)
  }

  /// `? = "a"`, written as `"a" = ?`.
  @inlinable
  public static func == (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.equal, with: left)
  }

  /// `? <> "a"`, written as `"a" <> ?`.
  @inlinable
  public static func != (left: Value, right: Self) -> SqlExpression {
    right.expression.compared(.notEqual, with: left)
  }
}

// Unavailable overloads for values of other types. Otherwise the compiler's error names an unrelated protocol.
extension TypedTerm {
  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func == (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func != (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func < (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func <= (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func > (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func >= (left: Self, right: some SqlValue) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func + (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func - (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func * (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func / (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "the value has a different type than the term on the left")
  public static func % (left: Self, right: some SqlValue) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }
}
