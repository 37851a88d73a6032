/// What a loop over changes is told.
public enum ChangeEvent<Row: Sendable>: Sendable {
  /// A row that a transaction of the pool has changed.
  case row(Row)
  /// Rows may have been changed that nobody tells of: another process committed, the schema was changed, or the loop
  /// was so slow that its buffer was full and is empty now. Whoever keeps something of the table reads it anew.
  case missed
}

extension ChangeEvent: Equatable where Row: Equatable {}
extension ChangeEvent: Hashable where Row: Hashable {}
