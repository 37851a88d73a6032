import SqlableCore

/// An element of a sequence of changes.
public enum ChangeEvent<Row: Sendable>: Sendable {
  /// A row that a transaction of the pool changed. In a table with a change log, also a row that another process
  /// changed.
  case row(Row)
  /// Rows might have changed without being reported. Code that caches rows of the table must read them again.
  ///
  /// Possible causes: another process committed a change to a table without a change log, the schema changed, or a slow
  /// loop's full buffer was emptied. A loop that starts while another loop uses the same sequence also begins with
  /// `.missed`.
  case missed
}

extension ChangeEvent: Equatable where Row: Equatable {}
extension ChangeEvent: Hashable where Row: Hashable {}
