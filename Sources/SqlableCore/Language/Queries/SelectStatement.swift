/// A read of rows: `read()` of a model, or a query. It can be joined, grouped, combined and nested in other queries.
///
/// ```swift
/// let reds = Bicycle.read().filter(Bicycle.color == "red")            // Statement<Bicycle, [Bicycle]>
/// let owned = reds.join(Person.self, on: Bicycle.ownerId == Person.id)     // Select<(Bicycle, Person)>
/// let either = reds.union(Bicycle.read().in("archive"))               // Select<Bicycle>
/// ```
///
/// Its order and limit apply to the whole resulting query.
public protocol SelectStatement<Row>: Sendable {
  associatedtype Row

  /// Returns the read as a query.
  consuming func asSelect() -> Select<Row>
}

extension Select: SelectStatement {
  public consuming func asSelect() -> Select { self }
}
