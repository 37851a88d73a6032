/// A query of columns, terms and models, of one table or several: a value that touches nothing until it is run.
///
/// ```swift
/// let prices = Car.select(Car.name, Car.price).filter(Car.price < 20_000)     // [(String, Double)]
/// let owned = Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id)     // [(Bicycle, Person?)]
/// ```
///
/// ```sql
/// SELECT "name", "price" FROM "car" WHERE "price" < ?
/// SELECT "bicycle"."id", …, "person"."id", "person"."name" FROM "bicycle" LEFT JOIN "person"
///   ON "bicycle"."owner_id" = "person"."id"
/// ```
///
/// It is immutable, `Sendable` and `Hashable`. Columns of several tables are told apart by their declaration, so names
/// never clash; a table that is there twice needs an ``Alias``. Running it throws `.schema` for a column of a table
/// that is not in it.
public struct Select<Row>: Sendable, Hashable {
  @usableFromInline var query: SelectQuery
  /// Makes a row of a result's columns. It is the same for all queries of one type, and knows nothing but that.
  @usableFromInline let read: @Sendable (inout ResultRow) throws -> Row

  public static func == (left: Select, right: Select) -> Bool { left.query == right.query }

  public func hash(into hasher: inout Hasher) { hasher.combine(query) }
}

extension Select {
  @inlinable
  init(_ query: consuming SelectQuery) where Row: SelectOutput {
    self.query = query
    read = { try Row.next(of: &$0) }
  }

  @inlinable
  init<each Output: SelectOutput>(tuples query: consuming SelectQuery) where Row == (repeat each Output) {
    self.query = query
    read = { (repeat try (each Output).next(of: &$0)) }
  }
}

extension SelectStatement {
  /// The same query, of which each row is read as a ``DynamicRow``: for a list of queries of several kinds.
  public var untyped: Select<DynamicRow> { .init(asSelect().query) }
}

// MARK: - Modifiers

extension Select {
  /// Keeps the rows that meet a condition; a second filter is AND-ed. A row for which it is NULL is dropped.
  public consuming func filter(_ condition: SqlExpression) -> Self {
    query.refuseIfCombined("a filter")
    query.clauses.filter.and(condition)
    return self
  }

  /// Orders the rows; a second call orders those that are equal by the first.
  public consuming func orderBy(_ term: some AnyTerm, _ order: Order = .asc) -> Self {
    query.clauses.order.append(OrderTerm(expression: term.expression, order: order))
    return self
  }

  /// Orders the rows by several terms: `ORDER BY "color", "id" DESC`.
  public consuming func orderBy(_ orderings: Ordering...) -> Self {
    query.clauses.order += orderings.map(\.term)
    return self
  }

  /// Takes at most `limit` rows. Running it with a limit below zero throws `.invalidStatement`.
  public consuming func limit(_ limit: Int) -> Self {
    query.clauses.limit = limit
    return self
  }

  /// Takes at most `limit` rows after skipping `offset`.
  public consuming func limit(_ limit: Int, offset: Int) -> Self {
    query.clauses.limit = limit
    query.clauses.offset = offset
    return self
  }

  /// Reads the first table's rows from another table of the same layout: `SELECT … FROM "archive"`.
  public consuming func `in`(_ table: String) -> Self {
    query.refuseIfCombined("in")
    query.clauses.read(from: table)
    return self
  }
}

// MARK: - What makes a query of any read

extension SelectStatement {
  /// Makes one row of all that have the same values in these terms: `GROUP BY "color"`.
  // A pack: the compiler can't make `any AnyTerm` of an element of a named query's columns.
  public consuming func groupBy<each Term: AnyTerm>(_ term: repeat each Term) -> Select<Row> {
    var select = asSelect()
    select.query.refuseIfCombined("groupBy")
    for term in repeat each term { select.query.clauses.groups.append(term.expression) }
    return select
  }

  /// Keeps the groups that meet a condition; needs ``groupBy(_:)``.
  public consuming func having(_ condition: SqlExpression) -> Select<Row> {
    var select = asSelect()
    select.query.refuseIfCombined("having")
    select.query.clauses.having.and(condition)
    return select
  }

  /// Drops rows that are there already: `SELECT DISTINCT`.
  public consuming func distinct() -> Select<Row> {
    var select = asSelect()
    select.query.refuseIfCombined("distinct")
    select.query.clauses.isDistinct = true
    return select
  }

  // MARK: Combining

  /// The rows of both, without those that are there twice: `SELECT … UNION SELECT …`.
  ///
  /// Order and limit of the result are those of the first, and come last in the SQL. What else comes after it would be
  /// of the first query alone: running that throws `.invalidStatement`. A filter goes into each of them, or behind a
  /// name:
  ///
  /// ```swift
  /// let either = cheap.union(electric).named("either")
  /// either.read().filter(either.column.like("A%"))
  /// ```
  public consuming func union(_ other: some SelectStatement<Row>) -> Select<Row> { combined(.union, with: other) }

  /// The rows of both: `SELECT … UNION ALL SELECT …`.
  public consuming func unionAll(_ other: some SelectStatement<Row>) -> Select<Row> { combined(.unionAll, with: other) }

  /// The rows that are in both: `SELECT … INTERSECT SELECT …`.
  public consuming func intersect(_ other: some SelectStatement<Row>) -> Select<Row> {
    combined(.intersect, with: other)
  }

  /// The rows that are not in the other: `SELECT … EXCEPT SELECT …`.
  public consuming func except(_ other: some SelectStatement<Row>) -> Select<Row> { combined(.except, with: other) }

  private consuming func combined(
    _ operation: SelectQuery.Compound.Operator, with other: some SelectStatement<Row>
  ) -> Select<Row> {
    var select = asSelect()
    select.query.clauses.compounds.append(
      SelectQuery.Compound(operation: operation, query: other.asSelect().query.asPart))
    return select
  }
}
