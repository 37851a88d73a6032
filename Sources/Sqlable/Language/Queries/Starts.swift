// What a query is begun with, what it gives, and what else it reads.

extension Sqlable {
  /// A typed column or term: `SELECT "name" FROM "car"`.
  @inlinable
  public static func select<A: Selectable>(_ a: A) -> Select<A.Value> { Select(giving([a.selected])) }

  /// A model, of the tables that are joined: `SELECT "person"."id", … FROM "car" JOIN "person" ON …`.
  @inlinable
  public static func select<A: SelectableModel>(_ a: A.Type) -> Select<A> { Select(giving([Selected(a)])) }

  /// Untyped columns and terms, a ``DynamicRow`` for each row; beside them a typed one stands as its `expression`.
  public static func select(_ terms: any SqlTerm...) -> Select<DynamicRow> {
    Select(giving(terms.map { Selected($0.expression) }))
  }

  /// The query of all rows.
  @usableFromInline
  static func whole() -> SelectQuery { SelectQuery(source(), results: [.model(0)]) }

  /// The query that gives these things of all rows.
  @usableFromInline
  static func giving(_ items: [Selected]) -> SelectQuery {
    var query = SelectQuery(source(), results: [])
    query.give(items)
    return query
  }

  @usableFromInline
  static func source() -> SelectQuery.Source { SelectQuery.Source(table: TableInfo.unchecked(Self.self)) }
}

extension SelectStatement {
  /// Gives this model instead, of all that are joined.
  @inlinable
  public consuming func select<A: SelectableModel>(_ a: A.Type) -> Select<A> {
    var query = asSelect().query
    query.give([Selected(a)])
    return .init(query)
  }

  /// Gives this typed column or term instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable>(_ a: A) -> Select<A.Value> {
    var query = asSelect().query
    query.give([a.selected])
    return .init(query)
  }

  /// Gives these untyped columns and terms instead; beside them a typed one stands as its `expression`.
  public consuming func select(_ terms: any SqlTerm...) -> Select<DynamicRow> {
    var query = asSelect().query
    query.give(terms.map { Selected($0.expression) })
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
    clauses.findResults()
  }

  /// Joins a table, whose columns come last in the result.
  // Not a copy that is joined: a query that two have is copied with all that it says.
  @usableFromInline
  mutating func add(_ source: Source, _ join: Source.Join, on condition: SqlExpression? = nil) {
    self.join(source, join, on: condition)
    clauses.results.append(.model(clauses.sources.count - 1))
  }

  /// Makes these things the result.
  @usableFromInline
  mutating func give(_ items: [Selected]) {
    refuseIfCombined("select")
    clauses.give(items.map(\.result))
  }
}
