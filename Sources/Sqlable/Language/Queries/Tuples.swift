// Rows of two to six terms. More are a pack, whose parts the compiler does not know by their numbers in the expression that
// makes them: `select(a, b).first(db)?.1` is one that users write.

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

extension Select {
  /// Gives these two typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm>(_ a: A, _ b: B) -> Select<(A.Value, B.Value)> {
    query.give([a.expression, b.expression])
    return .init(tuples: query)
  }

  /// Gives these three typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm>(
    _ a: A, _ b: B, _ c: C
  ) -> Select<(A.Value, B.Value, C.Value)> {
    query.give([a.expression, b.expression, c.expression])
    return .init(tuples: query)
  }

  /// Gives these four typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Select<(A.Value, B.Value, C.Value, D.Value)> {
    query.give([a.expression, b.expression, c.expression, d.expression])
    return .init(tuples: query)
  }

  /// Gives these five typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value)> {
    query.give([a.expression, b.expression, c.expression, d.expression, e.expression])
    return .init(tuples: query)
  }

  /// Gives these six typed columns and terms instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm, F: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    query.give([a.expression, b.expression, c.expression, d.expression, e.expression, f.expression])
    return .init(tuples: query)
  }

  /// Gives these typed columns and terms instead, of all tables that are joined.
  @_disfavoredOverload
  @inlinable
  public consuming func select<each Term: TypedTerm>(_ term: repeat each Term) -> Select<(repeat (each Term).Value)> {
    var terms: [SqlExpression] = []
    for term in repeat each term { terms.append(term.expression) }
    query.give(terms)
    return .init(tuples: query)
  }
}

extension Statement {
  /// Gives typed columns and terms of the rows that an insert, update or delete changed, instead of an id or a number.
  ///
  /// ```swift
  /// let gone = try Car.delete(Car.price > 50_000).returning(Car.id, Car.name).run(db)     // [(Int?, String)]
  /// // DELETE FROM "car" WHERE "price" > ? RETURNING "id", "name"
  /// ```
  ///
  /// The rows are as they are stored; those that were deleted as they were. Their order is SQLite's. Running it on a read
  /// throws `.invalidStatement`.
  @inlinable
  public consuming func returning<A: TypedTerm, B: TypedTerm>(_ a: A, _ b: B) -> Returning<Model, (A.Value, B.Value)> {
    Returning(tuples: self, [a.expression, b.expression])
  }

  /// Gives three typed columns and terms of the rows that a change changed.
  @inlinable
  public consuming func returning<A: TypedTerm, B: TypedTerm, C: TypedTerm>(
    _ a: A, _ b: B, _ c: C
  ) -> Returning<Model, (A.Value, B.Value, C.Value)> {
    Returning(tuples: self, [a.expression, b.expression, c.expression])
  }

  /// Gives four typed columns and terms of the rows that a change changed.
  @inlinable
  public consuming func returning<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Returning<Model, (A.Value, B.Value, C.Value, D.Value)> {
    Returning(tuples: self, [a.expression, b.expression, c.expression, d.expression])
  }

  /// Gives five typed columns and terms of the rows that a change changed.
  @inlinable
  public consuming func returning<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Returning<Model, (A.Value, B.Value, C.Value, D.Value, E.Value)> {
    Returning(tuples: self, [a.expression, b.expression, c.expression, d.expression, e.expression])
  }

  /// Gives six typed columns and terms of the rows that a change changed.
  @inlinable
  public consuming func returning<A: TypedTerm, B: TypedTerm, C: TypedTerm, D: TypedTerm, E: TypedTerm, F: TypedTerm>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Returning<Model, (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    Returning(tuples: self, [a.expression, b.expression, c.expression, d.expression, e.expression, f.expression])
  }

  /// Gives typed columns and terms of the rows that a change changed.
  @_disfavoredOverload
  @inlinable
  public consuming func returning<First: TypedTerm, Second: TypedTerm, each Term: TypedTerm>(
    _ first: First, _ second: Second, _ term: repeat each Term
  ) -> Returning<Model, (First.Value, Second.Value, repeat (each Term).Value)> {
    var terms = [first.expression, second.expression]
    for term in repeat each term { terms.append(term.expression) }
    return Returning(tuples: self, terms)
  }
}
