// Rows of two to six terms. More are a pack, whose parts the compiler does not know by their numbers in the expression
// that makes them: `select(a, b).first(db)?.1` is one that users write.

extension Sqlable {
  /// Typed columns and terms, a tuple for each row: `SELECT "name", "price" FROM "car"`.
  @inlinable
  public static func select<A: TypedTerm, B: TypedTerm>(_ a: A, _ b: B) -> Select<(A.Value, B.Value)> {
    Select(tuples: giving([a.expression, b.expression]))
  }

  /// Three typed columns and terms, a tuple for each row.
  @inlinable
  public static func select<A: TypedTerm, B: TypedTerm, C: TypedTerm>(
    _ a: A, _ b: B, _ c: C
  ) -> Select<(A.Value, B.Value, C.Value)> {
    Select(tuples: giving([a.expression, b.expression, c.expression]))
  }

  /// Four typed columns and terms, a tuple for each row.
  @inlinable
  public static func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Select<(A.Value, B.Value, C.Value, D.Value)> {
    Select(tuples: giving([a.expression, b.expression, c.expression, d.expression]))
  }

  /// Five typed columns and terms, a tuple for each row.
  @inlinable
  public static func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value)> {
    Select(tuples: giving([a.expression, b.expression, c.expression, d.expression, e.expression]))
  }

  /// Six typed columns and terms, a tuple for each row.
  @inlinable
  public static func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm, F: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    Select(tuples: giving([a.expression, b.expression, c.expression, d.expression, e.expression, f.expression]))
  }

  /// Typed columns and terms, a tuple for each row.
  @_disfavoredOverload
  @inlinable
  public static func select<each Term: TypedTerm>(_ term: repeat each Term) -> Select<(repeat (each Term).Value)> {
    var terms: [SqlExpression] = []
    for term in repeat each term { terms.append(term.expression) }
    return Select(tuples: giving(terms))
  }
}

extension SelectStatement {
  /// Gives these two typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm>(_ a: A, _ b: B) -> Select<(A.Value, B.Value)> {
    var query = asSelect().query
    query.give([a.expression, b.expression])
    return .init(tuples: query)
  }

  /// Gives these three typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm>(
    _ a: A, _ b: B, _ c: C
  ) -> Select<(A.Value, B.Value, C.Value)> {
    var query = asSelect().query
    query.give([a.expression, b.expression, c.expression])
    return .init(tuples: query)
  }

  /// Gives these four typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Select<(A.Value, B.Value, C.Value, D.Value)> {
    var query = asSelect().query
    query.give([a.expression, b.expression, c.expression, d.expression])
    return .init(tuples: query)
  }

  /// Gives these five typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value)> {
    var query = asSelect().query
    query.give([a.expression, b.expression, c.expression, d.expression, e.expression])
    return .init(tuples: query)
  }

  /// Gives these six typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm, F: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    var query = asSelect().query
    query.give([a.expression, b.expression, c.expression, d.expression, e.expression, f.expression])
    return .init(tuples: query)
  }

  /// Gives these typed columns and terms instead, of all tables that are joined.
  @_disfavoredOverload
  @inlinable
  public consuming func select<each Term: TypedTerm>(_ term: repeat each Term) -> Select<(repeat (each Term).Value)> {
    var query = asSelect().query
    var terms: [SqlExpression] = []
    for term in repeat each term { terms.append(term.expression) }
    query.give(terms)
    return .init(tuples: query)
  }
}
