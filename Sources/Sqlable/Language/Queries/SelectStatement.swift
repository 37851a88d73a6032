/// What reads rows: `read()` of a model, or a query. It can be joined, grouped, combined, and stand inside of others.
///
/// ```swift
/// let reds = Bicycle.read().filter(Bicycle.color == "red")            // Statement<Bicycle, [Bicycle]>
/// let owned = reds.join(Person.self, on: Bicycle.ownerId == Person.id)     // Select<(Bicycle, Person)>
/// let either = reds.union(Bicycle.read().in("archive"))               // Select<Bicycle>
/// ```
///
/// Order and limit stay what they are: they are those of the whole.
public protocol SelectStatement<Row>: Sendable {
  associatedtype Row

  /// The same as a query.
  consuming func asSelect() -> Select<Row>
}

extension Select: SelectStatement {
  public consuming func asSelect() -> Select { self }
}
