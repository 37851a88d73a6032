// The operators of filters. The overloads are few and their types concrete: that keeps the compiler quick with long
// filters. Values are no terms, so `3 == 3` keeps its meaning.

infix operator ∈ : ComparisonPrecedence

extension SqlTerm {
  /// `"a" = ?`. A value that is nil makes it `IS NULL`.
  public static func == (left: Self, right: (any SqlValue)?) -> SqlExpression {
    left.expression.compared(.equal, with: right)
  }

  /// `"a" = "b"`
  public static func == (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> ?`. A value that is nil makes it `IS NOT NULL`.
  public static func != (left: Self, right: (any SqlValue)?) -> SqlExpression {
    left.expression.compared(.notEqual, with: right)
  }

  /// `"a" <> "b"`
  public static func != (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.notEqual, with: right.expression)
  }

  /// `"a" < ?`
  public static func < (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.compared(.less, with: right)
  }

  /// `"a" < "b"`
  public static func < (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.less, with: right.expression)
  }

  /// `"a" <= ?`
  public static func <= (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.compared(.lessOrEqual, with: right)
  }

  /// `"a" <= "b"`
  public static func <= (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.lessOrEqual, with: right.expression)
  }

  /// `"a" > ?`
  public static func > (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.compared(.greater, with: right)
  }

  /// `"a" > "b"`
  public static func > (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.greater, with: right.expression)
  }

  /// `"a" >= ?`
  public static func >= (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.compared(.greaterOrEqual, with: right)
  }

  /// `"a" >= "b"`
  public static func >= (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.greaterOrEqual, with: right.expression)
  }

  /// `"a" + ?`
  public static func + (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.combined(.plus, with: right)
  }

  /// `"a" + "b"`
  public static func + (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.plus, with: right.expression)
  }

  /// `"a" - ?`
  public static func - (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.combined(.minus, with: right)
  }

  /// `"a" - "b"`
  public static func - (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.minus, with: right.expression)
  }

  /// `"a" * ?`
  public static func * (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.combined(.times, with: right)
  }

  /// `"a" * "b"`
  public static func * (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.times, with: right.expression)
  }

  /// `"a" / ?`
  public static func / (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.combined(.divided, with: right)
  }

  /// `"a" / "b"`
  public static func / (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.divided, with: right.expression)
  }

  /// `"a" % ?`
  public static func % (left: Self, right: any SqlValue) -> SqlExpression {
    left.expression.combined(.remainder, with: right)
  }

  /// `"a" % "b"`
  public static func % (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.remainder, with: right.expression)
  }

  /// `-"a"`
  public static prefix func - (term: Self) -> SqlExpression { SqlExpression(.negative(term.expression)) }

  /// `"a" || ?`: texts one after the other.
  public func concatenated(_ value: any SqlValue) -> SqlExpression {
    expression.combined(.concatenated, with: value)
  }

  /// `"a" || "b"`
  public func concatenated(_ other: some SqlTerm) -> SqlExpression {
    expression.combined(.concatenated, with: other.expression)
  }

  /// `"a" IN (?, ?, ?)`; nothing is in an empty list.
  public static func ∈ (left: Self, right: some Sequence<some SqlValue>) -> SqlExpression { left.in(right) }

  /// `"a" IN (?, ?, ?)`
  ///
  /// Works for any number of values: a long list is bound as one. Nothing is in an empty list, not even NULL.
  public func `in`(_ values: some Sequence<some SqlValue>) -> SqlExpression { expression.isIn(values) }

  /// `NOT "a" IN (?, ?, ?)`; everything is outside an empty list.
  public func notIn(_ values: some Sequence<some SqlValue>) -> SqlExpression {
    SqlExpression(.not(expression.isIn(values)))
  }

  /// `"a" BETWEEN ? AND ?`, both ends included.
  public func between(_ low: any SqlValue, and high: any SqlValue) -> SqlExpression { expression.isBetween(low, high) }

  /// `"a" IS NULL`
  public var isNull: SqlExpression { SqlExpression(.isNull(expression)) }

  /// `"a" IS NOT NULL`
  public var isNotNull: SqlExpression { SqlExpression(.isNotNull(expression)) }

  /// `"a" IS ?`: equal, where NULL equals NULL. Never NULL itself.
  public func `is`(_ value: any SqlValue) -> SqlExpression { expression.compared(.isSame, with: value) }

  /// `"a" IS NOT ?`: different, where NULL differs from every value. Never NULL itself.
  public func isNot(_ value: any SqlValue) -> SqlExpression { expression.compared(.isNotSame, with: value) }

  /// `"a" LIKE ? ESCAPE '!'`: `%` stands for any text, `_` for one character; A to Z and a to z are the same.
  public func like(_ pattern: String, escape: Character? = nil) -> SqlExpression {
    expression.isLike(pattern, escape: escape)
  }

  /// `"a" COLLATE NOCASE`: compared and ordered in another way.
  public func collate(_ collation: Collate) -> SqlExpression {
    SqlExpression(.collate(expression, collation))
  }
}
