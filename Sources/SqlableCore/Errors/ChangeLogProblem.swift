extension SqlError {
  /// A reason why a reader of a change log can't continue.
  public enum ChangeLogProblem: Sendable, Hashable {
    /// The position belongs to another database, or to changes that a restore has undone.
    case otherHistory
    /// Changes after the position were deleted from the log.
    case trimmed
    /// Another owner has taken over the consumer, or has moved the consumer's position.
    case ownerChanged
  }
}
