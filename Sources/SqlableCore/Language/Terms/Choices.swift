// Terms that choose between values: CASE, NULL handling, least and greatest, casts.

/// The result of the first condition that is true: `CASE WHEN … THEN … ELSE … END`.
///
/// ```swift
/// Case.when(Worker.salary > 9, then: "much").when(Worker.salary > 6, then: "enough").else("little")
/// // CASE WHEN "salary" > ? THEN ? WHEN "salary" > ? THEN ? ELSE ? END
/// ```
///
/// All results must have the type of the first result. If the first result is untyped, the term is untyped.
public enum Case {
  /// `CASE WHEN a THEN ?`
  public static func when<Value: SqlValue>(_ condition: some SqlCondition, then value: Value) -> CaseBuilder<Value> {
    CaseBuilder(terms: [condition.expression, SqlExpression(value)])
  }

  /// `CASE WHEN a THEN "b"`
  public static func when<Term: TypedTerm>(_ condition: some SqlCondition, then term: Term) -> CaseBuilder<Term.Value> {
    CaseBuilder(terms: [condition.expression, term.expression])
  }

  /// `CASE WHEN a THEN "b"`, untyped.
  public static func when(_ condition: some SqlCondition, then term: some SqlTerm) -> UntypedChoice {
    UntypedChoice(terms: [condition.expression, term.expression])
  }
}

extension SqlExpression {
  /// Returns a CASE of alternating conditions and results. If the number of terms is odd, the last term is the ELSE
  /// result.
  fileprivate static func choice(_ terms: [SqlExpression]) -> SqlExpression {
    let results = terms.indices.filter { !$0.isMultiple(of: 2) || $0 == terms.count - 1 }.map { terms[$0] }
    if let defect = mixedResults(results) { return SqlExpression(invalid: defect) }
    return SqlExpression(.special(.init(form: .choice, terms: terms)))
  }
}

/// An unfinished ``Case`` with typed results; `else` or `end` completes it.
public struct CaseBuilder<Value: SqlValue>: Sendable, Hashable {
  let terms: AppendedList<SqlExpression>

  private func term(_ value: Value) -> SqlExpression { terms[1].value(value) }

  private func ended<Result>(_ last: [SqlExpression] = []) -> TypedExpression<Result> {
    TypedExpression(expression: .choice(Array(terms + last)))
  }

  /// `WHEN a THEN ?`
  public func when(_ condition: some SqlCondition, then value: Value) -> CaseBuilder {
    CaseBuilder(terms: terms + [condition.expression, term(value)])
  }

  /// `WHEN a THEN "b"`
  public func when<Term: TypedTerm>(_ condition: some SqlCondition, then term: Term) -> CaseBuilder
  where Term.Value == Value {
    CaseBuilder(terms: terms + [condition.expression, term.expression])
  }

  /// `ELSE ? END`
  public func `else`(_ value: Value) -> TypedExpression<Value> { ended([term(value)]) }

  /// `ELSE "a" END`
  public func `else`<Term: TypedTerm>(_ term: Term) -> TypedExpression<Value> where Term.Value == Value {
    ended([term.expression])
  }

  /// `END`. NULL if no condition is true.
  public func end() -> TypedExpression<Value?> { ended() }

  /// `END`. NULL if no condition is true.
  public func end<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? { ended() }
}

/// The former name of ``CaseBuilder``.
@available(*, deprecated, renamed: "CaseBuilder")
public typealias Choice<Value: SqlValue> = CaseBuilder<Value>

/// An unfinished ``Case`` with untyped results; `else` or `end` completes it.
public struct UntypedChoice: Sendable, Hashable {
  let terms: AppendedList<SqlExpression>

  private func ended(_ last: [SqlExpression] = []) -> SqlExpression {
    .choice(Array(terms + last))
  }

  /// `WHEN a THEN ?`
  public func when(_ condition: some SqlCondition, then value: any SqlValue) -> UntypedChoice {
    UntypedChoice(terms: terms + [condition.expression, terms[1].value(value)])
  }

  /// `WHEN a THEN "b"`
  public func when(_ condition: some SqlCondition, then term: some SqlTerm) -> UntypedChoice {
    UntypedChoice(terms: terms + [condition.expression, term.expression])
  }

  /// `ELSE ? END`
  public func `else`(_ value: any SqlValue) -> SqlExpression { ended([terms[1].value(value)]) }

  /// `ELSE "a" END`
  public func `else`(_ term: some SqlTerm) -> SqlExpression { ended([term.expression]) }

  /// `END`. NULL if no condition is true.
  public func end() -> SqlExpression { ended() }
}

// MARK: - NULL

/// An optional value.
public protocol SqlOptional: SqlValue {
  associatedtype Wrapped: SqlValue
}

extension Optional: SqlOptional where Wrapped: SqlValue {}

extension TypedTerm where Value: SqlOptional {
  /// The value, or a replacement for NULL: `coalesce("a", ?)`.
  public func ifNull(_ value: Value.Wrapped) -> TypedExpression<Value.Wrapped> {
    TypedExpression(expression: expression.call(.coalesce, expression.value(value)))
  }

  /// The value, or a replacement for NULL: `coalesce("a", "b")`.
  // Disfavored: otherwise arithmetic with a literal as the replacement takes seconds to compile.
  @_disfavoredOverload
  public func ifNull(_ other: some TypedTerm<Value.Wrapped>) -> TypedExpression<Value.Wrapped> {
    TypedExpression(expression: expression.call(.coalesce, other.expression))
  }
}

extension TypedTerm {
  /// The first value that is not NULL: `coalesce("a", "b", "c")`.
  public func coalesce(_ first: some TypedTerm<Value>, _ others: any TypedTerm<Value>...) -> TypedExpression<Value> {
    TypedExpression(expression: .call(.coalesce, [expression, first.expression] + others.map(\.expression)))
  }

  /// The term's value, or NULL if the term equals `value`: `nullif("a", ?)`.
  // Disfavored, so that a nullable term gets the overload that returns a single optional.
  @_disfavoredOverload
  public func nullIf(_ value: Value) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.nullif, expression.value(value)))
  }

  /// The term's value, or NULL if the term equals `value`: `nullif("a", ?)`.
  public func nullIf<Wrapped>(_ value: Wrapped) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.nullif, expression.value(value)))
  }

  /// True if the values differ, where NULL equals only NULL: `"a" IS NOT ?`. Never NULL.
  public func isDistinct(from value: Value) -> SqlExpression { isNot(value) }

  /// True if the values differ, where NULL equals only NULL: `"a" IS NOT "b"`. Never NULL.
  public func isDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// `"a" IS NOT "b"` for a nullable `a`.
  public func isDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Value == Other.Value? {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// `"a" IS NOT "b"` for a nullable `b`.
  public func isDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value? {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// True if the values are equal, where NULL equals only NULL: `"a" IS ?`. Never NULL.
  public func isNotDistinct(from value: Value) -> SqlExpression { self.is(value) }

  /// True if the values are equal, where NULL equals only NULL: `"a" IS "b"`. Never NULL.
  public func isNotDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value {
    expression.combined(.isSame, with: other.expression)
  }

  /// `"a" IS "b"` for a nullable `a`.
  public func isNotDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Value == Other.Value? {
    expression.combined(.isSame, with: other.expression)
  }

  /// `"a" IS "b"` for a nullable `b`.
  public func isNotDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value? {
    expression.combined(.isSame, with: other.expression)
  }

  /// The lesser of two values: `min("a", ?)`. NULL if either value is NULL.
  public func least(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.scalarMin, expression.value(value)))
  }

  /// The least of several values: `min("a", "b", "c")`. NULL if any value is NULL.
  public func least(_ first: some TypedTerm<Value>, _ others: any TypedTerm<Value>...) -> TypedExpression<Value> {
    TypedExpression(expression: .call(.scalarMin, [expression, first.expression] + others.map(\.expression)))
  }

  /// The greater of two values: `max("a", ?)`. NULL if either value is NULL.
  public func greatest(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.scalarMax, expression.value(value)))
  }

  /// The greatest of several values: `max("a", "b", "c")`. NULL if any value is NULL.
  public func greatest(_ first: some TypedTerm<Value>, _ others: any TypedTerm<Value>...) -> TypedExpression<Value> {
    TypedExpression(expression: .call(.scalarMax, [expression, first.expression] + others.map(\.expression)))
  }

  /// Converts the value to the type's storage class: `CAST("a" AS INTEGER)`. SQLite's casts never fail: text that is
  /// not a number becomes 0. A cast to a date or from a decimal column throws `.invalidStatement`.
  // Disfavored, so that a nullable term gets the overload with a nullable result. The compiler still picks this
  // overload if the context requires a result that is not optional, so the function checks the types.
  @_disfavoredOverload
  public func cast<Target: SqlValue>(to type: Target.Type) -> TypedExpression<Target> {
    guard Value.columnType.isNullable, !Target.columnType.isNullable else {
      return TypedExpression(expression: expression.cast(to: type))
    }
    let error = SqlError.invalidStatement(
      "the cast of a nullable term needs an optional type, such as cast(to: \(type)?.self)")
    return TypedExpression(expression: SqlExpression(invalid: error))
  }

  /// Converts the value to the type's storage class: `CAST("a" AS INTEGER)`. NULL stays NULL.
  public func cast<Target: SqlValue, Wrapped>(to type: Target.Type) -> TypedExpression<Target?>
  where Value == Wrapped? {
    TypedExpression(expression: expression.cast(to: type))
  }
}

extension SqlExpression {
  func cast(to type: any SqlValue.Type) -> SqlExpression {
    if case .date = type.columnType.base {
      return SqlExpression(invalid: SqlError.invalidStatement("SQLite can't cast to a date"))
    }
    if columnDefinition?.type.scale != nil {
      return SqlExpression(invalid: SqlError.invalidStatement("SQLite can't cast a decimal; cast its `units`"))
    }
    return .special(.cast(type.columnType.storageClass), self)
  }
}

extension SqlTerm {
  /// The value, or a replacement for NULL: `coalesce("a", ?)`.
  public func ifNull(_ value: any SqlValue) -> SqlExpression { expression.call(.coalesce, expression.value(value)) }

  /// The value, or a replacement for NULL: `coalesce("a", "b")`.
  public func ifNull(_ other: some SqlTerm) -> SqlExpression { expression.call(.coalesce, other.expression) }

  /// The first value that is not NULL: `coalesce("a", "b", "c")`.
  public func coalesce(_ first: any SqlTerm, _ others: any SqlTerm...) -> SqlExpression {
    .call(.coalesce, [expression, first.expression] + others.map(\.expression))
  }

  /// The term's value, or NULL if the term equals `value`: `nullif("a", ?)`.
  public func nullIf(_ value: any SqlValue) -> SqlExpression {
    expression.call(.nullif, expression.value(value))
  }

  /// True if the values differ, where NULL equals only NULL: `"a" IS NOT ?`. Never NULL.
  public func isDistinct(from value: any SqlValue) -> SqlExpression { isNot(value) }

  /// True if the values differ, where NULL equals only NULL: `"a" IS NOT "b"`. Never NULL.
  public func isDistinct(from other: some SqlTerm) -> SqlExpression {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// True if the values are equal, where NULL equals only NULL: `"a" IS ?`. Never NULL.
  public func isNotDistinct(from value: any SqlValue) -> SqlExpression { self.is(value) }

  /// True if the values are equal, where NULL equals only NULL: `"a" IS "b"`. Never NULL.
  public func isNotDistinct(from other: some SqlTerm) -> SqlExpression {
    expression.combined(.isSame, with: other.expression)
  }

  /// The lesser of two values: `min("a", ?)`. NULL if either value is NULL.
  public func least(_ value: any SqlValue) -> SqlExpression { expression.call(.scalarMin, expression.value(value)) }

  /// The least of several values: `min("a", "b", "c")`. NULL if any value is NULL.
  public func least(_ first: any SqlTerm, _ others: any SqlTerm...) -> SqlExpression {
    .call(.scalarMin, [expression, first.expression] + others.map(\.expression))
  }

  /// The greater of two values: `max("a", ?)`. NULL if either value is NULL.
  public func greatest(_ value: any SqlValue) -> SqlExpression { expression.call(.scalarMax, expression.value(value)) }

  /// The greatest of several values: `max("a", "b", "c")`. NULL if any value is NULL.
  public func greatest(_ first: any SqlTerm, _ others: any SqlTerm...) -> SqlExpression {
    .call(.scalarMax, [expression, first.expression] + others.map(\.expression))
  }

  /// Converts the value to the type's storage class: `CAST("a" AS INTEGER)`. SQLite's casts never fail: text that is
  /// not a number becomes 0. A cast to a date or from a decimal column throws `.invalidStatement`.
  public func cast(to type: any SqlValue.Type) -> SqlExpression { expression.cast(to: type) }
}
