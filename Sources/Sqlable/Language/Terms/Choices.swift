// Terms that choose between others.

/// `CASE WHEN … THEN … ELSE … END`: the result of the first condition that is true.
///
/// ```swift
/// Case.when(Worker.salary > 9, then: "much").when(Worker.salary > 6, then: "enough").else("little")
/// // CASE WHEN "salary" > ? THEN ? WHEN "salary" > ? THEN ? ELSE ? END
/// ```
///
/// All results have the type of the first; results that are untyped terms make an untyped one.
public enum Case {
  /// `CASE WHEN a THEN ?`
  public static func when<Value: SqlValue>(_ condition: SqlExpression, then value: Value) -> Choice<Value> {
    Choice(terms: [condition, SqlExpression(value)])
  }

  /// `CASE WHEN a THEN "b"`
  public static func when<Term: TypedTerm>(_ condition: SqlExpression, then term: Term) -> Choice<Term.Value> {
    Choice(terms: [condition, term.expression])
  }

  /// `CASE WHEN a THEN "b"`, untyped.
  public static func when(_ condition: SqlExpression, then term: some SqlTerm) -> UntypedChoice {
    UntypedChoice(terms: [condition, term.expression])
  }
}

extension SqlExpression {
  /// Conditions and results in turn, and what is left at the end.
  fileprivate static func choice(_ terms: [SqlExpression]) -> SqlExpression {
    let results = terms.indices.filter { !$0.isMultiple(of: 2) || $0 == terms.count - 1 }.map { terms[$0] }
    if let defect = mixedDates(results) { return SqlExpression(invalid: defect) }
    return SqlExpression(.special(.init(form: .choice, terms: terms)))
  }
}

/// A ``Case`` with typed results, until it is ended.
public struct Choice<Value: SqlValue>: Sendable, Hashable {
  let terms: [SqlExpression]

  private func term(_ value: Value) -> SqlExpression { terms[1].value(value) }

  private func ended<Result>(_ last: [SqlExpression] = []) -> TypedExpression<Result> {
    TypedExpression(expression: .choice(terms + last))
  }

  /// `WHEN a THEN ?`
  public func when(_ condition: SqlExpression, then value: Value) -> Choice {
    Choice(terms: terms + [condition, term(value)])
  }

  /// `WHEN a THEN "b"`
  public func when<Term: TypedTerm>(_ condition: SqlExpression, then term: Term) -> Choice where Term.Value == Value {
    Choice(terms: terms + [condition, term.expression])
  }

  /// `ELSE ? END`
  public func `else`(_ value: Value) -> TypedExpression<Value> { ended([term(value)]) }

  /// `ELSE "a" END`
  public func `else`<Term: TypedTerm>(_ term: Term) -> TypedExpression<Value> where Term.Value == Value {
    ended([term.expression])
  }

  /// `END`: NULL where no condition is true.
  public func end() -> TypedExpression<Value?> { ended() }

  /// `END`: NULL where no condition is true.
  public func end<Wrapped>() -> TypedExpression<Wrapped?> where Value == Wrapped? { ended() }
}

/// A ``Case`` with untyped results, until it is ended.
public struct UntypedChoice: Sendable, Hashable {
  let terms: [SqlExpression]

  private func ended(_ last: [SqlExpression] = []) -> SqlExpression {
    .choice(terms + last)
  }

  /// `WHEN a THEN ?`
  public func when(_ condition: SqlExpression, then value: any SqlValue) -> UntypedChoice {
    UntypedChoice(terms: terms + [condition, terms[1].value(value)])
  }

  /// `WHEN a THEN "b"`
  public func when(_ condition: SqlExpression, then term: some SqlTerm) -> UntypedChoice {
    UntypedChoice(terms: terms + [condition, term.expression])
  }

  /// `ELSE ? END`
  public func `else`(_ value: any SqlValue) -> SqlExpression { ended([terms[1].value(value)]) }

  /// `ELSE "a" END`
  public func `else`(_ term: some SqlTerm) -> SqlExpression { ended([term.expression]) }

  /// `END`: NULL where no condition is true.
  public func end() -> SqlExpression { ended() }
}

// MARK: - NULL

extension TypedTerm {
  /// `coalesce("a", ?)`: the value, or another where it is NULL.
  public func ifNull<Wrapped>(_ value: Wrapped) -> TypedExpression<Wrapped> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.coalesce, expression.value(value)))
  }

  /// `coalesce("a", "b")`: the value, or another where it is NULL.
  public func ifNull<Other: TypedTerm>(_ other: Other) -> TypedExpression<Other.Value> where Value == Other.Value? {
    TypedExpression(expression: expression.call(.coalesce, other.expression))
  }

  /// `coalesce("a", "b", "c")`: the first value that is not NULL.
  public func coalesce(_ first: some TypedTerm<Value>, _ others: any TypedTerm<Value>...) -> TypedExpression<Value> {
    TypedExpression(expression: .call(.coalesce, [expression, first.expression] + others.map(\.expression)))
  }

  /// `nullif("a", ?)`: the value, or NULL where it is this one.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func nullIf(_ value: Value) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.call(.nullif, expression.value(value)))
  }

  /// `nullif("a", ?)`: the value, or NULL where it is this one.
  public func nullIf<Wrapped>(_ value: Wrapped) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.call(.nullif, expression.value(value)))
  }

  /// `"a" IS NOT ?`: different, where NULL differs from every value. Never NULL itself.
  public func isDistinct(from value: Value) -> SqlExpression { isNot(value) }

  /// `"a" IS NOT "b"`: different, where NULL equals NULL. Never NULL itself.
  public func isDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// `"a" IS NOT "b"`, where `a` may be NULL.
  public func isDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Value == Other.Value? {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// `"a" IS NOT "b"`, where `b` may be NULL.
  public func isDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value? {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// `"a" IS ?`: equal, where NULL equals NULL. Never NULL itself.
  public func isNotDistinct(from value: Value) -> SqlExpression { self.is(value) }

  /// `"a" IS "b"`: equal, where NULL equals NULL. Never NULL itself.
  public func isNotDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value {
    expression.combined(.isSame, with: other.expression)
  }

  /// `"a" IS "b"`, where `a` may be NULL.
  public func isNotDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Value == Other.Value? {
    expression.combined(.isSame, with: other.expression)
  }

  /// `"a" IS "b"`, where `b` may be NULL.
  public func isNotDistinct<Other: TypedTerm>(from other: Other) -> SqlExpression where Other.Value == Value? {
    expression.combined(.isSame, with: other.expression)
  }

  /// `min("a", ?)`: the lesser of two; NULL where one is NULL.
  public func least(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.scalarMin, expression.value(value)))
  }

  /// `min("a", "b", "c")`: the least of several; NULL where one is NULL.
  public func least(_ first: some TypedTerm<Value>, _ others: any TypedTerm<Value>...) -> TypedExpression<Value> {
    TypedExpression(expression: .call(.scalarMin, [expression, first.expression] + others.map(\.expression)))
  }

  /// `max("a", ?)`: the greater of two; NULL where one is NULL.
  public func greatest(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.call(.scalarMax, expression.value(value)))
  }

  /// `max("a", "b", "c")`: the greatest of several; NULL where one is NULL.
  public func greatest(_ first: some TypedTerm<Value>, _ others: any TypedTerm<Value>...) -> TypedExpression<Value> {
    TypedExpression(expression: .call(.scalarMax, [expression, first.expression] + others.map(\.expression)))
  }

  /// `CAST("a" AS INTEGER)`, in the storage class of the type. SQLite makes something of everything: 0 of a word.
  // Disfavored: of a term that may be NULL there is a form that says so. The compiler takes this one all the same where
  // a result that is never NULL is asked for.
  @_disfavoredOverload
  public func cast<Target: SqlValue>(to type: Target.Type) -> TypedExpression<Target> {
    guard Value.columnType.isNullable, !Target.columnType.isNullable else {
      return TypedExpression(expression: expression.cast(to: type))
    }
    let error = SqlError.invalidStatement("the cast of a term that may be NULL has a type that says never")
    return TypedExpression(expression: SqlExpression(invalid: error))
  }

  /// `CAST("a" AS INTEGER)`, in the storage class of the type; NULL stays NULL.
  public func cast<Target: SqlValue, Wrapped>(to type: Target.Type) -> TypedExpression<Target?>
  where Value == Wrapped? {
    TypedExpression(expression: expression.cast(to: type))
  }
}

extension SqlExpression {
  func cast(to type: any SqlValue.Type) -> SqlExpression {
    if case .date = type.columnType.base {
      return SqlExpression(invalid: SqlError.invalidStatement("SQLite has no cast to a date"))
    }
    return .special(.cast(type.columnType.storageClass), self)
  }
}

extension SqlTerm {
  /// `coalesce("a", ?)`: the value, or another where it is NULL.
  public func ifNull(_ value: any SqlValue) -> SqlExpression { expression.call(.coalesce, expression.value(value)) }

  /// `coalesce("a", "b")`: the value, or another where it is NULL.
  public func ifNull(_ other: some SqlTerm) -> SqlExpression { expression.call(.coalesce, other.expression) }

  /// `coalesce("a", "b", "c")`: the first value that is not NULL.
  public func coalesce(_ first: any SqlTerm, _ others: any SqlTerm...) -> SqlExpression {
    .call(.coalesce, [expression, first.expression] + others.map(\.expression))
  }

  /// `nullif("a", ?)`: the value, or NULL where it is this one.
  public func nullIf(_ value: any SqlValue) -> SqlExpression {
    expression.call(.nullif, expression.value(value))
  }

  /// `"a" IS NOT ?`: different, where NULL differs from every value. Never NULL itself.
  public func isDistinct(from value: any SqlValue) -> SqlExpression { isNot(value) }

  /// `"a" IS NOT "b"`: different, where NULL equals NULL. Never NULL itself.
  public func isDistinct(from other: some SqlTerm) -> SqlExpression {
    expression.combined(.isNotSame, with: other.expression)
  }

  /// `"a" IS ?`: equal, where NULL equals NULL. Never NULL itself.
  public func isNotDistinct(from value: any SqlValue) -> SqlExpression { self.is(value) }

  /// `"a" IS "b"`: equal, where NULL equals NULL. Never NULL itself.
  public func isNotDistinct(from other: some SqlTerm) -> SqlExpression {
    expression.combined(.isSame, with: other.expression)
  }

  /// `min("a", ?)`: the lesser of two; NULL where one is NULL.
  public func least(_ value: any SqlValue) -> SqlExpression { expression.call(.scalarMin, expression.value(value)) }

  /// `min("a", "b", "c")`: the least of several; NULL where one is NULL.
  public func least(_ first: any SqlTerm, _ others: any SqlTerm...) -> SqlExpression {
    .call(.scalarMin, [expression, first.expression] + others.map(\.expression))
  }

  /// `max("a", ?)`: the greater of two; NULL where one is NULL.
  public func greatest(_ value: any SqlValue) -> SqlExpression { expression.call(.scalarMax, expression.value(value)) }

  /// `max("a", "b", "c")`: the greatest of several; NULL where one is NULL.
  public func greatest(_ first: any SqlTerm, _ others: any SqlTerm...) -> SqlExpression {
    .call(.scalarMax, [expression, first.expression] + others.map(\.expression))
  }

  /// `CAST("a" AS INTEGER)`, in the storage class of the type. SQLite makes something of everything: 0 of a word.
  public func cast(to type: any SqlValue.Type) -> SqlExpression { expression.cast(to: type) }
}
