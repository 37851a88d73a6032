// What a query is begun with, what it is joined with, and what it gives.

extension Sqlable {
  /// A typed column or term: `SELECT "name" FROM "car"`.
  public static func select<Term: TypedTerm>(_ term: Term) -> SingleSelect<Term.Value> { all().select(term) }

  /// Typed columns and terms, a tuple for each row: `SELECT "name", "price" FROM "car"`.
  public static func select<each Term: TypedTerm>(_ term: repeat each Term) -> Select<repeat (each Term).Value> {
    all().select(repeat each term)
  }

  /// Untyped columns and terms, a ``DynamicRow`` for each row; beside them a typed one stands as its `expression`.
  public static func select(_ terms: any SqlTerm...) -> SingleSelect<DynamicRow> {
    SingleSelect(SelectQuery(sources: [source()], results: terms.map { .term($0.expression) }))
  }

  static func source(alias: String? = nil) -> SelectQuery.Source {
    SelectQuery.Source(table: TableInfo.unchecked(Self.self), alias: alias)
  }

  /// The rows of both tables that belong together: `SELECT … FROM "bicycle" JOIN "person" ON …`.
  public static func join<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<Self, Other> {
    all().join(other, on: condition)
  }

  /// All rows of this table, each with those of the other that belong to it, or with nil.
  public static func leftJoin<Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<Self, Other?> { all().leftJoin(other, on: condition) }

  /// Every row of this table with every row of the other.
  public static func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<Self, Other> { all().crossJoin(other) }

  /// All rows, as a query that can be joined, grouped and combined: `SELECT "id", "name" FROM "person"`.
  public static func all() -> SingleSelect<Self> {
    SingleSelect(SelectQuery(sources: [source()], results: [.model(0)]))
  }
}

extension SelectStatement {
  fileprivate func joined(
    _ source: SelectQuery.Source, _ join: SelectQuery.Source.Join, _ condition: SqlExpression?, isResult: Bool = true
  ) -> SelectQuery {
    var query = query
    var source = source
    source.join = join
    source.condition = condition
    query.sources.append(source)
    if isResult { query.results.append(.model(query.sources.count - 1)) }
    return query
  }

  /// Joins another table without giving its columns: for conditions and terms that name them.
  public func joining<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Self {
    var copy = self
    copy.query = joined(Other.source(), .inner, condition, isResult: false)
    return copy
  }

  /// Joins a table under another name without giving its columns.
  public func joining<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Self {
    var copy = self
    copy.query = joined(other.source, .inner, condition, isResult: false)
    return copy
  }

  private func giving(_ results: [SqlExpression]) -> SelectQuery {
    var query = query
    query.results = results.map { .term($0) }
    return query
  }

  /// Gives this typed column or term instead, of all tables that are joined.
  public func select<Term: TypedTerm>(_ term: Term) -> SingleSelect<Term.Value> {
    SingleSelect<Term.Value>(giving([term.expression]))
  }

  /// Gives these typed columns and terms instead, of all tables that are joined.
  public func select<each Term: TypedTerm>(_ term: repeat each Term) -> Select<repeat (each Term).Value> {
    var terms: [SqlExpression] = []
    for term in repeat each term { terms.append(term.expression) }
    return Select<repeat (each Term).Value>(giving(terms))
  }

  /// Gives these untyped columns and terms instead; beside them a typed one stands as its `expression`.
  public func select(_ terms: any SqlTerm...) -> SingleSelect<DynamicRow> {
    SingleSelect<DynamicRow>(giving(terms.map(\.expression)))
  }
}

extension SingleSelect {
  /// Joins another table: the rows that belong together.
  public func join<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<Output, Other> {
    Select<Output, Other>(joined(Other.source(), .inner, condition))
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  public func leftJoin<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<Output, Other?> {
    Select<Output, Other?>(joined(Other.source(), .left, condition))
  }

  /// Joins another table: every row so far with every row of it.
  public func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<Output, Other> {
    Select<Output, Other>(joined(Other.source(), .cross, nil))
  }

  /// Joins a table under another name.
  public func join<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<Output, Other> {
    Select<Output, Other>(joined(other.source, .inner, condition))
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  public func leftJoin<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<Output, Other?> {
    Select<Output, Other?>(joined(other.source, .left, condition))
  }
}

extension Select {
  /// Joins another table: the rows that belong together.
  public func join<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<
    repeat each Output, Other
  > {
    Select<repeat each Output, Other>(joined(Other.source(), .inner, condition))
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  public func leftJoin<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<
    repeat each Output, Other?
  > {
    Select<repeat each Output, Other?>(joined(Other.source(), .left, condition))
  }

  /// Joins another table: every row so far with every row of it.
  public func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<repeat each Output, Other> {
    Select<repeat each Output, Other>(joined(Other.source(), .cross, nil))
  }

  /// Joins a table under another name.
  public func join<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<
    repeat each Output, Other
  > {
    Select<repeat each Output, Other>(joined(other.source, .inner, condition))
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  public func leftJoin<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<
    repeat each Output, Other?
  > {
    Select<repeat each Output, Other?>(joined(other.source, .left, condition))
  }
}

/// A table under another name: for one that is in a query twice.
///
/// ```swift
/// let boss = Alias(Person.self, "boss")
/// let pairs = Person.join(boss, on: Person.bossId == boss[Person.id])     // [(Person, Person)]
/// // SELECT … FROM "person" JOIN "person" AS "boss" ON "person"."boss_id" = "boss"."id"
/// ```
public struct Alias<Model: Sqlable>: Sendable, Hashable {
  public let name: String
  private let common: SelectQuery.Source.Common?

  /// The table of a model under another name.
  public init(_ model: Model.Type, _ name: String) { self.init(name, nil) }

  /// A query under a name, with the columns of a model: a common table expression.
  ///
  /// ```swift
  /// let team = Alias(Worker.self, "team") { team in
  ///   Worker.all().filter(Worker.id == 1)
  ///     .unionAll(Worker.all().joining(team, on: Worker.bossId == team[Worker.id]))
  /// }
  /// try team.all().run(db)     // [Worker]
  /// // WITH RECURSIVE "team" ("id", "name", …) AS (SELECT … WHERE "id" = ? UNION ALL SELECT … JOIN "team" ON …)
  /// // SELECT "team"."id", "team"."name", … FROM "team"
  /// ```
  ///
  /// The closure gets the name itself, for a query that is recursive. What it gives has as many columns as the model, else
  /// running it throws `.invalidStatement`.
  public init(_ model: Model.Type, _ name: String, as query: (Alias) -> some SelectStatement) {
    self.init(name, .defined(Indirect(query(Alias(name, .named)).query)))
  }

  private init(_ name: String, _ common: SelectQuery.Source.Common?) {
    self.name = name
    self.common = common
  }

  var source: SelectQuery.Source {
    var source = Model.source(alias: name)
    source.common = common
    return source
  }

  /// A column of the table under this name.
  public subscript<Value: SqlValue>(_ column: TypedColumn<Model, Value>) -> TypedExpression<Value> {
    TypedExpression(expression: self[column.column])
  }

  /// A column of the table under this name.
  public subscript(_ column: Column) -> SqlExpression {
    SqlExpression(.qualified(alias: name, ColumnReference(column)))
  }

  /// All rows, as a query that can be joined, grouped and combined.
  public func all() -> SingleSelect<Model> { SingleSelect(SelectQuery(sources: [source], results: [.model(0)])) }
}

extension Sqlable {
  /// The rows of this table and of another, or of this again, under another name.
  public static func join<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<Self, Other> {
    all().join(other, on: condition)
  }

  /// All rows of this table, each with those of the other that belong to it, or with nil.
  public static func leftJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<Self, Other?> { all().leftJoin(other, on: condition) }
}
