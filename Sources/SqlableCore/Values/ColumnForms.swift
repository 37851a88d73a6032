import FoundationEssentials

extension ColumnType {
  /// True if the column stores this value unchanged.
  ///
  /// NULL is checked by the NOT NULL constraint, whose error names the table and the column. In a REAL column, SQLite
  /// converts an integer even if digits are lost. An integer that no `Double` represents exactly is therefore rejected.
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

  /// Returns the value. Throws for an integer in a decimal column, because 1234 could mean 1234 or, for scale 2, 12.34.
  @inlinable
  func refusingUnits(_ value: DatabaseValue) throws -> DatabaseValue {
    if case .integer = value { try checkHasNoUnits() }
    return value
  }

  @usableFromInline
  func checkHasNoUnits() throws {
    if scale != nil { throw mismatch(.integer) }
  }

  /// Returns the database value that a comparison of `value` with this column binds.
  ///
  /// A column of whole seconds can't store a fraction of a second, but a comparison with a fraction is possible. A
  /// decimal with too many digits for the column can be compared too, if `side` gives the rounding direction.
  func comparable(_ value: any SqlValue, _ side: RoundingSide?) throws -> DatabaseValue {
    guard comparesInAnotherForm else { return try value.databaseValue(in: self) }
    if let scale { return try units(of: value, scale, side) }
    let storage = try value.databaseValue(in: ColumnType(.date(.unixSecondsWithFraction), isNullable: isNullable))
    if case .real(let seconds) = storage, let wholeSeconds = Int64(exactly: seconds) { return .integer(wholeSeconds) }
    return storage
  }

  /// Returns the value to compare with the integers that this decimal column stores.
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
