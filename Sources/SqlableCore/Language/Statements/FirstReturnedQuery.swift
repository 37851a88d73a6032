/// A change that returns columns and terms of one of the rows that it changed; see ``Returning/first()``.
public struct FirstReturnedQuery<Model: Sqlable, Row>: Sendable, Hashable {
  package let all: Returning<Model, Row>
}

/// The former name of ``FirstReturnedQuery``.
@available(*, deprecated, renamed: "FirstReturnedQuery")
public typealias FirstReturned<Model: Sqlable, Row> = FirstReturnedQuery<Model, Row>

extension Returning {
  /// Returns only the first row's columns and terms, or nil if no row was changed.
  ///
  /// ```swift
  /// let raised = try Car.update(Car.price.set(to: Car.price + 1)).filter(Car.id == 3).returning(Car.price).first()
  ///   .run(db)     // Double?
  /// // UPDATE "car" SET "price" = "price" + ? WHERE "id" = ? RETURNING "price"
  /// ```
  ///
  /// Every row is changed, and which of several is the first is up to SQLite. If a value of any of them does not fit
  /// its type, nothing is changed. As data it is the change that returns all of them.
  public consuming func first() -> FirstReturnedQuery<Model, Row> { FirstReturnedQuery(all: self) }
}
