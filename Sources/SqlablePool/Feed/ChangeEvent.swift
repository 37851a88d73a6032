import SqlableCore

/// An element of a sequence of changes.
public enum ChangeEvent<Row: Sendable>: Sendable {
  /// A row that a transaction of the pool changed.
  case row(Row)
  /// Rows might have changed without being reported, so code that caches rows of the table must read them again.
  /// Possible causes: another process committed, the schema changed, a slow loop's full buffer was emptied, or the loop
  /// started while another loop used the same sequence.
  case missed
}

extension ChangeEvent: Equatable where Row: Equatable {}
extension ChangeEvent: Hashable where Row: Hashable {}
