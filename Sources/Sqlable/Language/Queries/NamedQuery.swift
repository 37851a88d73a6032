/// A query under a name, whose columns are terms for other queries: a common table expression that needs no model.
///
/// ```swift
/// let perDay = Flight.select(Flight.day, Flight.delay.average()).groupBy(Flight.day).named("per_day")
/// let (day, delay) = perDay.columns     // TypedExpression<Int>, TypedExpression<Double?>
/// perDay.read().filter(delay > 20).orderBy(day)
/// // WITH RECURSIVE "per_day" ("c1", "c2") AS (SELECT "day", avg("delay") FROM "flight" GROUP BY "day")
/// // SELECT "per_day"."c1", "per_day"."c2" FROM "per_day" WHERE "per_day"."c2" > ? ORDER BY "per_day"."c1"
/// ```
///
/// Running a query that also reads a table of that name throws `.invalidStatement`, and so does one whose named queries
/// are made of each other more than eight deep. The values keep the form that their column gives them: a date is
/// compared and read as in its own table.
public struct NamedQuery<each Output: SqlValue>: Sendable, Hashable {
  fileprivate let table: NamedTable

  public var name: String { table.name }

  fileprivate init(_ name: String, _ query: SelectQuery, isNamed: Bool = false) {
    var types: [ColumnType] = []
    repeat types.append((each Output).columnType)
    table = NamedTable(name, query, types, isNamed: isNamed)
  }

  /// The columns, in the order of the query, to be taken apart, `let (day, delay) = perDay.columns`, or taken singly,
  /// `perDay.columns.0`.
  public var columns: (repeat TypedExpression<each Output>) {
    var index = 0
    func next<Value: SqlValue>(_ type: Value.Type) -> TypedExpression<Value> {
      defer { index += 1 }
      return TypedExpression(expression: table.terms[index])
    }
    return (repeat next((each Output).self))
  }

  /// All rows, as a query that can be filtered, joined and combined.
  public func read() -> Select<(repeat each Output)> { Select(tuples: table.all) }
}

/// A query of one column under a name; see ``NamedQuery``.
public struct NamedColumn<Output: SqlValue>: Sendable, Hashable {
  fileprivate let table: NamedTable

  fileprivate init(_ name: String, _ query: SelectQuery, isNamed: Bool = false) {
    table = NamedTable(name, query, [Output.columnType], isNamed: isNamed)
  }

  public var name: String { table.name }

  /// The column, as a term for other queries.
  public var column: TypedExpression<Output> { TypedExpression(expression: table.terms[0]) }

  /// All rows, as a query that can be filtered, joined and combined.
  public func read() -> Select<Output> { Select(table.all) }
}

/// What queries under a name have in common.
private struct NamedTable: Sendable, Hashable {
  let name: String
  let source: SelectQuery.Source

  /// A query whose columns hold values of these types, unless it knows better.
  init(_ name: String, _ query: SelectQuery, _ types: [ColumnType], isNamed: Bool) {
    // A term that is a column, or has the form of one, says best how its values are stored.
    let types = zip(query.clauses.columns, types).map { $0.type ?? $1 }
    var source = SelectQuery.Source(table: TableInfo.columns(of: types))
    source.alias = name
    if isNamed { source.kind = .named } else { source.define(query) }
    self.name = name
    self.source = source
  }

  var terms: [SqlExpression] {
    source.table.columns.map { SqlExpression(.qualified(alias: name, ColumnReference($0))) }
  }

  var all: SelectQuery { SelectQuery(source, results: terms.map { .term($0) }) }
}

extension Select {
  /// Gives the query a name, for others to use its columns.
  @_disfavoredOverload
  public func named<each Output: SqlValue>(_ name: String) -> NamedQuery<repeat each Output>
  where Row == (repeat each Output) {
    NamedQuery(name, query)
  }

  /// Gives a name to the rows of this query, and to those that a second one finds from them, again and again.
  ///
  /// ```swift
  /// let team = Worker.select(Worker.id, Worker.name).filter(Worker.id == 1).named("team") { team in
  ///   let (id, _) = team.columns
  ///   return Worker.select(Worker.id, Worker.name).joining(team, on: Worker.bossId == id)
  /// }
  /// // WITH RECURSIVE "team" ("c1", "c2") AS (SELECT … WHERE "id" = ? UNION ALL SELECT … JOIN "team" ON …)
  /// ```
  ///
  /// With `distinct`, rows that are there already are not added, which ends what goes in circles: `UNION`.
  @_disfavoredOverload
  public func named<each Output: SqlValue>(
    _ name: String, distinct: Bool = false, _ step: (NamedQuery<repeat each Output>) -> Select
  ) -> NamedQuery<repeat each Output> where Row == (repeat each Output) {
    let next = step(NamedQuery(name, query, isNamed: true))
    return (distinct ? union(next) : unionAll(next)).named(name)
  }
}

extension Select where Row: SqlValue {
  /// Gives the query a name, for others to use its column.
  public func named(_ name: String) -> NamedColumn<Row> { NamedColumn(name, query) }

  /// Gives a name to the rows of this query, and to those that a second one finds from them, again and again.
  public func named(
    _ name: String, distinct: Bool = false, _ step: (NamedColumn<Row>) -> Select
  ) -> NamedColumn<Row> {
    let next = step(NamedColumn(name, query, isNamed: true))
    return (distinct ? union(next) : unionAll(next)).named(name)
  }
}

extension SelectStatement {
  /// Joins a query that goes by a name, without giving its columns.
  public consuming func joining<each Output>(
    _ other: NamedQuery<repeat each Output>, on condition: SqlExpression
  ) -> Select<Row> {
    var select = asSelect()
    select.query.join(other.table.source, .inner, on: condition)
    return select
  }

  /// Joins a query that goes by a name, without giving its column.
  public consuming func joining<Output>(_ other: NamedColumn<Output>, on condition: SqlExpression) -> Select<Row> {
    var select = asSelect()
    select.query.join(other.table.source, .inner, on: condition)
    return select
  }

  /// Joins a query that goes by a name to all rows so far: where it has none its columns are NULL, whatever their type
  /// says; `typed(as:)` makes them optional.
  public consuming func leftJoining<each Output>(
    _ other: NamedQuery<repeat each Output>, on condition: SqlExpression
  ) -> Select<Row> {
    var select = asSelect()
    select.query.join(other.table.source, .left, on: condition)
    return select
  }
}
