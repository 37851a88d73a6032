extension SqlError {
  /// A reason why a call on a tenant's database fails.
  public enum TenantProblem: Sendable, Hashable {
    /// The text is not a valid tenant name, for example an empty text or a text with a slash.
    case invalidName
    /// There is no tenant with this name.
    case missing
    /// A tenant with this name exists already.
    case exists
    /// The tenant was deleted or renamed while the call waited or ran.
    case deleted
  }
}
