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
/// It is immutable, `Sendable` and `Hashable`. Columns of several tables are told apart by their declaration, so names never
/// clash; a table that is there twice needs an ``Alias``. Running it throws `.schema` for a column of a table that is not
/// in it.
public struct Select<each Output: SelectOutput>: SelectStatement {
  public var query: SelectQuery

  @inlinable
  init(_ query: consuming SelectQuery) { self.query = query }
}

/// A query of one column, one term or one model: as ``Select``, with that instead of a tuple.
///
/// ```swift
/// let names = try Car.select(Car.name).distinct().run(db)     // [String]
/// ```
public struct SingleSelect<Output: SelectOutput>: SelectStatement {
  public var query: SelectQuery

  @inlinable
  init(_ query: consuming SelectQuery) { self.query = query }
}

/// What ``Select`` and ``SingleSelect`` have in common: their clauses.
public protocol SelectStatement: Sendable, Hashable {
  var query: SelectQuery { get set }
}

// MARK: - Modifiers

extension SelectStatement {
  /// Keeps the rows that meet a condition; a second filter is AND-ed. A row for which it is NULL is dropped.
  public consuming func filter(_ condition: SqlExpression) -> Self {
    if let earlier = query.clauses.filter {
      query.clauses.filter = earlier && condition
    } else {
      query.clauses.filter = condition
    }
    return self
  }

  /// Makes one row of all that have the same values in these terms: `GROUP BY "color"`.
  // A pack: the compiler can't make `any AnyTerm` of an element of a named query's columns.
  public consuming func groupBy<each Term: AnyTerm>(_ term: repeat each Term) -> Self {
    for term in repeat each term { query.clauses.groups.append(term.expression) }
    return self
  }

  /// Keeps the groups that meet a condition; needs ``groupBy(_:)``.
  public consuming func having(_ condition: SqlExpression) -> Self {
    if let earlier = query.clauses.having {
      query.clauses.having = earlier && condition
    } else {
      query.clauses.having = condition
    }
    return self
  }

  /// Orders the rows; a second call orders those that are equal by the first.
  public consuming func orderBy(_ term: some AnyTerm, _ order: Order = .asc) -> Self {
    query.clauses.order.append(OrderTerm(expression: term.expression, order: order))
    return self
  }

  /// Drops rows that are there already: `SELECT DISTINCT`.
  public consuming func distinct() -> Self {
    query.clauses.isDistinct = true
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
    if !query.clauses.sources.isEmpty { query.clauses.sources[0].table = query.clauses.sources[0].table.named(table) }
    return self
  }

  // MARK: Combining

  /// The rows of both, without those that are there twice: `SELECT … UNION SELECT …`.
  ///
  /// Order and limit of the result are those of the first, and come last in the SQL.
  public consuming func union(_ other: Self) -> Self { combined(.union, with: other) }

  /// The rows of both: `SELECT … UNION ALL SELECT …`.
  public consuming func unionAll(_ other: Self) -> Self { combined(.unionAll, with: other) }

  /// The rows that are in both: `SELECT … INTERSECT SELECT …`.
  public consuming func intersect(_ other: Self) -> Self { combined(.intersect, with: other) }

  /// The rows that are not in the other: `SELECT … EXCEPT SELECT …`.
  public consuming func except(_ other: Self) -> Self { combined(.except, with: other) }

  private consuming func combined(_ operation: SelectQuery.Compound.Operator, with other: Self) -> Self {
    query.clauses.compounds.append(SelectQuery.Compound(operation: operation, query: other.query.flat))
    return self
  }
}
