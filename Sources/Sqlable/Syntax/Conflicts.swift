/// The conflict clause of an insert that updates the conflicting row.
struct Upsert: Sendable, Hashable {
  /// The unique columns that conflict; nil for the primary key.
  var target: [ColumnReference]?
  /// The columns that get the new value; nil for all but the conflicting ones.
  var columns: [ColumnReference]?
  /// Assignments to other columns.
  var assignments: [Assignment] = []
  /// The condition for updating a row; other rows are left unchanged.
  var condition: SqlExpression?
}

/// An assignment of a value or term to a column, for an update.
///
/// ```swift
/// Bicycle.color.set(to: "red")                     // "color" = ?
/// Bicycle.price.set(to: Bicycle.price * 2)         // "price" = "price" * ?
/// ```
public struct Assignment: Sendable, Hashable {
  let column: ColumnReference
  let value: SqlExpression
}

extension Upsert {
  /// SQLite's name for the row that the insert would have stored.
  static let newRow = "excluded"
}

/// A row of a change that fires a trigger, by its alias.
enum TriggerRow: String {
  case old, new
}
