/// A comparison of a table's key with a value, by the rules of `key = value` in SQL.
package struct KeyComparison: Sendable {
  enum Collation: Sendable {
    case binary, nocase, rtrim
    case custom(UserCollation)
  }

  let affinity: KeyShape.Affinity
  let collation: Collation

  static let ofIds = KeyComparison(affinity: .integer, collation: .binary)

  func matches(_ key: DatabaseValue, _ value: DatabaseValue) -> Bool {
    switch (key, converted(value)) {
    case (.integer(let integer), .real(let real)), (.real(let real), .integer(let integer)):
      Int64(exactly: real) == integer
    case (.real(let key), .real(let value)): key == value
    case (.text(let key), .text(let value)): key.isExactly(value) || isSame(key, value)
    case (let key, let value): key == value
    }
  }

  /// Returns the value to which SQLite converts `value` before a comparison with the column.
  private func converted(_ value: DatabaseValue) -> DatabaseValue {
    switch (affinity, value) {
    case (.integer, .text(let text)), (.real, .text(let text)): KeyComparison.number(text) ?? value
    case (.text, .integer(let integer)): .text("\(integer)")
    case (.text, .real(let real)): .text(real.sqliteText)
    default: value
    }
  }

  /// Returns the value and all values to which SQLite can convert the value before a comparison with a column.
  package static func forms(of value: DatabaseValue) -> [DatabaseValue] {
    switch value {
    case .text(let text): [value] + (number(text).map { [$0] } ?? [])
    case .integer(let integer): [value, .text("\(integer)")]
    case .real(let real): [value, .text(real.sqliteText)]
    case .null, .blob: [value]
    }
  }

  /// Returns the number in a text that consists of a number with optional whitespace around it; nil for any other text.
  private static func number(_ text: String) -> DatabaseValue? {
    let number = text.utf8[...].trimmed
    guard number.allSatisfy({ (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0) }) else {
      return nil
    }
    let digits = String(decoding: number, as: UTF8.self)
    return Int64(digits).map { .integer($0) } ?? Double(digits).map { .real($0) }
  }

  private func isSame(_ left: String, _ right: String) -> Bool {
    switch collation {
    case .binary: false
    // Folds only the letters A to Z.
    case .nocase: left.isSameName(as: right)
    case .rtrim: left.withoutTrailingSpaces.elementsEqual(right.withoutTrailingSpaces)
    case .custom(let collation): collation.compare(left, right) == 0
    }
  }
}

extension String {
  package var withoutTrailingSpaces: Substring.UTF8View {
    var rest = utf8[...]
    while rest.last == UInt8(ascii: " ") { rest.removeLast() }
    return rest
  }
}

extension Connection {
  /// Returns the collation with this name; BINARY if the name is unknown.
  func collation(_ name: String) -> KeyComparison.Collation {
    if name.isSameName(as: "NOCASE") { return .nocase }
    if name.isSameName(as: "RTRIM") { return .rtrim }
    return collations[name.foldedName].map { .custom($0) } ?? .binary
  }
}
