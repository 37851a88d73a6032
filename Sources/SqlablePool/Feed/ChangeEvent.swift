import SqlableCore

/// An element of a loop over changes.
public enum ChangeEvent<Row: Sendable>: Sendable {
  /// A row that a transaction of the pool changed.
  case row(Row)
  /// Rows may have changed that are not reported: another process committed, the schema changed, the loop was so slow
  /// that its full buffer was dropped, or it began while another one ran over the same sequence. Code that caches rows
  /// of the table must read them again.
  case missed
}

extension ChangeEvent: Equatable where Row: Equatable {}
extension ChangeEvent: Hashable where Row: Hashable {}
