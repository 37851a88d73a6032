/// An insert, update or delete that returns columns and terms of one changed row; see ``Returning/first()``.
public struct FirstReturnedQuery<Model: Sqlable, Row>: Sendable, Hashable {
  package let all: Returning<Model, Row>
}

extension Returning {
  /// Returns columns and terms of only the first row; nil if no row was changed.
  ///
  /// ```swift
  /// let raised = try Car.update(Car.price.set(to: Car.price + 1)).filter(Car.id == 3).returning(Car.price).first()
  ///   .run(db)     // Double?
  /// // UPDATE "car" SET "price" = "price" + ? WHERE "id" = ? RETURNING "price"
  /// ```
  ///
  /// The statement changes every matching row. If several rows match, it is undefined which row is first. If a returned
  /// value of any row does not fit its Swift type, SQLite rolls the statement back. Encoding drops `first()`: the
  /// decoded statement returns all rows.
  public consuming func first() -> FirstReturnedQuery<Model, Row> { FirstReturnedQuery(all: self) }
}
