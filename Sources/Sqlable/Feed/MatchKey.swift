import FoundationEssentials

/// What values that a comparison could take for one have in common: the key under which subscribers are found.
///
/// Coarser than any comparison of SQLite's own: texts that differ in the case of A to Z, or in spaces at the end,
/// have one key, whatever the column's collation. So a look-up finds all that are concerned, and some that a closer
/// look excludes. Collations of a program's own may take any two texts for one: they have no keys.
enum MatchKey: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob(Data)

  init(_ value: DatabaseValue) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    // SQLite compares numbers by what they are worth: 2.0 is 2.
    case .real(let real): self = Int64(exactly: real).map(MatchKey.integer) ?? .real(real)
    case .text(let text):
      // NOCASE looks at nothing behind a NUL character.
      var bytes = text.utf8.prefix { $0 != 0 }.map(\.foldedLetter)
      while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
      self = .text(bytes)
    case .blob(let data): self = .blob(data)
    }
  }
}

/// What a filter demands of one column: that it equals a value. A row with another value does not meet the filter,
/// which takes no SQLite to find out.
struct RowDemand: Sendable {
  /// The column's place among those of the table.
  let place: Int
  let key: MatchKey
  private let value: DatabaseValue
  /// Whether texts are compared byte by byte.
  private let isBinary: Bool

  /// Nil when SQLite would convert one of both before it compares them, or compare texts by a collation of the
  /// program's own.
  init?(_ value: DatabaseValue, of column: ComparedColumn, at place: Int) {
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
    self.place = place
    self.value = value
    key = MatchKey(value)
  }

  /// Whether a row with these values meets it for certain.
  func isMet(by values: [DatabaseValue]) -> Bool {
    guard values.indices.contains(place) else { return false }
    guard case .text(let own) = value else { return MatchKey(values[place]) == key }
    guard isBinary, case .text(let found) = values[place] else { return false }
    return own.isExactly(found)
  }

  /// Whether a row with these values can't meet it.
  func excludes(_ values: [DatabaseValue]) -> Bool {
    guard values.indices.contains(place) else { return false }
    if isBinary, case .text(let own) = value, case .text(let found) = values[place] { return !own.isExactly(found) }
    return MatchKey(values[place]) != key
  }
}
