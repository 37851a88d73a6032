// What queries are joined with, and the rows that that makes: a tuple that is one longer.

extension Sqlable {
  /// The rows of both tables that belong together: `SELECT … FROM "bicycle" JOIN "person" ON …`.
  @inlinable
  public static func join<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<(Self, Other)> {
    read().join(other, on: condition)
  }

  /// The rows of this table and of another, or of this again, under another name.
  @inlinable
  public static func join<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(Self, Other)> {
    read().join(other, on: condition)
  }

  /// All rows of this table, each with those of the other that belong to it, or with nil.
  @inlinable
  public static func leftJoin<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<
    (Self, Other?)
  > {
    read().leftJoin(other, on: condition)
  }

  /// All rows of this table, each with those of the other that belong to it, or with nil.
  @inlinable
  public static func leftJoin<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<
    (Self, Other?)
  > {
    read().leftJoin(other, on: condition)
  }

  /// Every row of this table with every row of the other.
  @inlinable
  public static func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<(Self, Other)> {
    read().crossJoin(other)
  }

  /// Every row of this table with every row of the other, under another name.
  @inlinable
  public static func crossJoin<Other: Sqlable>(_ other: Alias<Other>) -> Select<(Self, Other)> {
    read().crossJoin(other)
  }
}

extension SelectStatement where Row: SelectOutput {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<(Row, Other)> {
    var query = asSelect().query
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name.
  @inlinable
  public consuming func join<Other: Sqlable>(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(Row, Other)>
  {
    var query = asSelect().query
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(_ other: Other.Type, on condition: SqlExpression) -> Select<
    (Row, Other?)
  > {
    var query = asSelect().query
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<(Row, Other?)> {
    var query = asSelect().query
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Other.Type) -> Select<(Row, Other)> {
    var query = asSelect().query
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<Other: Sqlable>(_ other: Alias<Other>) -> Select<(Row, Other)> {
    var query = asSelect().query
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}
