// Written by .ci/tuples: what a query gives instead, a tuple of two to ten things for each row. More are a pack, whose
// parts the compiler does not know by their numbers in the expression that makes them.

extension SelectStatement {
  /// Gives these two instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: Selectable>(_ a: A, _ b: B) -> Select<(A.Value, B.Value)> {
    var query = asSelect().query
    query.give([a.selected, b.selected])
    return .init(tuples: query)
  }

  /// Gives these two instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: SelectableModel>(_ a: A, _ b: B.Type) -> Select<(A.Value, B)> {
    var query = asSelect().query
    query.give([a.selected, Selected(b)])
    return .init(tuples: query)
  }

  /// Gives these two instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: Selectable>(_ a: A.Type, _ b: B) -> Select<(A, B.Value)> {
    var query = asSelect().query
    query.give([Selected(a), b.selected])
    return .init(tuples: query)
  }

  /// Gives these two instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: SelectableModel>(_ a: A.Type, _ b: B.Type) -> Select<(A, B)> {
    var query = asSelect().query
    query.give([Selected(a), Selected(b)])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: Selectable, C: Selectable>(_ a: A, _ b: B, _ c: C) -> Select<
    (A.Value, B.Value, C.Value)
  > {
    var query = asSelect().query
    query.give([a.selected, b.selected, c.selected])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: Selectable, C: SelectableModel>(_ a: A, _ b: B, _ c: C.Type) -> Select<
    (A.Value, B.Value, C)
  > {
    var query = asSelect().query
    query.give([a.selected, b.selected, Selected(c)])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: SelectableModel, C: Selectable>(_ a: A, _ b: B.Type, _ c: C) -> Select<
    (A.Value, B, C.Value)
  > {
    var query = asSelect().query
    query.give([a.selected, Selected(b), c.selected])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: SelectableModel, C: SelectableModel>(_ a: A, _ b: B.Type, _ c: C.Type)
    -> Select<(A.Value, B, C)>
  {
    var query = asSelect().query
    query.give([a.selected, Selected(b), Selected(c)])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: Selectable, C: Selectable>(_ a: A.Type, _ b: B, _ c: C) -> Select<
    (A, B.Value, C.Value)
  > {
    var query = asSelect().query
    query.give([Selected(a), b.selected, c.selected])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: Selectable, C: SelectableModel>(_ a: A.Type, _ b: B, _ c: C.Type)
    -> Select<(A, B.Value, C)>
  {
    var query = asSelect().query
    query.give([Selected(a), b.selected, Selected(c)])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: SelectableModel, C: Selectable>(_ a: A.Type, _ b: B.Type, _ c: C)
    -> Select<(A, B, C.Value)>
  {
    var query = asSelect().query
    query.give([Selected(a), Selected(b), c.selected])
    return .init(tuples: query)
  }

  /// Gives these three instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: SelectableModel, C: SelectableModel>(
    _ a: A.Type, _ b: B.Type, _ c: C.Type
  ) -> Select<(A, B, C)> {
    var query = asSelect().query
    query.give([Selected(a), Selected(b), Selected(c)])
    return .init(tuples: query)
  }

  /// Gives these four instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: Selectable, C: Selectable, D: Selectable>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) -> Select<(A.Value, B.Value, C.Value, D.Value)> {
    var query = asSelect().query
    query.give([a.selected, b.selected, c.selected, d.selected])
    return .init(tuples: query)
  }

  /// Gives these four instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: Selectable, C: Selectable, D: Selectable>(
    _ a: A.Type, _ b: B, _ c: C, _ d: D
  ) -> Select<(A, B.Value, C.Value, D.Value)> {
    var query = asSelect().query
    query.give([Selected(a), b.selected, c.selected, d.selected])
    return .init(tuples: query)
  }

  /// Gives these four instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: SelectableModel, C: Selectable, D: Selectable>(
    _ a: A.Type, _ b: B.Type, _ c: C, _ d: D
  ) -> Select<(A, B, C.Value, D.Value)> {
    var query = asSelect().query
    query.give([Selected(a), Selected(b), c.selected, d.selected])
    return .init(tuples: query)
  }

  /// Gives these five instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value)> {
    var query = asSelect().query
    query.give([a.selected, b.selected, c.selected, d.selected, e.selected])
    return .init(tuples: query)
  }

  /// Gives these five instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: Selectable, C: Selectable, D: Selectable, E: Selectable>(
    _ a: A.Type, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Select<(A, B.Value, C.Value, D.Value, E.Value)> {
    var query = asSelect().query
    query.give([Selected(a), b.selected, c.selected, d.selected, e.selected])
    return .init(tuples: query)
  }

  /// Gives these five instead, of all tables that are joined.
  @inlinable
  public consuming func select<A: SelectableModel, B: SelectableModel, C: Selectable, D: Selectable, E: Selectable>(
    _ a: A.Type, _ b: B.Type, _ c: C, _ d: D, _ e: E
  ) -> Select<(A, B, C.Value, D.Value, E.Value)> {
    var query = asSelect().query
    query.give([Selected(a), Selected(b), c.selected, d.selected, e.selected])
    return .init(tuples: query)
  }

  /// Gives these six instead, of all tables that are joined.
  @inlinable
  public consuming func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    var query = asSelect().query
    query.give([a.selected, b.selected, c.selected, d.selected, e.selected, f.selected])
    return .init(tuples: query)
  }

  /// Gives these six instead, of all tables that are joined.
  @inlinable
  public consuming func select<
    A: SelectableModel, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable
  >(_ a: A.Type, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F) -> Select<(A, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    var query = asSelect().query
    query.give([Selected(a), b.selected, c.selected, d.selected, e.selected, f.selected])
    return .init(tuples: query)
  }

  /// Gives these six instead, of all tables that are joined.
  @inlinable
  public consuming func select<
    A: SelectableModel, B: SelectableModel, C: Selectable, D: Selectable, E: Selectable, F: Selectable
  >(_ a: A.Type, _ b: B.Type, _ c: C, _ d: D, _ e: E, _ f: F) -> Select<(A, B, C.Value, D.Value, E.Value, F.Value)> {
    var query = asSelect().query
    query.give([Selected(a), Selected(b), c.selected, d.selected, e.selected, f.selected])
    return .init(tuples: query)
  }

  /// Gives these seven instead, of all tables that are joined.
  @inlinable
  public consuming func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value)
  > {
    var query = asSelect().query
    query.give([a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected])
    return .init(tuples: query)
  }

  /// Gives these eight instead, of all tables that are joined.
  @inlinable
  public consuming func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable,
    H: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value)
  > {
    var query = asSelect().query
    query.give([a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected, h.selected])
    return .init(tuples: query)
  }

  /// Gives these nine instead, of all tables that are joined.
  @inlinable
  public consuming func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable,
    H: Selectable, I: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value)
  > {
    var query = asSelect().query
    query.give([
      a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected, h.selected, i.selected,
    ])
    return .init(tuples: query)
  }

  /// Gives these ten instead, of all tables that are joined.
  @inlinable
  public consuming func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable,
    H: Selectable, I: Selectable, J: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value)
  > {
    var query = asSelect().query
    query.give([
      a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected, h.selected, i.selected,
      j.selected,
    ])
    return .init(tuples: query)
  }

  /// Gives these instead, of all tables that are joined.
  @_disfavoredOverload
  @inlinable
  public consuming func select<each Item: Selectable>(
    _ item: repeat each Item
  ) -> Select<(repeat (each Item).Value)> {
    var query = asSelect().query
    var items: [Selected] = []
    for item in repeat each item { items.append(item.selected) }
    query.give(items)
    return .init(tuples: query)
  }
}
