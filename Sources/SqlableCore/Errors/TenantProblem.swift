extension SqlError {
  /// A reason why a call on a tenant's database fails.
  public enum TenantProblem: Sendable, Hashable {
    /// The name is no name of a tenant, such as an empty name or a name with a slash.
    case invalidName
    /// There is no tenant with this name.
    case missing
    /// A tenant with this name exists already.
    case exists
    /// The tenant was deleted or renamed while the call waited or ran.
    case deleted
    /// The tenant was handed over to another machine, or is being handed over.
    case handedOver
  }
}
