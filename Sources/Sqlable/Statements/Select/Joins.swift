// What a query is begun with, what it is joined with, and what it gives.

extension Sqlable {
  /// All rows, as a query that can be joined, grouped and combined: `SELECT "id", "name" FROM "person"`.
  @inlinable
  public static func all() -> SingleSelect<Self> { SingleSelect(whole()) }

  /// A typed column or term: `SELECT "name" FROM "car"`.
  @inlinable
  public static func select<Term: TypedTerm>(_ term: Term) -> SingleSelect<Term.Value> {
    SingleSelect(whole().giving([term.expression]))
  }

  /// Typed columns and terms, a tuple for each row: `SELECT "name", "price" FROM "car"`.
  @inlinable
  public static func select<each Term: TypedTerm>(_ term: repeat each Term) -> Select<repeat (each Term).Value> {
    var terms: [SqlExpression] = []
    for term in repeat each term { terms.append(term.expression) }
    return Select(whole().giving(terms))
  }

  /// Untyped columns and terms, a ``DynamicRow`` for each row; beside them a typed one stands as its `expression`.
  public static func select(_ terms: any SqlTerm...) -> SingleSelect<DynamicRow> {
    SingleSelect(whole().giving(terms.map(\.expression)))
  }

  /// The rows of both tables that belong together: `SELECT … FROM "bicycle" JOIN "person" ON …`.
  @inlinable
  public static func join<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<Self, Other> {
    all().join(other, on: condition)
  }

  /// The rows of this table and of another, or of this again, under another name.
  @inlinable
  public static func join<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<Self, Other> {
    all().join(other, on: condition)
  }

  /// All rows of this table, each with those of the other that belong to it, or with nil.
  @inlinable
  public static func leftJoin<Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<Self, Other?> { all().leftJoin(other, on: condition) }

  /// All rows of this table, each with those of the other that belong to it, or with nil.
  @inlinable
  public static func leftJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<Self, Other?> { all().leftJoin(other, on: condition) }

  /// Every row of this table with every row of the other.
  @inlinable
  public static func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<Self, Other> { all().crossJoin(other) }

  /// Every row of this table with every row of the other, under another name.
  @inlinable
  public static func crossJoin<Other: Sqlable>(_ other: Alias<Other>) -> Select<Self, Other> { all().crossJoin(other) }

  /// The query of all rows.
  @usableFromInline
  static func whole() -> SelectQuery { SelectQuery(source(), results: [.model(0)]) }

  @usableFromInline
  static func source() -> SelectQuery.Source { SelectQuery.Source(table: TableInfo.unchecked(Self.self)) }
}

extension SelectStatement {
  /// Joins another table without giving its columns: for conditions and terms that name them.
  public consuming func joining<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Self {
    query.join(Other.source(), .inner, on: condition)
    return self
  }

  /// Joins a table under another name without giving its columns.
  public consuming func joining<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Self {
    query.join(other.source, .inner, on: condition)
    return self
  }

  /// Gives this typed column or term instead, of all tables that are joined.
  @inlinable
  public consuming func select<Term: TypedTerm>(_ term: Term) -> SingleSelect<Term.Value> {
    query.give([term.expression])
    return SingleSelect(query)
  }

  /// Gives these typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<each Term: TypedTerm>(_ term: repeat each Term) -> Select<repeat (each Term).Value> {
    var terms: [SqlExpression] = []
    for term in repeat each term { terms.append(term.expression) }
    query.give(terms)
    return Select(query)
  }

  /// Gives these untyped columns and terms instead; beside them a typed one stands as its `expression`.
  public consuming func select(_ terms: any SqlTerm...) -> SingleSelect<DynamicRow> {
    query.give(terms.map(\.expression))
    return SingleSelect(query)
  }
}

extension SelectQuery {
  /// Joins a table whose columns are no results.
  mutating func join(_ source: Source, _ join: Source.Join, on condition: SqlExpression?) {
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
  mutating func give(_ terms: [SqlExpression]) { clauses.results = terms.map { .term($0) } }

  /// The query with these terms as its result.
  @usableFromInline
  consuming func giving(_ terms: [SqlExpression]) -> SelectQuery {
    give(terms)
    return self
  }
}

extension SingleSelect {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<Output, Other> {
    query.add(Other.source(), .inner, on: condition)
    return Select(query)
  }

  /// Joins a table under another name.
  @inlinable
  public consuming func join<Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<Output, Other> {
    query.add(other.source, .inner, on: condition)
    return Select(query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<Output, Other?> {
    query.add(Other.source(), .left, on: condition)
    return Select(query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<Output, Other?> {
    query.add(other.source, .left, on: condition)
    return Select(query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<Output, Other> {
    query.add(Other.source(), .cross)
    return Select(query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Alias<Other>) -> Select<Output, Other> {
    query.add(other.source, .cross)
    return Select(query)
  }
}

extension Select {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<repeat each Output, Other> {
    query.add(Other.source(), .inner, on: condition)
    return .init(query)
  }

  /// Joins a table under another name.
  @inlinable
  public consuming func join<Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<repeat each Output, Other> {
    query.add(other.source, .inner, on: condition)
    return .init(query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<repeat each Output, Other?> {
    query.add(Other.source(), .left, on: condition)
    return .init(query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<repeat each Output, Other?> {
    query.add(other.source, .left, on: condition)
    return .init(query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<repeat each Output, Other> {
    query.add(Other.source(), .cross)
    return .init(query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Alias<Other>) -> Select<repeat each Output, Other> {
    query.add(other.source, .cross)
    return .init(query)
  }
}
