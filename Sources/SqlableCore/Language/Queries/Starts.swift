// Queries of a single column, term or model, and joins that do not change the result's columns.

extension Sqlable {
  /// Selects a typed column or term: `SELECT "name" FROM "car"`.
  @inlinable
  public static func select<A: Selectable>(_ a: A) -> Select<A.Value> { Select(giving([a.selected])) }

  /// Selects a model of one of the joined tables: `SELECT "person"."id", … FROM "car" JOIN "person" ON …`.
  @inlinable
  public static func select<A: SelectableModel>(_ a: A.Type) -> Select<A> { Select(giving([Selected(a)])) }

  /// Selects untyped columns and terms, and returns a ``DynamicRow`` for each row. For a typed term, pass its
  /// `expression`.
  public static func select(_ terms: any SqlTerm...) -> Select<DynamicRow> {
    Select(giving(terms.map { Selected($0.expression) }))
  }

  @usableFromInline
  static func queryOfAllRows() -> SelectQuery { SelectQuery(source(), results: [.model(0)]) }

  @usableFromInline
  package static func giving(_ items: [Selected]) -> SelectQuery {
    var query = SelectQuery(source(), results: [])
    query.give(items)
    return query
  }

  @usableFromInline
  package static func source() -> SelectQuery.Source { SelectQuery.Source(table: TableInfo.unchecked(Self.self)) }
}

extension SelectStatement {
  /// Selects a model of one of the joined tables instead of the query's columns.
  @inlinable
  public consuming func select<A: SelectableModel>(_ a: A.Type) -> Select<A> {
    var query = asSelect().query
    query.give([Selected(a)])
    return .init(query)
  }

  /// Selects a typed column or term instead of the query's columns.
  @inlinable
  public consuming func select<A: Selectable>(_ a: A) -> Select<A.Value> {
    var query = asSelect().query
    query.give([a.selected])
    return .init(query)
  }

  /// Selects untyped columns and terms instead of the query's columns. For a typed term, pass its `expression`.
  public consuming func select(_ terms: any SqlTerm...) -> Select<DynamicRow> {
    var query = asSelect().query
    query.give(terms.map { Selected($0.expression) })
    return .init(query)
  }

  /// Joins another table without selecting its columns. Conditions and terms can refer to the other table's columns.
  public consuming func joining<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<Row> {
    joined(Other.source(), .inner, on: condition)
  }

  /// Joins a table under another name without selecting its columns.
  public consuming func joining<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Select<Row> {
    joined(other.source, .inner, on: condition)
  }

  /// Left-joins another table without selecting its columns. In a row without a match, the other table's columns are
  /// NULL, even if their Swift types are not optional. To read NULL as nil, use `typed(as:)`.
  ///
  /// ```swift
  /// Person.select(Person.name, Bicycle.id.count()).leftJoining(Bicycle.self, on: Bicycle.ownerId == Person.id)
  ///   .groupBy(Person.id)
  /// // SELECT "person"."name", count("bicycle"."id") FROM "person" LEFT JOIN "bicycle" ON … GROUP BY "person"."id"
  /// ```
  public consuming func leftJoining<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<Row>
  {
    joined(Other.source(), .left, on: condition)
  }

  /// Left-joins a table under another name without selecting its columns. The columns are NULL for a row without a
  /// match.
  public consuming func leftJoining<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Select<
    Row
  > {
    joined(other.source, .left, on: condition)
  }

  /// Cross-joins another table without selecting its columns: `… CROSS JOIN "person"`.
  public consuming func crossJoining<Other: Sqlable>(_ other: Other.Type) -> Select<Row> {
    joined(Other.source(), .cross)
  }

  /// Cross-joins a table under another name without selecting its columns.
  public consuming func crossJoining<Other: Sqlable>(_ other: Alias<Other>) -> Select<Row> {
    joined(other.source, .cross)
  }
}

extension SelectStatement {
  /// Joins a table or named query without selecting its columns.
  package consuming func joined(
    _ source: SelectQuery.Source, _ join: SelectQuery.Source.Join, on condition: (any SqlCondition)? = nil
  ) -> Select<Row> {
    var select = asSelect()
    select.query.join(source, join, on: condition)
    return select
  }
}

extension SelectQuery {
  package mutating func join(_ source: Source, _ join: Source.Join, on condition: (any SqlCondition)?) {
    refuseIfCombined("a join")
    var source = source
    source.join = join
    source.condition = condition?.expression
    clauses.sources.append(source)
    clauses.findResults()
    if join.keepsJoined {
      // A right or full join makes all earlier results optional.
      clauses.requiredResults = RequiredResults()
    } else if join == .left {
      clauses.refuseUnmatchedResults()
    }
  }

  /// Joins a table and appends its columns to the result.
  // The method mutates in place, because joining a copy would copy all clauses of the query.
  @usableFromInline
  package mutating func add(_ source: Source, _ join: Source.Join, on condition: (any SqlCondition)? = nil) {
    self.join(source, join, on: condition)
    clauses.results.append(.model(clauses.sources.count - 1))
  }

  @usableFromInline
  mutating func give(_ items: [Selected]) {
    refuseIfCombined("select")
    clauses.give(items.map(\.result))
    clauses.requiredResults = RequiredResults(
      items.indices.lazy.filter { items[$0].value?.columnType.isNullable == false })
    if clauses.missesRows { clauses.refuseUnmatchedResults() }
  }
}
