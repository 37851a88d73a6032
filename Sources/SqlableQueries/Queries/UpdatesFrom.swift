import SqlableCore

extension Statement where Output == Int {
  /// Reads values for the update from the rows of another table: `UPDATE "bicycle" SET … FROM "person" WHERE …`.
  ///
  /// ```swift
  /// Bicycle.update(Bicycle.name.set(to: Person.name)).from(Person.self, on: Bicycle.ownerId == Person.id)
  /// // UPDATE "bicycle" SET "name" = "person"."name" FROM "person" WHERE "bicycle"."owner_id" = "person"."id"
  /// ```
  ///
  /// Rows without a match do not change. If several rows of the other table match, SQLite uses an arbitrary row. To
  /// join more tables, call `from` again. The filter can refer to all tables, `returning` only to the updated table.
  /// Running the statement throws `.invalidStatement` if the update has an order or limit, or updates a struct.
  public consuming func from<Other: Sqlable>(_ other: Other.Type, on condition: any SqlCondition) -> Statement {
    tree.join(Other.source(), on: condition.expression)
    return self
  }

  /// Reads values for the update from a table or query under another name, which can be the updated table itself.
  public consuming func from<Other: Sqlable>(_ other: Alias<Other>, on condition: any SqlCondition) -> Statement {
    tree.join(other.source, on: condition.expression)
    return self
  }

  /// Reads values for the update from the rows of a named query.
  ///
  /// ```swift
  /// let spent = Order.select(Order.buyerId, Order.price.sum()).groupBy(Order.buyerId).named("spent")
  /// Buyer.update(Buyer.total.set(to: spent.columns.1)).from(spent, on: Buyer.id == spent.columns.0)
  /// // WITH RECURSIVE "spent" … UPDATE "buyer" SET "total" = "spent"."c2" FROM "spent" WHERE …
  /// ```
  public consuming func from<each Value>(
    _ other: NamedQuery<repeat each Value>, on condition: any SqlCondition
  ) -> Statement {
    tree.join(other.source, on: condition.expression)
    return self
  }

  /// Reads values for the update from the rows of a named query that has a single column.
  public consuming func from<Value>(_ other: NamedColumn<Value>, on condition: any SqlCondition) -> Statement {
    tree.join(other.source, on: condition.expression)
    return self
  }
}
