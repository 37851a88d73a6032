/// A query of columns, terms and models from one or several tables. Creating a query does not access the database;
/// `run` executes the query.
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
/// A query is immutable, `Sendable` and `Hashable`. Columns with equal names in different tables never clash, because
/// the query refers to columns by declaration. If a query reads a table twice, use an ``Alias``. Running the query
/// throws `.schema` for a column of a table that the query does not contain.
public struct Select<Row>: Sendable, Hashable {
  @usableFromInline package var query: SelectQuery
  /// Reads a row from a result's columns. The closure depends only on the query's type, so `==` ignores the closure.
  @usableFromInline package let read: @Sendable (inout ResultRow) throws -> Row

  public static func == (left: Select, right: Select) -> Bool { left.query == right.query }

  public func hash(into hasher: inout Hasher) { hasher.combine(query) }
}

extension Select {
  @inlinable
  package init(_ query: consuming SelectQuery) where Row: SelectOutput {
    self.query = query
    read = { try Row.next(of: &$0) }
  }

  @inlinable
  package init<each Output: SelectOutput>(tuples query: consuming SelectQuery) where Row == (repeat each Output) {
    self.query = query
    read = { (repeat try (each Output).next(of: &$0)) }
  }
}

extension SelectStatement {
  /// The same query, reading each row as a ``DynamicRow``. One array can then contain queries of different row types.
  public var untyped: Select<DynamicRow> {
    var query = asSelect().query
    if !query.isPlain { query.clauses.requiredResults = SelectQuery.RequiredResults() }
    return .init(query)
  }
}

// MARK: - Modifiers

extension Select {
  /// Keeps the rows that match a condition. Several filters are combined with AND. A row does not match if the
  /// condition is NULL.
  public consuming func filter(_ condition: some SqlCondition) -> Self {
    query.refuseIfCombined("a filter")
    query.clauses.filter.filter(by: condition.expression)
    return self
  }

  /// Orders the rows. A second call adds terms, which order the rows that are equal by the first order.
  public consuming func orderBy(_ term: some AnyTerm, _ order: Order) -> Self {
    query.clauses.order.append(OrderTerm(expression: term.expression, order: order))
    return self
  }

  /// Orders the rows by several terms: `ORDER BY "color", "id" DESC`.
  public consuming func orderBy<each Item: OrderingTerm>(_ item: repeat each Item) -> Self {
    query.clauses.order += Ordering.list(repeat each item).map(\.term)
    return self
  }

  /// Limits the result to `limit` rows. Running the query with a negative limit throws `.invalidStatement`.
  public consuming func limit(_ limit: Int) -> Self {
    query.clauses.limit = .number(limit)
    return self
  }

  /// Limits the result to `limit` rows after skipping `offset` rows.
  public consuming func limit(_ limit: Int, offset: Int) -> Self {
    query.clauses.limit = .number(limit)
    query.clauses.offset = .number(offset)
    return self
  }

  /// Skips `offset` rows. Running the query with a negative offset throws `.invalidStatement`.
  public consuming func offset(_ offset: Int) -> Self {
    query.clauses.offset = .number(offset)
    return self
  }

  /// Limits the number of rows by a term without columns, such as a parameter: `LIMIT max(?, 0)`.
  ///
  /// ```swift
  /// let page = try db.prepare(
  ///   Bicycle.read().orderBy(Bicycle.id).limit(Parameter("count"), offset: Parameter("skipped")))
  /// let bikes = try page.run(["count": 10, "skipped": 20])
  /// ```
  ///
  /// A negative limit is treated as 0. Running the query throws if the limit is NULL, and throws `.invalidStatement` if
  /// the term contains a column of the query.
  public consuming func limit(_ limit: some TypedTerm<Int>) -> Self {
    query.clauses.limit = SelectQuery.RowCount(limit.expression)
    return self
  }

  /// Limits the result to `limit` rows after skipping `offset` rows. Both arguments are terms without columns.
  public consuming func limit(_ limit: some TypedTerm<Int>, offset: some TypedTerm<Int>) -> Self {
    query.clauses.limit = SelectQuery.RowCount(limit.expression)
    query.clauses.offset = SelectQuery.RowCount(offset.expression)
    return self
  }

  /// Skips the number of rows that a term gives. The term must not contain columns.
  public consuming func offset(_ offset: some TypedTerm<Int>) -> Self {
    query.clauses.offset = SelectQuery.RowCount(offset.expression)
    return self
  }

  /// Reads from another table that has the same layout as the query's first table: `SELECT … FROM "archive"`.
  public consuming func `in`(_ table: String) -> Self {
    query.refuseIfCombined("in")
    query.clauses.read(from: table)
    return self
  }

  /// Reads the first table from an attached database: `SELECT … FROM "archive"."bicycle"`.
  public consuming func `in`(database: String) -> Self {
    query.refuseIfCombined("in")
    query.clauses.read(fromDatabase: database)
    return self
  }
}

// MARK: - Modifiers of all reads

extension SelectStatement {
  /// Groups the rows with the same values of these terms: `GROUP BY "color"`.
  // The terms are a parameter pack, because the compiler can't convert a column of a named query to `any AnyTerm`.
  public consuming func groupBy<each Term: AnyTerm>(_ term: repeat each Term) -> Select<Row> {
    var select = asSelect()
    select.query.refuseIfCombined("groupBy")
    for term in repeat each term { select.query.clauses.groups.append(term.expression) }
    return select
  }

  /// Keeps the groups that match a condition: `HAVING`.
  ///
  /// ```swift
  /// Car.select(Car.price.average()).having(countAll() > 10)     // SELECT avg("price") FROM "car" HAVING count(*) > ?
  /// ```
  ///
  /// Without ``groupBy(_:)``, all rows are one group, so the result has one row or none. Such a query must select an
  /// aggregate, and needs SQLite 3.39; otherwise running the query throws `.invalidStatement` or `.misuse`.
  public consuming func having(_ condition: some SqlCondition) -> Select<Row> {
    var select = asSelect()
    select.query.refuseIfCombined("having")
    select.query.clauses.having.filter(by: condition.expression)
    return select
  }

  /// Removes duplicate rows: `SELECT DISTINCT`.
  public consuming func distinct() -> Select<Row> {
    var select = asSelect()
    select.query.refuseIfCombined("distinct")
    select.query.clauses.isDistinct = true
    return select
  }

  // MARK: Combining

  /// Combines the rows of both queries without duplicates: `SELECT … UNION SELECT …`.
  ///
  /// The order and limit of the first query apply to the combined result, and come last in the SQL. Other modifiers
  /// after `union` would apply only to the first query, so running the query throws `.invalidStatement`. Filter each
  /// query, or name the combined query and filter the named query:
  ///
  /// ```swift
  /// let either = cheap.union(electric).named("either")
  /// either.read().filter(either.column.like("A%"))
  /// ```
  ///
  /// If the other query is already combined, ordered or limited, the other query becomes a subquery:
  ///
  /// ```swift
  /// cheap.except(electric.union(old).limit(10))
  /// // SELECT … EXCEPT SELECT * FROM (SELECT … UNION SELECT … LIMIT ?)
  /// ```
  public consuming func union(_ other: some SelectStatement<Row>) -> Select<Row> { combined(.union, with: other) }

  /// Combines all rows of both queries: `SELECT … UNION ALL SELECT …`.
  public consuming func unionAll(_ other: some SelectStatement<Row>) -> Select<Row> { combined(.unionAll, with: other) }

  /// Keeps the rows that both queries return: `SELECT … INTERSECT SELECT …`.
  public consuming func intersect(_ other: some SelectStatement<Row>) -> Select<Row> {
    combined(.intersect, with: other)
  }

  /// Keeps the rows that the other query does not return: `SELECT … EXCEPT SELECT …`.
  public consuming func except(_ other: some SelectStatement<Row>) -> Select<Row> { combined(.except, with: other) }

  private consuming func combined(
    _ operation: SelectQuery.Compound.Operator, with other: some SelectStatement<Row>
  ) -> Select<Row> {
    var select = asSelect()
    select.query.combine(operation, with: other.asSelect().query)
    return select
  }
}
