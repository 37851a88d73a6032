// Unavailable overloads with clear errors for mistaken calls. Without these overloads, the compiler lists candidates or
// names an unrelated protocol. TypedOperators.swift has the overloads for operators with values.

extension TypedTerm {
  @available(*, unavailable, message: "the values have a different type than the term on the left")
  public static func ∈ (left: Self, right: some Sequence<some SqlValue>) -> SqlExpression { left.expression }

  @available(*, unavailable, message: "the values have a different type than the term")
  public func `in`(_ values: some Sequence<some SqlValue>) -> SqlExpression { expression }

  @available(*, unavailable, message: "the values have a different type than the term")
  public func notIn(_ values: some Sequence<some SqlValue>) -> SqlExpression { expression }

  @available(*, unavailable, message: "the query has a different type than the term, or more than one column")
  public func `in`(_ query: some SelectStatement) -> SqlExpression { expression }

  @available(*, unavailable, message: "the query has a different type than the term, or more than one column")
  public func notIn(_ query: some SelectStatement) -> SqlExpression { expression }

  @available(*, unavailable, message: "the values have a different type than the term")
  public func between(_ low: some SqlValue, and high: some SqlValue) -> SqlExpression { expression }

  @available(*, unavailable, message: "the terms have different types")
  public func between(_ low: some TypedTerm, and high: some TypedTerm) -> SqlExpression { expression }

  @available(*, unavailable, message: "the terms have different types")
  public func isDistinct(from other: some TypedTerm) -> SqlExpression { expression }

  @available(*, unavailable, message: "the terms have different types")
  public func isNotDistinct(from other: some TypedTerm) -> SqlExpression { expression }

  @available(*, unavailable, message: "only text can be concatenated, with values of the same type")
  public func concatenated(_ value: some SqlValue) -> TypedExpression<Value> { TypedExpression(expression: expression) }

  @available(*, unavailable, message: "only text can be concatenated, with terms of the same type")
  public func concatenated(_ other: some TypedTerm) -> TypedExpression<Value> {
    TypedExpression(expression: expression)
  }

  @available(
    *, unavailable,
    message: "typed(as:) can't change the type of a term; convert with cast(to:), or replace NULL with ifNull(_:)"
  )
  public func typed<Other: SqlValue>(as type: Other.Type) -> TypedExpression<Other> {
    TypedExpression(expression: expression)
  }

  @available(
    *, unavailable,
    message: "ifNull(_:) needs a term that can be NULL; after an outer join use optional.ifNull(_:)"
  )
  public func ifNull(_ value: Value) -> TypedExpression<Value> { TypedExpression(expression: expression) }

  @available(
    *, unavailable,
    message: "ifNull(_:) needs a term that can be NULL; after an outer join use optional.ifNull(_:)"
  )
  public func ifNull(_ other: some TypedTerm<Value>) -> TypedExpression<Value> {
    TypedExpression(expression: expression)
  }

  @available(
    *, unavailable,
    message: "only numbers have a sum; a type that is stored as a number can conform to SqlNumber"
  )
  public func sum(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> TypedExpression<Double?> {
    TypedExpression(expression: expression)
  }

  @available(
    *, unavailable,
    message: "only numbers have an average; a type that is stored as a number can conform to SqlNumber"
  )
  public func average(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> TypedExpression<Double?> {
    TypedExpression(expression: expression)
  }

  @available(*, unavailable, message: "only numbers can be negated")
  public static prefix func - (term: Self) -> TypedExpression<Value> { TypedExpression(expression: term.expression) }
}

extension TypedTerm where Value: SqlText {
  @available(*, unavailable, message: "use concatenated(_:) to concatenate text")
  public static func + (left: Self, right: Value) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }

  @available(*, unavailable, message: "use concatenated(_:) to concatenate text")
  public static func + (left: Self, right: some TypedTerm) -> TypedExpression<Value> {
    TypedExpression(expression: left.expression)
  }
}

extension CaseBuilder {
  @available(*, unavailable, message: "this branch of the case has a different type than the first branch")
  public func when(_ condition: some SqlCondition, then value: some SqlValue) -> CaseBuilder { self }

  @available(*, unavailable, message: "this branch of the case has a different type than the first branch")
  public func when(_ condition: some SqlCondition, then term: some TypedTerm) -> CaseBuilder { self }

  @available(*, unavailable, message: "this branch of the case has a different type than the first branch")
  public func `else`(_ value: some SqlValue) -> TypedExpression<Value> { TypedExpression(expression: terms[1]) }

  @available(*, unavailable, message: "this branch of the case has a different type than the first branch")
  public func `else`(_ term: some TypedTerm) -> TypedExpression<Value> { TypedExpression(expression: terms[1]) }
}

extension ScalarFunction {
  @available(
    *, unavailable,
    message: "the terms do not match the function's parameters; for an optional parameter, use term.optional"
  )
  public func callAsFunction(_ terms: any AnyTerm...) -> TypedExpression<Output> { callAsFunction() }
}

extension AggregateFunction {
  @available(
    *, unavailable,
    message: "the terms do not match the function's parameters; for an optional parameter, use term.optional"
  )
  public func callAsFunction(
    _ terms: any AnyTerm..., distinct: Bool = false, orderBy orderings: any OrderingTerm...,
    where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<Output> { callAsFunction() }
}

extension SqlFragment.StringInterpolation {
  @available(*, unavailable, message: "a term can't contain a query; use scalar(_:), exists(_:) or in(_:)")
  public mutating func appendInterpolation(_ query: Select<some Any>) {}

  /// Rejects a statement in the text of a term: using the term in a statement throws `.invalidStatement`. Without this
  /// overload, the interpolated statement would be bound as JSON, because a column can store a statement. To bind a
  /// statement as JSON, write `\(json: statement)`.
  // Not marked unavailable, because the compiler would then choose the overload for values.
  public mutating func appendInterpolation<Model, Output>(_ statement: Statement<Model, Output>) {
    refuse("a term can't contain a statement; use scalar(_:), exists(_:) or in(_:)")
  }
}

@available(*, unavailable, message: "?? is for Swift's optionals; use ifNull(_:) for a term")
public func ?? <Term: TypedTerm>(term: Term, value: some Any) -> TypedExpression<Term.Value> {
  TypedExpression(expression: term.expression)
}

@available(*, unavailable, message: "?? is for Swift's optionals; use ifNull(_:) for a term")
public func ?? (term: some SqlTerm, value: some Any) -> SqlExpression { term.expression }

@available(*, unavailable, message: "only a query with a single column can be used as a value")
public func scalar(_ query: some SelectStatement) -> TypedExpression<Null> {
  TypedExpression(Null())
}

extension SelectStatement {
  @available(*, unavailable, message: "the other query has different types or a different number of columns")
  public consuming func union(_ other: some SelectStatement) -> Select<Row> { asSelect() }

  @available(*, unavailable, message: "the other query has different types or a different number of columns")
  public consuming func unionAll(_ other: some SelectStatement) -> Select<Row> { asSelect() }

  @available(*, unavailable, message: "the other query has different types or a different number of columns")
  public consuming func intersect(_ other: some SelectStatement) -> Select<Row> { asSelect() }

  @available(*, unavailable, message: "the other query has different types or a different number of columns")
  public consuming func except(_ other: some SelectStatement) -> Select<Row> { asSelect() }

  @available(*, unavailable, message: "a join needs a condition; use join(_:on:)")
  public consuming func join<Other: Sqlable>(_ other: Other.Type) -> Select<Row> { asSelect() }

  @available(*, unavailable, message: "a join needs a condition; use joining(_:on:)")
  public consuming func joining<Other: Sqlable>(_ other: Other.Type) -> Select<Row> { asSelect() }

  @available(*, unavailable, message: "a join needs a condition; use leftJoining(_:on:)")
  public consuming func leftJoining<Other: Sqlable>(_ other: Other.Type) -> Select<Row> { asSelect() }
}

extension Sqlable {
  @available(*, unavailable, message: "a join needs a condition; use join(_:on:)")
  public static func join<Other: Sqlable>(_ other: Other.Type) -> Select<Self> { read().asSelect() }

  @available(
    *, unavailable,
    message: "insert(from:) needs a query for whole rows of the same model; use read(), or list the columns"
  )
  public static func insert(from query: some SelectStatement) -> Statement<Self, Int> {
    insert([], query.asSelect().query)
  }

  @available(
    *, unavailable,
    message: "the insert lists a column of another model, or the query's columns differ in number or type"
  )
  public static func insert<First, FirstValue, each Model, each Value>(
    _ first: TypedColumn<First, FirstValue>, _ column: repeat TypedColumn<each Model, each Value>,
    from query: Select<some Any>
  ) -> Statement<Self, Int> { insert([], query.query) }
}

extension Statement where Output == [Model] {
  @available(*, unavailable, message: "use Alias(Model.self, name) { _ in … } to name rows of a model")
  public func named(_ name: String) -> Alias<Model> { Alias(Model.self, name) }
}

extension Select {
  @available(*, unavailable, message: "a limit is an Int or a term of the type Int")
  public consuming func limit(_ limit: some Any) -> Select { self }
}

extension PrimaryKey {
  @available(*, unavailable, renamed: "PrimaryKeys(_:)")
  public init(_ column: any IndexTerm, _ others: any IndexTerm...) { self.init() }
}

@available(*, unavailable, message: "use PrimaryKeys(_:)")
extension PrimaryKey: TableConstraint {}

extension JSON {
  @available(*, unavailable, renamed: "init(text:)")
  public init(_ text: String) { self = .string(text) }
}

extension DynamicRow {
  @available(*, unavailable, message: "a DynamicRow has no model; read the column by name: get(_:as:)")
  public func get(_ column: some ColumnConvertible) throws -> DatabaseValue { .null }
}

extension ReadRow {
  @available(*, unavailable, renamed: "get(at:as:)")
  public func get<Value: SqlValue>(_ position: Int, as type: Value.Type = Value.self) throws -> Value {
    try get(at: position)
  }
}

// On a value of type `any Sqlable`, only these overloads are visible, because the working methods return
// `Statement<Self, …>`.
extension Sqlable {
  @available(*, unavailable, message: "a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)")
  public func insert() -> Statement<TableRow, Int> { TableRow.delete() }

  @available(*, unavailable, message: "a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)")
  public func update() -> Statement<TableRow, Int> { TableRow.delete() }

  @available(*, unavailable, message: "a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)")
  public func save() -> Statement<TableRow, Int> { TableRow.delete() }

  @available(*, unavailable, message: "a call on any Sqlable needs a generic function, such as f(_ row: some Sqlable)")
  public func delete() -> Statement<TableRow, Int> { TableRow.delete() }
}
