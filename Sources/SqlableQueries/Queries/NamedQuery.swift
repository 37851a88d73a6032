import SqlableCore

/// A named query: a common table expression without a model. Other queries use the columns as terms.
///
/// ```swift
/// let perDay = Flight.select(Flight.day, Flight.delay.average()).groupBy(Flight.day).named("per_day")
/// let (day, delay) = perDay.columns     // TypedExpression<Int>, TypedExpression<Double?>
/// perDay.read().filter(delay > 20).orderBy(day)
/// // WITH RECURSIVE "per_day" ("c1", "c2") AS (SELECT "day", avg("delay") FROM "flight" GROUP BY "day")
/// // SELECT "per_day"."c1", "per_day"."c2" FROM "per_day" WHERE "per_day"."c2" > ? ORDER BY "per_day"."c1"
/// ```
///
/// Running a query throws `.invalidStatement` if the query also reads a table with this name, or nests named queries
/// more than eight deep. Each column keeps its type: a date is compared and read as in the original table.
public struct NamedQuery<each Output: SqlValue>: Sendable, Hashable {
  fileprivate let table: NamedTable

  package var name: String { table.name }

  var source: SelectQuery.Source { table.source }

  fileprivate init(_ name: String, _ query: SelectQuery, _ materialized: Bool?, isNamed: Bool = false) {
    var types: [ColumnType] = []
    repeat types.append((each Output).columnType)
    table = NamedTable(name, query, types, materialized, isNamed: isNamed)
  }

  private init(_ table: NamedTable) { self.table = table }

  /// The columns in the order of the query. Destructure the tuple, `let (day, delay) = perDay.columns`, or access one
  /// column, `perDay.columns.0`.
  public var columns: (repeat TypedExpression<each Output>) {
    var index = 0
    func next<Value: SqlValue>(_ type: Value.Type) -> TypedExpression<Value> {
      defer { index += 1 }
      return TypedExpression(expression: table.terms[index])
    }
    return (repeat next((each Output).self))
  }

  /// Returns a query of all rows, which you can filter, join and combine.
  public func read() -> Select<(repeat each Output)> { Select(tuples: table.all) }

  /// Returns the same query under another name, for a statement that reads the query twice: `"per_day" AS "other"`.
  ///
  /// ```swift
  /// let next = perDay.alias("next")
  /// perDay.read().joining(next, on: next.columns.0 == perDay.columns.0 + 1)
  /// // WITH RECURSIVE "per_day" … SELECT … FROM "per_day" JOIN "per_day" AS "next" ON …
  /// ```
  public func alias(_ name: String) -> NamedQuery { NamedQuery(table.alias(name)) }
}

/// A named query of a single column; see ``NamedQuery``.
public struct NamedColumn<Output: SqlValue>: Sendable, Hashable {
  fileprivate let table: NamedTable

  fileprivate init(_ name: String, _ query: SelectQuery, _ materialized: Bool?, isNamed: Bool = false) {
    table = NamedTable(name, query, [Output.columnType], materialized, isNamed: isNamed)
  }

  private init(_ table: NamedTable) { self.table = table }

  package var name: String { table.name }

  var source: SelectQuery.Source { table.source }

  /// The column, as a term for other queries.
  public var column: TypedExpression<Output> { TypedExpression(expression: table.terms[0]) }

  /// Returns a query of all rows, which you can filter, join and combine.
  public func read() -> Select<Output> { Select(table.all) }

  /// Returns the same query under another name, for a statement that reads the query twice: `"ids" AS "other"`.
  public func alias(_ name: String) -> NamedColumn { NamedColumn(table.alias(name)) }
}

/// The shared implementation of ``NamedQuery`` and ``NamedColumn``.
private struct NamedTable: Sendable, Hashable {
  private(set) var name: String
  private(set) var source: SelectQuery.Source

  init(_ name: String, _ query: SelectQuery, _ types: [ColumnType], _ materialized: Bool?, isNamed: Bool) {
    // A term that refers to a column keeps that column's type.
    let types = zip(query.clauses.columns, types).map { $0.type ?? $1 }
    var source = SelectQuery.Source(table: TableInfo.columns(of: types))
    source.alias = name
    if isNamed {
      source.kind = .named
    } else {
      source.define(query)
      source.materialization = materialized.map { .init($0) }
    }
    self.name = name
    self.source = source
  }

  func alias(_ name: String) -> NamedTable {
    var table = self
    table.name = name
    table.source = source.alias(name)
    return table
  }

  var terms: [SqlExpression] {
    source.table.columns.map { SqlExpression(.qualified(alias: name, ColumnReference($0))) }
  }

  var all: SelectQuery { SelectQuery(source, results: terms.map { .term($0) }) }
}

extension Select {
  /// Names the query, so that other queries can use its columns.
  ///
  /// ```swift
  /// let perName = Car.select(Car.name, Car.price.max()).groupBy(Car.name).named("per_name", materialized: true)
  /// // WITH RECURSIVE "per_name" ("c1", "c2") AS MATERIALIZED (SELECT "name", max("price") FROM "car" GROUP BY "name")
  /// ```
  ///
  /// With `materialized: true` SQLite computes the rows once, `MATERIALIZED`. With `false` SQLite inserts the query as
  /// a subquery at each use of the name, `NOT MATERIALIZED`. With nil SQLite computes the rows once if the name is used
  /// more than once. The result is identical. Before SQLite 3.35, running the query with `true` or `false` throws
  /// `.misuse`.
  @_disfavoredOverload
  public func named<each Output: SqlValue>(
    _ name: String, materialized: Bool? = nil
  ) -> NamedQuery<repeat each Output> where Row == (repeat each Output) {
    NamedQuery(name, query, materialized)
  }

  /// Names a recursive query: the rows of this query, and the rows that `step` repeatedly finds from earlier rows.
  ///
  /// ```swift
  /// let team = Worker.select(Worker.id, Worker.name).filter(Worker.id == 1).named("team") { team in
  ///   let (id, _) = team.columns
  ///   return Worker.select(Worker.id, Worker.name).joining(team, on: Worker.bossId == id)
  /// }
  /// // WITH RECURSIVE "team" ("c1", "c2") AS (SELECT … WHERE "id" = ? UNION ALL SELECT … JOIN "team" ON …)
  /// ```
  ///
  /// With `distinct`, SQLite drops duplicates of earlier rows (`UNION`), so that the recursion ends even if the rows
  /// form a cycle. This query's order determines the order in which SQLite passes rows to `step`. This query's limit
  /// applies to the total number of rows.
  @_disfavoredOverload
  public func named<each Output: SqlValue>(
    _ name: String, distinct: Bool = false, materialized: Bool? = nil,
    _ step: (NamedQuery<repeat each Output>) -> Select
  ) -> NamedQuery<repeat each Output> where Row == (repeat each Output) {
    let next = step(NamedQuery(name, query, nil, isNamed: true))
    return NamedQuery(name, (distinct ? union(next) : unionAll(next)).query, materialized)
  }
}

extension Select where Row: SqlValue {
  /// Names the query, so that other queries can use its column. For `materialized`, see the method for several columns.
  public func named(_ name: String, materialized: Bool? = nil) -> NamedColumn<Row> {
    NamedColumn(name, query, materialized)
  }

  /// Names a recursive query: the rows of this query, and the rows that `step` repeatedly finds from earlier rows.
  public func named(
    _ name: String, distinct: Bool = false, materialized: Bool? = nil, _ step: (NamedColumn<Row>) -> Select
  ) -> NamedColumn<Row> {
    let next = step(NamedColumn(name, query, nil, isNamed: true))
    return NamedColumn(name, (distinct ? union(next) : unionAll(next)).query, materialized)
  }
}

extension SelectStatement {
  /// Joins a named query without selecting its columns.
  public consuming func joining<each Output>(
    _ other: NamedQuery<repeat each Output>, on condition: any SqlCondition
  ) -> Select<Row> {
    joined(other.table.source, .inner, on: condition)
  }

  /// Joins a named query without selecting its column.
  public consuming func joining<Output>(_ other: NamedColumn<Output>, on condition: any SqlCondition) -> Select<Row> {
    joined(other.table.source, .inner, on: condition)
  }

  /// Left-joins a named query without selecting its columns. For a row without a match the columns are NULL, even if
  /// the type is not optional. To read NULL as nil, use `typed(as:)`.
  public consuming func leftJoining<each Output>(
    _ other: NamedQuery<repeat each Output>, on condition: any SqlCondition
  ) -> Select<Row> {
    joined(other.table.source, .left, on: condition)
  }

  /// Left-joins a named query without selecting its column. The column is NULL for a row without a match.
  public consuming func leftJoining<Output>(_ other: NamedColumn<Output>, on condition: any SqlCondition) -> Select<Row>
  {
    joined(other.table.source, .left, on: condition)
  }

  /// Cross-joins a named query without selecting its columns: every row is combined with every row of the named query.
  ///
  /// ```swift
  /// let rates = values([("EUR", 1.0), ("USD", 1.08)]).named("rate")
  /// Car.select(Car.name, Car.price * rates.columns.1).crossJoining(rates)
  /// // WITH RECURSIVE "rate" … SELECT "car"."name", "car"."price" * "rate"."c2" FROM "car" CROSS JOIN "rate"
  /// ```
  public consuming func crossJoining<each Output>(_ other: NamedQuery<repeat each Output>) -> Select<Row> {
    joined(other.table.source, .cross)
  }

  /// Cross-joins a named query without selecting its column: every row is combined with every row of the named query.
  public consuming func crossJoining<Output>(_ other: NamedColumn<Output>) -> Select<Row> {
    joined(other.table.source, .cross)
  }
}
