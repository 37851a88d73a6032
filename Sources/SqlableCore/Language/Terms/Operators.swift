// The operators of untyped terms. Type checking of long filters is fast, because the operators have few overloads with
// concrete types. Values are not terms, so `3 == 3` is still Swift's comparison.

infix operator ∈ : ComparisonPrecedence

extension AnyTerm {
  /// `"a" IS NULL`
  public var isNull: SqlExpression { SqlExpression(.isNull(expression)) }

  /// `"a" IS NOT NULL`
  public var isNotNull: SqlExpression { SqlExpression(.isNotNull(expression)) }
}

extension SqlTerm {
  /// `"a" = ?`, or `"a" IS NULL` for nil.
  public static func == (left: Self, right: (any SqlValue)?) -> SqlExpression {
    left.expression.compared(.equal, with: right)
  }

  /// `"a" = "b"`
  public static func == (left: Self, right: some SqlTerm) -> SqlExpression {
    left.expression.combined(.equal, with: right.expression)
  }

  /// `"a" <> ?`, or `"a" IS NOT NULL` for nil.
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

  /// Concatenates text: `"a" || ?`.
  public func concatenated(_ value: any SqlValue) -> SqlExpression {
    expression.combined(.concatenated, with: value)
  }

  /// Concatenates text: `"a" || "b"`.
  public func concatenated(_ other: some SqlTerm) -> SqlExpression {
    expression.combined(.concatenated, with: other.expression)
  }

  /// True if the value is in a list: `"a" IN (?, ?, ?)`. False for an empty list.
  public static func ∈ (left: Self, right: some Sequence<some SqlValue>) -> SqlExpression { left.in(right) }

  /// True if the value is in a list: `"a" IN (?, ?, ?)`.
  ///
  /// The list can have any length: SQLite receives a long list as a single parameter. With an empty list the result is
  /// false, even for NULL.
  public func `in`(_ values: some Sequence<some SqlValue>) -> SqlExpression { expression.isIn(values) }

  /// True if the value is not in a list: `NOT "a" IN (?, ?, ?)`. True for an empty list.
  public func notIn(_ values: some Sequence<some SqlValue>) -> SqlExpression {
    SqlExpression(.not(expression.isIn(values)))
  }

  /// True if the value is in a range, including both bounds: `"a" BETWEEN ? AND ?`.
  public func between(_ low: any SqlValue, and high: any SqlValue) -> SqlExpression { expression.isBetween(low, high) }

  /// True if the value is between two terms, or equals one of them: `"a" BETWEEN "b" AND "c"`.
  public func between(_ low: some SqlTerm, and high: some SqlTerm) -> SqlExpression {
    expression.isBetween(low.expression, high.expression)
  }

  /// True if the values are equal, where NULL equals only NULL: `"a" IS ?`. Never NULL.
  public func `is`(_ value: any SqlValue) -> SqlExpression { expression.compared(.isSame, with: value) }

  /// True if the values differ, where NULL equals only NULL: `"a" IS NOT ?`. Never NULL.
  public func isNot(_ value: any SqlValue) -> SqlExpression { expression.compared(.isNotSame, with: value) }

  /// True if the text matches a pattern, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '!'`. In the pattern `%`
  /// matches any text and `_` matches one character.
  public func like(_ pattern: String, escape: Character? = nil) -> SqlExpression {
    expression.isLike(pattern, escape: escape)
  }

  /// True if the text matches a pattern that is a term, such as another column: `"a" LIKE "b"`.
  public func like(_ pattern: some SqlTerm, escape: Character? = nil) -> SqlExpression {
    expression.isLike(pattern.expression, escape: escape)
  }

  /// Returns the term with another collation for comparing and ordering text: `"a" COLLATE NOCASE`.
  public func collate(_ collation: Collate) -> SqlExpression {
    SqlExpression(.collate(expression, collation))
  }
}
