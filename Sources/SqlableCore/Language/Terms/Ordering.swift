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

  /// The same ordering, with NULL after all values: `"color" NULLS LAST`.
  public var nullsLast: Ordering { with(term.direction.isUpwards ? .ascNullsLast : .desc) }

  private func with(_ direction: OrderTerm.Direction) -> Ordering {
    var ordering = self
    ordering.term.direction = direction
    return ordering
  }
}

/// An item of an ORDER BY: a term, for ascending order, or a term with a direction.
///
/// ```swift
/// Bicycle.read().orderBy(Bicycle.color.desc, Bicycle.name)     // … ORDER BY "color" DESC, "name"
/// ```
///
/// Terms and ``Ordering`` conform. Programs do not implement this protocol.
public protocol OrderingTerm: Sendable {
  var ordering: Ordering { get }
}

extension Ordering: OrderingTerm {
  public var ordering: Ordering { self }

  package static func list<each Item: OrderingTerm>(_ item: repeat each Item) -> [Ordering] {
    var orderings: [Ordering] = []
    for item in repeat each item { orderings.append(item.ordering) }
    return orderings
  }
}

extension AnyTerm {
  public var ordering: Ordering { asc }
  /// Ascending order, NULL first.
  public var asc: Ordering { Ordering(term: OrderTerm(expression: expression, order: .asc)) }
  /// Descending order, NULL last.
  public var desc: Ordering { Ordering(term: OrderTerm(expression: expression, order: .desc)) }
}
