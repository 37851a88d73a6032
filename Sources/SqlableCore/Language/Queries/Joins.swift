// Joins of a model, or of a query with one item in each row. The rows of the result are tuples.

extension Sqlable {
  /// Joins another table: `SELECT … FROM "bicycle" JOIN "person" ON …`.
  @inlinable
  public static func join<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<(Self, Other)>
  {
    read().join(other, on: condition)
  }

  /// Joins a table under another name. The table can be this model's table.
  @inlinable
  public static func join<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Select<
    (Self, Other)
  > {
    read().join(other, on: condition)
  }

  /// Left-joins another table, with nil for rows without a match: `… LEFT JOIN "person" ON …`.
  @inlinable
  public static func leftJoin<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<
    (Self, Other?)
  > {
    read().leftJoin(other, on: condition)
  }

  /// Left-joins a table under another name, with nil for rows without a match.
  @inlinable
  public static func leftJoin<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Select<
    (Self, Other?)
  > {
    read().leftJoin(other, on: condition)
  }

  /// Right-joins another table. The result contains all rows of the other table, with nil for a missing match in this
  /// table.
  ///
  /// ```swift
  /// let all = Bicycle.rightJoin(Person.self, on: Bicycle.ownerId == Person.id)     // [(Bicycle?, Person)]
  /// // SELECT … FROM "bicycle" RIGHT JOIN "person" ON "bicycle"."owner_id" = "person"."id"
  /// ```
  ///
  /// Running the query throws `.misuse` before SQLite 3.39.
  @inlinable
  public static func rightJoin<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<
    (Self?, Other)
  > {
    var query = queryOfAllRows()
    query.add(Other.source(), .right, on: condition)
    return .init(tuples: query)
  }

  /// Right-joins a table under another name. The result contains all rows of the other table, with nil for a missing
  /// match in this table.
  @inlinable
  public static func rightJoin<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Select<
    (Self?, Other)
  > {
    var query = queryOfAllRows()
    query.add(other.source, .right, on: condition)
    return .init(tuples: query)
  }

  /// Full-joins another table. The result contains all rows of both tables, with nil for a missing match.
  ///
  /// ```swift
  /// let all = Bicycle.fullJoin(Person.self, on: Bicycle.ownerId == Person.id)     // [(Bicycle?, Person?)]
  /// // SELECT … FROM "bicycle" FULL JOIN "person" ON "bicycle"."owner_id" = "person"."id"
  /// ```
  ///
  /// Running the query throws `.misuse` before SQLite 3.39.
  @inlinable
  public static func fullJoin<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<
    (Self?, Other?)
  > {
    var query = queryOfAllRows()
    query.add(Other.source(), .full, on: condition)
    return .init(tuples: query)
  }

  /// Full-joins a table under another name. The result contains all rows of both tables, with nil for a missing match.
  @inlinable
  public static func fullJoin<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Select<
    (Self?, Other?)
  > {
    var query = queryOfAllRows()
    query.add(other.source, .full, on: condition)
    return .init(tuples: query)
  }

  /// Cross-joins another table, combining every row with every row of the other table: `… CROSS JOIN "person"`.
  @inlinable
  public static func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<(Self, Other)> {
    read().crossJoin(other)
  }

  /// Cross-joins a table under another name.
  @inlinable
  public static func crossJoin<Other: Sqlable>(_ other: Alias<Other>) -> Select<(Self, Other)> {
    read().crossJoin(other)
  }
}

extension SelectStatement where Row: SelectOutput {
  /// Joins another table.
  @inlinable
  public consuming func join<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<
    (Row, Other)
  > {
    var query = asSelect().query
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name.
  @inlinable
  public consuming func join<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Select<
    (Row, Other)
  > {
    var query = asSelect().query
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Left-joins another table, with nil for rows without a match.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Select<
    (Row, Other?)
  > {
    var query = asSelect().query
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Left-joins a table under another name, with nil for rows without a match.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: any SqlCondition
  ) -> Select<(Row, Other?)> {
    var query = asSelect().query
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Cross-joins another table, combining every row with every row of the other table.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<(Row, Other)> {
    var query = asSelect().query
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Cross-joins a table under another name, combining every row with every row of the other table.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Alias<Other>) -> Select<(Row, Other)> {
    var query = asSelect().query
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}

extension SelectStatement where Row: JoinedOutput {
  /// Right-joins another table. The result contains all rows of the other table, with nil for a missing match in this
  /// query. Running the query throws `.misuse` before SQLite 3.39.
  @inlinable
  public consuming func rightJoin<Other: Sqlable>(
    _ other: Other.Type, on condition: any SqlCondition
  ) -> Select<(Row.Unmatched, Other)> {
    var query = asSelect().query
    query.add(Other.source(), .right, on: condition)
    return .init(tuples: query)
  }

  /// Right-joins a table under another name. The result contains all rows of the other table, with nil for a missing
  /// match in this query.
  @inlinable
  public consuming func rightJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: any SqlCondition
  ) -> Select<(Row.Unmatched, Other)> {
    var query = asSelect().query
    query.add(other.source, .right, on: condition)
    return .init(tuples: query)
  }

  /// Full-joins another table. The result contains all rows of both tables, with nil for a missing match. Running the
  /// query throws `.misuse` before SQLite 3.39.
  @inlinable
  public consuming func fullJoin<Other: Sqlable>(
    _ other: Other.Type, on condition: any SqlCondition
  ) -> Select<(Row.Unmatched, Other?)> {
    var query = asSelect().query
    query.add(Other.source(), .full, on: condition)
    return .init(tuples: query)
  }

  /// Full-joins a table under another name. The result contains all rows of both tables, with nil for a missing match.
  @inlinable
  public consuming func fullJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: any SqlCondition
  ) -> Select<(Row.Unmatched, Other?)> {
    var query = asSelect().query
    query.add(other.source, .full, on: condition)
    return .init(tuples: query)
  }
}
