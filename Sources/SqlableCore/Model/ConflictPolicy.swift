/// The policy for rows that violate a uniqueness or NOT NULL constraint. In a statement, `.ignore` also covers CHECK.
///
/// SQLite's FAIL and ROLLBACK are not supported. FAIL keeps a failed statement's partial changes. ROLLBACK rolls back
/// the transaction, and the code that opened the transaction is not notified.
public enum ConflictPolicy: String, Sendable, Hashable, Codable {
  /// Rolls back the statement and throws.
  case abort
  /// Skips the row.
  case ignore
  /// Deletes the conflicting rows first. Replaces a NULL that violates NOT NULL with the column's default, if the
  /// column has a default.
  case replace

  var sql: StaticString {
    switch self {
    case .abort: "OR ABORT "
    case .ignore: "OR IGNORE "
    case .replace: "OR REPLACE "
    }
  }
}

package struct ConstraintClauses: Sendable, Hashable {
  @ByteComparedName var name: String?
  var onConflict: ConflictPolicy?

  init(name: String? = nil, onConflict: ConflictPolicy? = nil) {
    self.onConflict = onConflict
    self.name = name
  }

  /// Returns a constraint's SQL with the name before `rule` and the policy after it: `UNIQUE` becomes
  /// `CONSTRAINT "name" UNIQUE ON CONFLICT REPLACE`.
  package func around(_ rule: String) -> String {
    (name.map { "CONSTRAINT \($0.quotedName) " } ?? "") + rule
      + (onConflict.map { " ON CONFLICT \($0.rawValue.uppercased())" } ?? "")
  }
}
