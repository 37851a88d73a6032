// The forms of values in a column.

extension ColumnType {
  /// Whether the column stores this value unchanged.
  ///
  /// NULL is left to the NOT NULL constraint, whose error names table and column. SQLite converts an integer in a REAL
  /// column even if that loses digits, so an integer that no `Double` represents exactly is rejected.
  @usableFromInline
  func stores(_ value: BoundValue) -> Bool {
    if base == .any { return true }
    return switch value {
    case .unset, .null: true
    case .integer(let integer): stores(integer)
    case .real: storageClass == .real
    case .text: storageClass == .text
    case .blob, .list: storageClass == .blob
    }
  }

  /// Returns the form in which a value is compared with this column.
  ///
  /// A date with a fraction of a second can't be stored in a column of whole seconds, but it can be compared with it.
  func comparable(_ value: any SqlValue) throws -> DatabaseValue {
    guard comparesInAnotherForm else { return try value.databaseValue(in: self) }
    let storage = try value.databaseValue(in: ColumnType(.date(.unixSecondsWithFraction), isNullable: isNullable))
    if case .real(let seconds) = storage, let whole = Int64(exactly: seconds) { return .integer(whole) }
    return storage
  }
}
