// Written by .ci/tuples: what a query of tuples is joined with, and the rows that that makes, longer by one.

// MARK: Two things, and one more

extension Select {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<A: SelectOutput, B: SelectOutput, Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<(A, B, Other)> where Row == (A, B) {
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: the rows that belong together.
  @inlinable
  public consuming func join<A: SelectOutput, B: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<(A, B, Other)> where Row == (A, B) {
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<A: SelectOutput, B: SelectOutput, Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<(A, B, Other?)> where Row == (A, B) {
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<A: SelectOutput, B: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<(A, B, Other?)> where Row == (A, B) {
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<A: SelectOutput, B: SelectOutput, Other: Sqlable>(_ other: Other.Type) -> Select<
    (A, B, Other)
  > where Row == (A, B) {
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<A: SelectOutput, B: SelectOutput, Other: Sqlable>(_ other: Alias<Other>) -> Select<
    (A, B, Other)
  > where Row == (A, B) {
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}

// MARK: Three things, and one more

extension Select {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<A: SelectOutput, B: SelectOutput, C: SelectOutput, Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<(A, B, C, Other)> where Row == (A, B, C) {
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: the rows that belong together.
  @inlinable
  public consuming func join<A: SelectOutput, B: SelectOutput, C: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<(A, B, C, Other)> where Row == (A, B, C) {
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<(A, B, C, Other?)> where Row == (A, B, C) {
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<(A, B, C, Other?)> where Row == (A, B, C) {
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, Other: Sqlable>(
    _ other: Other.Type
  ) -> Select<(A, B, C, Other)> where Row == (A, B, C) {
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>
  ) -> Select<(A, B, C, Other)> where Row == (A, B, C) {
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}

// MARK: Four things, and one more

extension Select {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<(A, B, C, D, Other)> where Row == (A, B, C, D) {
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: the rows that belong together.
  @inlinable
  public consuming func join<A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<(A, B, C, D, Other)> where Row == (A, B, C, D) {
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, Other: Sqlable>(
    _ other: Other.Type, on condition: SqlExpression
  ) -> Select<(A, B, C, D, Other?)> where Row == (A, B, C, D) {
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>, on condition: SqlExpression
  ) -> Select<(A, B, C, D, Other?)> where Row == (A, B, C, D) {
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, Other: Sqlable>(
    _ other: Other.Type
  ) -> Select<(A, B, C, D, Other)> where Row == (A, B, C, D) {
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, Other: Sqlable>(
    _ other: Alias<Other>
  ) -> Select<(A, B, C, D, Other)> where Row == (A, B, C, D) {
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}

// MARK: Five things, and one more

extension Select {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, Other: Sqlable
  >(_ other: Other.Type, on condition: SqlExpression) -> Select<(A, B, C, D, E, Other)> where Row == (A, B, C, D, E) {
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: the rows that belong together.
  @inlinable
  public consuming func join<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(A, B, C, D, E, Other)> where Row == (A, B, C, D, E) {
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, Other: Sqlable
  >(_ other: Other.Type, on condition: SqlExpression) -> Select<(A, B, C, D, E, Other?)> where Row == (A, B, C, D, E) {
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(A, B, C, D, E, Other?)>
  where Row == (A, B, C, D, E) {
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, Other: Sqlable
  >(_ other: Other.Type) -> Select<(A, B, C, D, E, Other)> where Row == (A, B, C, D, E) {
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>) -> Select<(A, B, C, D, E, Other)> where Row == (A, B, C, D, E) {
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}

// MARK: Six things, and one more

extension Select {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput, Other: Sqlable
  >(_ other: Other.Type, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, Other)>
  where Row == (A, B, C, D, E, F) {
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: the rows that belong together.
  @inlinable
  public consuming func join<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, Other)>
  where Row == (A, B, C, D, E, F) {
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput, Other: Sqlable
  >(_ other: Other.Type, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, Other?)>
  where Row == (A, B, C, D, E, F) {
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, Other?)>
  where Row == (A, B, C, D, E, F) {
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput, Other: Sqlable
  >(_ other: Other.Type) -> Select<(A, B, C, D, E, F, Other)> where Row == (A, B, C, D, E, F) {
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>) -> Select<(A, B, C, D, E, F, Other)> where Row == (A, B, C, D, E, F) {
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}

// MARK: Seven things, and one more

extension Select {
  /// Joins another table: the rows that belong together.
  @inlinable
  public consuming func join<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput,
    G: SelectOutput, Other: Sqlable
  >(_ other: Other.Type, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, G, Other)>
  where Row == (A, B, C, D, E, F, G) {
    query.add(Other.source(), .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: the rows that belong together.
  @inlinable
  public consuming func join<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput,
    G: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, G, Other)>
  where Row == (A, B, C, D, E, F, G) {
    query.add(other.source, .inner, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput,
    G: SelectOutput, Other: Sqlable
  >(_ other: Other.Type, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, G, Other?)>
  where Row == (A, B, C, D, E, F, G) {
    query.add(Other.source(), .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins a table under another name: all rows so far, each with those that belong to it, or with nil.
  @inlinable
  public consuming func leftJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput,
    G: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>, on condition: SqlExpression) -> Select<(A, B, C, D, E, F, G, Other?)>
  where Row == (A, B, C, D, E, F, G) {
    query.add(other.source, .left, on: condition)
    return .init(tuples: query)
  }

  /// Joins another table: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput,
    G: SelectOutput, Other: Sqlable
  >(_ other: Other.Type) -> Select<(A, B, C, D, E, F, G, Other)> where Row == (A, B, C, D, E, F, G) {
    query.add(Other.source(), .cross)
    return .init(tuples: query)
  }

  /// Joins a table under another name: every row so far with every row of it.
  @inlinable
  public consuming func crossJoin<
    A: SelectOutput, B: SelectOutput, C: SelectOutput, D: SelectOutput, E: SelectOutput, F: SelectOutput,
    G: SelectOutput, Other: Sqlable
  >(_ other: Alias<Other>) -> Select<(A, B, C, D, E, F, G, Other)> where Row == (A, B, C, D, E, F, G) {
    query.add(other.source, .cross)
    return .init(tuples: query)
  }
}
