/// A term of an ORDER BY with the sort direction.
///
/// ```swift
/// Bicycle.select(Bicycle.name).orderBy(Bicycle.color.asc, Bicycle.id.desc)     // … ORDER BY "color", "id" DESC
/// Bicycle.read().orderBy(Bicycle.ownerId.asc.nullsLast)     // … ORDER BY "owner_id" NULLS LAST
/// ```
public struct Ordering: Sendable, Hashable {
  package var term: OrderTerm

  /// The same ordering, with NULL before all values: `"color" DESC NULLS FIRST`.
  public var nullsFirst: Ordering { with(term.direction.isUpwards ? .asc : .descNullsFirst) }

  /// The same ordering, with NULL after all values: `"color" NULLS LAST`. SQLite can't use an index on the term for
  /// this ordering.
  public var nullsLast: Ordering { with(term.direction.isUpwards ? .ascNullsLast : .desc) }

  private func with(_ direction: OrderTerm.Direction) -> Ordering {
    var ordering = self
    ordering.term.direction = direction
    return ordering
  }
}

extension AnyTerm {
  /// Ascending order, NULL first.
  public var asc: Ordering { Ordering(term: OrderTerm(expression: expression, order: .asc)) }
  /// Descending order, NULL last.
  public var desc: Ordering { Ordering(term: OrderTerm(expression: expression, order: .desc)) }
}
