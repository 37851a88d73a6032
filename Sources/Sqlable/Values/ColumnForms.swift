// The forms that values have in a column.

extension ColumnType {
  /// Whether a value may be stored here as it is.
  ///
  /// NULL is left to the NOT NULL constraint, which names table and column. SQLite makes a REAL of an integer, whatever
  /// digits that costs, so one that no `Double` holds exactly is refused.
  @usableFromInline
  func stores(_ value: BoundValue) -> Bool {
    switch value {
    case .unset, .null: true
    case .integer(let integer): stores(integer)
    case .real: storageClass == .real
    case .text: storageClass == .text
    case .blob, .list: storageClass == .blob
    }
  }

  /// The form of a value that is compared with this column.
  ///
  /// A moment between two seconds has no place in a column of whole seconds, but it is after the one and before the other.
  func comparable(_ value: any SqlValue) throws -> DatabaseValue {
    guard comparesInAnotherForm else { return try value.databaseValue(in: self) }
    let storage = try value.databaseValue(in: ColumnType(.date(.unixSecondsWithFraction), isNullable: isNullable))
    if case .real(let seconds) = storage, let whole = Int64(exactly: seconds) { return .integer(whole) }
    return storage
  }
}
