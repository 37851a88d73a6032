/// A query of a single value: the number of another query's rows, or whether the other query returns rows.
///
/// ```swift
/// let dear = Car.select(Car.name).distinct().filter(Car.price > 20_000)
/// let count = try dear.count().run(db)     // Int
/// ```
///
/// ``asSelect()`` returns the query as a `Select` of one row, which can be prepared, named and decoded. A scalar query
/// is encoded as this `Select`, so decode a count as a `Select<Int>`.
public struct ScalarQuery<Value: SelectOutput & Sendable>: SelectStatement, Sendable, Hashable {
  package let select: Select<Value>

  init(_ query: SelectQuery) { select = Select(query) }

  public consuming func asSelect() -> Select<Value> { select }
}
