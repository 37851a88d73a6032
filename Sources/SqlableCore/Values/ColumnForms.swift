import FoundationEssentials

// The forms of values in a column.

extension ColumnType {
  /// True if the column stores this value unchanged.
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

  /// Returns the value, unless it is an integer in a column of decimals: it could be meant as a number or as its units.
  @inlinable
  func refusingUnits(_ value: DatabaseValue) throws -> DatabaseValue {
    if case .integer = value { try checkHasNoUnits() }
    return value
  }

  @usableFromInline
  func checkHasNoUnits() throws {
    if scale != nil { throw mismatch(.integer) }
  }

  /// Returns the form in which a value is compared with this column.
  ///
  /// A date with a fraction of a second can't be stored in a column of whole seconds, but it can be compared with it;
  /// so can a decimal with more digits than the column's, on a known side.
  func comparable(_ value: any SqlValue, _ side: RoundingSide?) throws -> DatabaseValue {
    guard comparesInAnotherForm else { return try value.databaseValue(in: self) }
    if let scale { return try units(of: value, scale, side) }
    let storage = try value.databaseValue(in: ColumnType(.date(.unixSecondsWithFraction), isNullable: isNullable))
    if case .real(let seconds) = storage, let wholeSeconds = Int64(exactly: seconds) { return .integer(wholeSeconds) }
    return storage
  }

  /// The number of units to compare with this column of decimals.
  private func units(of value: any SqlValue, _ scale: Int, _ side: RoundingSide?) throws -> DatabaseValue {
    let exact = Result { try value.databaseValue(in: self) }
    if case .failure = exact, let side, case .text(let text) = try value.databaseValue {
      return try DecimalUnits(Decimal(databaseValue: .text(text)), scale: scale).compared(side)
    }
    let storage = try exact.get()
    guard storage == .null || storage.storageClass == .integer else { throw mismatch(storage.storageClass) }
    return storage
  }
}
