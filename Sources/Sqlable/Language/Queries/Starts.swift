// What a query is begun with, what it gives, and what else it reads.

extension Sqlable {
  /// A typed column or term: `SELECT "name" FROM "car"`.
  @inlinable
  public static func select<Term: TypedTerm>(_ term: Term) -> Select<Term.Value> { Select(giving([term.expression])) }

  /// Untyped columns and terms, a ``DynamicRow`` for each row; beside them a typed one stands as its `expression`.
  public static func select(_ terms: any SqlTerm...) -> Select<DynamicRow> {
    Select(giving(terms.map(\.expression)))
  }

  /// The query of all rows.
  @usableFromInline
  static func whole() -> SelectQuery { SelectQuery(source(), results: [.model(0)]) }

  /// The query that gives these terms of all rows.
  @usableFromInline
  static func giving(_ terms: [SqlExpression]) -> SelectQuery {
    SelectQuery(source(), results: terms.map { .term($0) })
  }

  @usableFromInline
  static func source() -> SelectQuery.Source { SelectQuery.Source(table: TableInfo.unchecked(Self.self)) }
}

extension SelectStatement {
  /// Gives this typed column or term instead, of all tables that are joined.
  @inlinable
  public consuming func select<Term: TypedTerm>(_ term: Term) -> Select<Term.Value> {
    var query = asSelect().query
    query.give([term.expression])
    return .init(query)
  }

  /// Gives these untyped columns and terms instead; beside them a typed one stands as its `expression`.
  public consuming func select(_ terms: any SqlTerm...) -> Select<DynamicRow> {
    var query = asSelect().query
    query.give(terms.map(\.expression))
    return .init(query)
  }

  /// Joins another table without giving its columns: for conditions and terms that name them.
  public consuming func joining<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<Row> {
    var select = asSelect()
    select.query.join(Other.source(), .inner, on: condition)
    return select
  }

  /// Joins a table under another name without giving its columns.
  public consuming func joining<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<Row> {
    var select = asSelect()
    select.query.join(other.source, .inner, on: condition)
    return select
  }
}

extension SelectQuery {
  /// Joins a table whose columns are no results.
  mutating func join(_ source: Source, _ join: Source.Join, on condition: SqlExpression?) {
    refuseIfCombined("a join")
    var source = source
    source.join = join
    source.condition = condition
    clauses.sources.append(source)
  }

  /// Joins a table, whose columns come last in the result.
  // Not a copy that is joined: a query that two have is copied with all that it says.
  @usableFromInline
  mutating func add(_ source: Source, _ join: Source.Join, on condition: SqlExpression? = nil) {
    self.join(source, join, on: condition)
    clauses.results.append(.model(clauses.sources.count - 1))
  }

  /// Makes these terms the result.
  @usableFromInline
  mutating func give(_ terms: [SqlExpression]) {
    refuseIfCombined("select")
    clauses.results = terms.map { .term($0) }
  }
}
