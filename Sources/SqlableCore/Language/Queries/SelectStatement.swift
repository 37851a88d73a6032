/// A statement that reads rows: a model's `read()` or a query. You can join, group and combine the statement, or use
/// the statement as a subquery.
///
/// ```swift
/// let reds = Bicycle.read().filter(Bicycle.color == "red")            // Statement<Bicycle, [Bicycle]>
/// let owned = reds.join(Person.self, on: Bicycle.ownerId == Person.id)     // Select<(Bicycle, Person)>
/// let either = reds.union(Bicycle.read().in("archive"))               // Select<Bicycle>
/// ```
///
/// The order and limit of the statement apply to the resulting query.
public protocol SelectStatement<Row>: Sendable {
  associatedtype Row

  /// Returns the read as a query.
  consuming func asSelect() -> Select<Row>
}

extension Select: SelectStatement {
  public consuming func asSelect() -> Select { self }
}
