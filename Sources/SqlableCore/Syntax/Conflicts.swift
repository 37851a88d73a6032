package struct Upsert: Sendable, Hashable {
  /// The unique columns whose conflicts the upsert handles; nil for the primary key, empty for all unique columns.
  package var target: [ColumnReference]?
  /// The condition of the partial unique index on the target columns; nil for an index of all rows.
  package var index: SqlExpression?
  /// The columns to update with the new values; nil for all columns except the conflicting columns.
  package var columns: [ColumnReference]?
  package var assignments: [Assignment] = []
  /// The condition for updating the existing row. Rows that do not meet the condition are left unchanged.
  package var condition: SqlExpression?

  package init(
    target: [ColumnReference]? = nil, index: SqlExpression? = nil, columns: [ColumnReference]? = nil,
    assignments: [Assignment] = [], condition: SqlExpression? = nil
  ) {
    (self.target, self.index, self.columns) = (target, index, columns)
    (self.assignments, self.condition) = (assignments, condition)
  }
}

/// An assignment of a value or term to a column, for an update.
///
/// ```swift
/// Bicycle.color.set(to: "red")                     // "color" = ?
/// Bicycle.price.set(to: Bicycle.price * 2)         // "price" = "price" * ?
/// ```
public struct Assignment: Sendable, Hashable {
  package let column: ColumnReference
  package let value: SqlExpression

  package init(column: ColumnReference, value: SqlExpression) {
    (self.column, self.value) = (column, value)
  }
}

extension Upsert {
  /// SQLite's name for the row that the insert would have stored.
  static let newRow = "excluded"
}

/// The row before or after a change, in a trigger. The raw value is the row's alias.
package enum TriggerRow: String {
  case old, new
}
