/// What happens to a row that breaks a uniqueness rule, or is NULL where it must not be.
///
/// SQLite's FAIL and ROLLBACK are left out: the one keeps half a statement, the other undoes a transaction behind the
/// back of the code that opened it.
public enum ConflictPolicy: String, Sendable, Hashable, Codable {
  /// The statement is undone and throws.
  case abort
  /// The row is skipped.
  case ignore
  /// The rows in the way are deleted first.
  case replace

  var sql: StaticString {
    switch self {
    case .abort: "OR ABORT "
    case .ignore: "OR IGNORE "
    case .replace: "OR REPLACE "
    }
  }
}

/// Insert, or update the row that is in the way.
struct Upsert: Sendable, Hashable {
  /// The unique columns that conflict; nil for the primary key.
  var target: [ColumnReference]?
  /// The columns that take the new value; nil for all but the conflicting ones.
  var columns: [ColumnReference]?
  /// What other columns are set to.
  var assignments: [Assignment] = []
  /// Which rows are updated; the others are left as they are.
  var condition: SqlExpression?
}

/// A column and what it is set to, for an update.
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
  /// What SQLite calls the row that was to be inserted.
  static let newRow = "excluded"
}
