// Written by .ci/tuples: what a model is asked for, a tuple of two to ten things for each row. More are a pack, whose
// parts the compiler does not know by their numbers in the expression that makes them.

extension Sqlable {
  /// A tuple for each row, of two: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: Selectable>(_ a: A, _ b: B) -> Select<(A.Value, B.Value)> {
    Select(tuples: giving([a.selected, b.selected]))
  }

  /// A tuple for each row, of two: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: SelectableModel>(_ a: A, _ b: B.Type) -> Select<(A.Value, B)> {
    Select(tuples: giving([a.selected, Selected(b)]))
  }

  /// A tuple for each row, of two: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: Selectable>(_ a: A.Type, _ b: B) -> Select<(A, B.Value)> {
    Select(tuples: giving([Selected(a), b.selected]))
  }

  /// A tuple for each row, of two: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: SelectableModel>(_ a: A.Type, _ b: B.Type) -> Select<(A, B)> {
    Select(tuples: giving([Selected(a), Selected(b)]))
  }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: Selectable, C: Selectable>(_ a: A, _ b: B, _ c: C) -> Select<
    (A.Value, B.Value, C.Value)
  > { Select(tuples: giving([a.selected, b.selected, c.selected])) }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: Selectable, C: SelectableModel>(_ a: A, _ b: B, _ c: C.Type) -> Select<
    (A.Value, B.Value, C)
  > { Select(tuples: giving([a.selected, b.selected, Selected(c)])) }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: SelectableModel, C: Selectable>(_ a: A, _ b: B.Type, _ c: C) -> Select<
    (A.Value, B, C.Value)
  > { Select(tuples: giving([a.selected, Selected(b), c.selected])) }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: SelectableModel, C: SelectableModel>(_ a: A, _ b: B.Type, _ c: C.Type)
    -> Select<(A.Value, B, C)>
  { Select(tuples: giving([a.selected, Selected(b), Selected(c)])) }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: Selectable, C: Selectable>(_ a: A.Type, _ b: B, _ c: C) -> Select<
    (A, B.Value, C.Value)
  > { Select(tuples: giving([Selected(a), b.selected, c.selected])) }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: Selectable, C: SelectableModel>(_ a: A.Type, _ b: B, _ c: C.Type)
    -> Select<(A, B.Value, C)>
  { Select(tuples: giving([Selected(a), b.selected, Selected(c)])) }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: SelectableModel, C: Selectable>(_ a: A.Type, _ b: B.Type, _ c: C)
    -> Select<(A, B, C.Value)>
  { Select(tuples: giving([Selected(a), Selected(b), c.selected])) }

  /// A tuple for each row, of three: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: SelectableModel, C: SelectableModel>(
    _ a: A.Type, _ b: B.Type, _ c: C.Type
  ) -> Select<(A, B, C)> { Select(tuples: giving([Selected(a), Selected(b), Selected(c)])) }

  /// A tuple for each row, of four: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: Selectable, C: Selectable, D: Selectable>(_ a: A, _ b: B, _ c: C, _ d: D)
    -> Select<(A.Value, B.Value, C.Value, D.Value)>
  { Select(tuples: giving([a.selected, b.selected, c.selected, d.selected])) }

  /// A tuple for each row, of four: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: Selectable, C: Selectable, D: Selectable>(
    _ a: A.Type, _ b: B, _ c: C, _ d: D
  ) -> Select<(A, B.Value, C.Value, D.Value)> {
    Select(tuples: giving([Selected(a), b.selected, c.selected, d.selected]))
  }

  /// A tuple for each row, of four: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: SelectableModel, C: Selectable, D: Selectable>(
    _ a: A.Type, _ b: B.Type, _ c: C, _ d: D
  ) -> Select<(A, B, C.Value, D.Value)> { Select(tuples: giving([Selected(a), Selected(b), c.selected, d.selected])) }

  /// A tuple for each row, of five: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value)> {
    Select(tuples: giving([a.selected, b.selected, c.selected, d.selected, e.selected]))
  }

  /// A tuple for each row, of five: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: Selectable, C: Selectable, D: Selectable, E: Selectable>(
    _ a: A.Type, _ b: B, _ c: C, _ d: D, _ e: E
  ) -> Select<(A, B.Value, C.Value, D.Value, E.Value)> {
    Select(tuples: giving([Selected(a), b.selected, c.selected, d.selected, e.selected]))
  }

  /// A tuple for each row, of five: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: SelectableModel, B: SelectableModel, C: Selectable, D: Selectable, E: Selectable>(
    _ a: A.Type, _ b: B.Type, _ c: C, _ d: D, _ e: E
  ) -> Select<(A, B, C.Value, D.Value, E.Value)> {
    Select(tuples: giving([Selected(a), Selected(b), c.selected, d.selected, e.selected]))
  }

  /// A tuple for each row, of six: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) -> Select<(A.Value, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    Select(tuples: giving([a.selected, b.selected, c.selected, d.selected, e.selected, f.selected]))
  }

  /// A tuple for each row, of six: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<
    A: SelectableModel, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable
  >(_ a: A.Type, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F) -> Select<(A, B.Value, C.Value, D.Value, E.Value, F.Value)> {
    Select(tuples: giving([Selected(a), b.selected, c.selected, d.selected, e.selected, f.selected]))
  }

  /// A tuple for each row, of six: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<
    A: SelectableModel, B: SelectableModel, C: Selectable, D: Selectable, E: Selectable, F: Selectable
  >(_ a: A.Type, _ b: B.Type, _ c: C, _ d: D, _ e: E, _ f: F) -> Select<(A, B, C.Value, D.Value, E.Value, F.Value)> {
    Select(tuples: giving([Selected(a), Selected(b), c.selected, d.selected, e.selected, f.selected]))
  }

  /// A tuple for each row, of seven: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value)
  > { Select(tuples: giving([a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected])) }

  /// A tuple for each row, of eight: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable,
    H: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value)
  > {
    Select(
      tuples: giving([a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected, h.selected]))
  }

  /// A tuple for each row, of nine: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable,
    H: Selectable, I: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value)
  > {
    Select(
      tuples: giving([
        a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected, h.selected, i.selected,
      ]))
  }

  /// A tuple for each row, of ten: typed columns and terms, and models with all their columns.
  @inlinable
  public static func select<
    A: Selectable, B: Selectable, C: Selectable, D: Selectable, E: Selectable, F: Selectable, G: Selectable,
    H: Selectable, I: Selectable, J: Selectable
  >(_ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J) -> Select<
    (A.Value, B.Value, C.Value, D.Value, E.Value, F.Value, G.Value, H.Value, I.Value, J.Value)
  > {
    Select(
      tuples: giving([
        a.selected, b.selected, c.selected, d.selected, e.selected, f.selected, g.selected, h.selected, i.selected,
        j.selected,
      ]))
  }

  /// A tuple for each row, of any number of things.
  @_disfavoredOverload
  @inlinable
  public static func select<each Item: Selectable>(_ item: repeat each Item) -> Select<(repeat (each Item).Value)> {
    var items: [Selected] = []
    for item in repeat each item { items.append(item.selected) }
    return Select(tuples: giving(items))
  }
}
