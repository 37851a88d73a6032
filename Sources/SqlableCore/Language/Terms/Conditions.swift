extension Column {
  /// `"a" IS NULL`
  public static prefix func ! (column: Column) -> SqlExpression { column.isNull }
}

extension TypedColumn {
  /// `"a" IS NULL`
  public static prefix func ! (column: TypedColumn) -> SqlExpression { column.isNull }
}

extension TypedColumn where Value == Bool {
  /// True if the column is false: `NOT "a"`.
  public static prefix func ! (column: TypedColumn) -> SqlExpression { !column.expression }
}

extension TypedExpression where Value == Bool {
  /// True if the term is false: `NOT "boss"."is_busy"`.
  public static prefix func ! (term: TypedExpression) -> SqlExpression { !term.expression }
}

extension TypedColumn where Value == Bool? {
  /// `"a" IS NULL`. Deprecated, because the call reads as a test for false.
  @available(*, deprecated, message: "! of an optional Bool column means IS NULL; use isNull, or == false")
  public static prefix func ! (column: TypedColumn) -> SqlExpression { column.isNull }
}

/// `Bool` or an optional `Bool`. A term of this type can be used as a condition: a filter accepts the term itself or
/// its ``TypedTerm/isTrue``.
public protocol SqlBoolean: SqlValue {}

extension Bool: SqlBoolean {}
extension Optional: SqlBoolean where Wrapped: SqlBoolean {}

extension TypedTerm where Value: SqlBoolean {
  // A property, because with operators on SqlCondition the compiler takes five times as long to reject a wrong filter.

  /// The term as a condition that can be combined with other conditions: `"a"`. A filter drops rows where the term is
  /// NULL. To keep rows with NULL or false, use `isNot(true)`.
  ///
  /// ```swift
  /// Car.read().filter(Car.isElectric.isTrue || Car.price < 5_000)     // … WHERE "is_electric" OR "price" < ?
  /// ```
  public var isTrue: SqlExpression { expression }
}

/// A condition that a filter accepts: a ``SqlExpression``, or a column or expression of type `Bool`.
///
/// ```swift
/// Car.read().filter(Car.isElectric)     // … WHERE "is_electric"
/// ```
///
/// A row does not match if the condition is NULL.
public protocol SqlCondition: AnyTerm {}

extension SqlExpression: SqlCondition {}
extension TypedColumn: SqlCondition where Value: SqlBoolean {}
extension TypedExpression: SqlCondition where Value: SqlBoolean {}

extension SqlCondition where Self == SqlExpression {
  /// `a AND b AND c`. Without terms, the condition is true, and a statement with this filter has no WHERE.
  public static func all(_ terms: [SqlExpression]) -> SqlExpression { SqlExpression.all(terms) }

  /// `a OR b OR c`. Without terms, the condition is false.
  public static func any(_ terms: [SqlExpression]) -> SqlExpression { SqlExpression.any(terms) }
}

extension SqlTerm {
  /// The term as a condition: `"a"`. A number is true unless it is 0. A row does not match if the term is NULL.
  public var isTrue: SqlExpression { expression }
}

extension SqlExpression {
  /// `NOT a`; NULL stays NULL.
  public static prefix func ! (term: SqlExpression) -> SqlExpression { SqlExpression(.not(term)) }

  /// `a AND b`
  public static func && (left: SqlExpression, right: SqlExpression) -> SqlExpression { left.and(right) }

  /// `a OR b`
  public static func || (left: SqlExpression, right: SqlExpression) -> SqlExpression { left.or(right) }

  /// `a AND b AND c`; true for no terms. A filter by no terms is omitted: the statement has no WHERE.
  public static func all(_ terms: [SqlExpression]) -> SqlExpression {
    switch terms.count {
    case 0: SqlExpression(DatabaseValue.integer(1))
    case 1: terms[0]
    default: SqlExpression(.all(TermChain(terms)))
    }
  }

  /// `a OR b OR c`; false for no terms.
  public static func any(_ terms: [SqlExpression]) -> SqlExpression {
    switch terms.count {
    case 0: SqlExpression(DatabaseValue.integer(0))
    case 1: terms[0]
    default: SqlExpression(.any(TermChain(terms)))
    }
  }
}

/// `"a" IN (?, ?, ?)`
public func contains(_ term: some SqlTerm, _ values: some Sequence<some SqlValue>) -> SqlExpression {
  term.in(values)
}

/// `"a" IN (?, ?, ?)`
public func contains<Term: TypedTerm>(_ term: Term, _ values: some Sequence<Term.Value>) -> SqlExpression {
  term.in(values)
}
