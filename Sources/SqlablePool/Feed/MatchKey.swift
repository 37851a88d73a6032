import SqlableCore

/// The hash key of a value for finding subscribers. Values that are equal without a type conversion have equal keys.
///
/// A key is coarser than any built-in collation. Texts that differ only in the case of A to Z, or in trailing spaces,
/// share a key. So a lookup finds all affected subscribers, and some subscribers that a closer check excludes. Columns
/// with a custom collation have no keys, because a custom collation can treat any two texts as equal.
enum MatchKey: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  init(_ value: DatabaseValue) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    // SQLite compares numbers by value: 2.0 equals 2.
    case .real(let real): self = Int64(exactly: real).map(MatchKey.integer) ?? .real(real)
    case .text(let text):
      // NOCASE compares no characters after a NUL.
      var bytes = text.utf8.prefix { $0 != 0 }.map(\.foldedLetter)
      while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
      self = .text(bytes)
    case .blob(let data): self = .blob(Array(data))
    }
  }
}

/// A filter's requirement that a column equals a value. Rows with a different value are excluded without a call of
/// SQLite.
struct RequiredValue: Sendable {
  let position: Int
  let key: MatchKey
  private let value: DatabaseValue
  /// True if texts are compared byte by byte.
  private let isBinary: Bool

  /// Creates the requirement. Nil for NULL, and if the comparison converts a value or uses a custom collation.
  init?(_ value: DatabaseValue, of column: ComparedColumn, at position: Int) {
    let affinity = KeyShape.Affinity(ofType: column.type)
    isBinary = column.collation.isSameName(as: "BINARY")
    switch value {
    case .null: return nil
    case .integer, .real: guard affinity != .text else { return nil }
    case .text:
      let isBuiltIn = isBinary || column.collation.isSameName(as: "NOCASE") || column.collation.isSameName(as: "RTRIM")
      guard affinity == .text || affinity == .none, isBuiltIn else { return nil }
    case .blob: break
    }
    self.position = position
    self.value = value
    key = MatchKey(value)
  }

  /// True if a row with these values certainly meets the requirement.
  func isMet(by values: [DatabaseValue]) -> Bool {
    guard values.indices.contains(position) else { return false }
    guard case .text(let expected) = value else { return MatchKey(values[position]) == key }
    guard isBinary, case .text(let actual) = values[position] else { return false }
    return expected.isExactly(actual)
  }

  /// True if a row with these values can't meet the requirement.
  func excludes(_ values: [DatabaseValue]) -> Bool {
    guard values.indices.contains(position) else { return false }
    if isBinary, case .text(let expected) = value, case .text(let actual) = values[position] {
      return !expected.isExactly(actual)
    }
    return MatchKey(values[position]) != key
  }
}
