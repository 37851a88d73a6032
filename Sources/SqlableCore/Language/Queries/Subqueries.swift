// Subqueries as values and conditions. A subquery can refer to columns of the enclosing query.

/// True if a query returns rows: `EXISTS (SELECT …)`.
///
/// ```swift
/// Person.read().filter(exists(Bicycle.read().filter(Bicycle.ownerId == Person.id)))
/// // … WHERE EXISTS (SELECT … FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id")
/// ```
public func exists(_ query: some SelectStatement) -> SqlExpression {
  SqlExpression(.query(.init(kind: .exists, query: query.asSelect().query)))
}

extension SelectStatement {
  /// Returns a query of one value: the number of this query's rows, at most this query's limit.
  ///
  /// ```swift
  /// let dear = Car.select(Car.name).distinct().filter(Car.price > 20_000)
  /// let count = try dear.count().run(db)     // Int
  /// // SELECT count(*) FROM (SELECT DISTINCT "car"."name" FROM "car" WHERE "car"."price" > ?)
  /// let owned = Person.select(Person.name, scalar(Bicycle.read().filter(Bicycle.ownerId == Person.id).count()))
  /// // SELECT "name", (SELECT count(*) FROM "bicycle" WHERE …) FROM "person"
  /// ```
  public consuming func count() -> ScalarQuery<Int> { ScalarQuery(asked(.count)) }

  /// Returns a query of one value: true if this query returns rows, `SELECT EXISTS (SELECT …)`.
  ///
  /// ```swift
  /// let isThere = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).exists().run(db)     // Bool
  /// ```
  ///
  /// In a filter, write `exists(query)`.
  public consuming func exists() -> ScalarQuery<Bool> { ScalarQuery(asked(.exists)) }

  private consuming func asked(_ kind: SqlExpression.QueryTerm.Kind) -> SelectQuery {
    SelectQuery(rows: [[SqlExpression(.query(.init(kind: kind, query: asSelect().query)))]])
  }
}

/// The value of a query's first row: `(SELECT max("price") FROM "car")`. NULL if the query returns no rows.
public func scalar<Value: SqlValue>(_ query: Select<Value>) -> TypedExpression<Value?> {
  TypedExpression(expression: SqlExpression(.query(.init(kind: .scalar, query: query.query))))
}

/// The value of a query's first row. NULL if the query returns no rows.
public func scalar<Value: SqlValue>(_ query: Select<Value?>) -> TypedExpression<Value?> {
  TypedExpression(expression: SqlExpression(.query(.init(kind: .scalar, query: query.query))))
}

/// The value of a count or existence check: `(SELECT count(*) FROM "bicycle" WHERE …)`.
public func scalar<Value: SqlValue>(_ query: ScalarQuery<Value>) -> TypedExpression<Value?> { scalar(query.select) }

/// The value of an untyped query's first row. NULL if the query returns no rows. Running the statement throws if the
/// query has several columns.
public func scalar(_ query: Select<DynamicRow>) -> SqlExpression {
  SqlExpression(.query(.init(kind: .scalar, query: query.query)))
}

extension SqlExpression {
  package func isIn(_ query: SelectQuery) -> SqlExpression {
    if case .term(let term) = query.clauses.results.first, let defect = SqlExpression.mixedDates([self, term]) {
      return SqlExpression(invalid: defect)
    }
    return SqlExpression(.query(.init(kind: .isIn, term: self, query: query)))
  }
}

extension TypedTerm {
  /// True if the value equals a row of a query: `"a" IN (SELECT …)`. If a row is NULL, the result is NULL instead of
  /// false.
  public func `in`(_ query: Select<Value>) -> SqlExpression { expression.isIn(query.query) }

  /// `"a" IN (SELECT …)` for a query of nullable values.
  public func `in`(_ query: Select<Value?>) -> SqlExpression { expression.isIn(query.query) }

  /// `"a" IN (SELECT …)` for a nullable term.
  public func `in`<Wrapped: SqlValue>(_ query: Select<Wrapped>) -> SqlExpression where Value == Wrapped? {
    expression.isIn(query.query)
  }

  /// True if the value equals no row of a query: `NOT "a" IN (SELECT …)`. If a row is NULL, the result is never true.
  public func notIn(_ query: Select<Value>) -> SqlExpression { !expression.isIn(query.query) }

  /// `NOT "a" IN (SELECT …)` for a nullable term.
  public func notIn<Wrapped: SqlValue>(_ query: Select<Wrapped>) -> SqlExpression where Value == Wrapped? {
    !expression.isIn(query.query)
  }
}

extension SqlTerm {
  /// True if the value equals a row of a query: `"a" IN (SELECT …)`. If a row is NULL, the result is NULL instead of
  /// false. Running the statement throws if the query has several columns.
  public func `in`(_ query: Select<some Any>) -> SqlExpression { expression.isIn(query.query) }

  /// True if the value equals no row of a query: `NOT "a" IN (SELECT …)`. If a row is NULL, the result is never true.
  public func notIn(_ query: Select<some Any>) -> SqlExpression {
    !expression.isIn(query.query)
  }
}
