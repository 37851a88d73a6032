import Glibc

// Names of tables and columns, as SQLite reads and compares them.

extension String {
  /// The name in double quotes, with the quotes inside it doubled.
  var quotedName: String { String(decoding: quotedBytes(), as: UTF8.self) }

  /// The text as SQL spells it, in single quotes, with the quotes inside it doubled. It has no NUL byte.
  var quotedText: String { String(decoding: quotedBytes(in: UInt8(ascii: "'")), as: UTF8.self) }

  /// An identifier in double quotes, or a text in single ones, with the quotes inside it doubled.
  ///
  /// By bytes, as SQLite reads it: a quote is no `Character` of its own before an accent.
  func quotedBytes(in quote: UInt8 = UInt8(ascii: "\"")) -> [UInt8] {
    var bytes: [UInt8] = [quote]
    for byte in utf8 {
      if byte == quote { bytes.append(quote) }
      bytes.append(byte)
    }
    bytes.append(quote)
    return bytes
  }

  /// The name as SQLite compares it: A to Z and a to z are the same, all else is bytes.
  var foldedName: [UInt8] { utf8.map(\.foldedLetter) }

  /// Whether both are the same bytes: two forms of an é, which == takes for one, are two names to SQLite.
  func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether SQLite takes the two for one name.
  func isSameName(as other: String) -> Bool {
    // Not by ==, which takes the two forms of an é for one.
    let isSame = utf8.withContiguousStorageIfAvailable { own in
      other.utf8.withContiguousStorageIfAvailable { other in
        guard own.count == other.count, let first = own.baseAddress, let second = other.baseAddress else {
          return own.count == other.count
        }
        return memcmp(first, second, own.count) == 0
          || own.elementsEqual(other) { $0.foldedLetter == $1.foldedLetter }
      }
    }
    return isSame.flatMap { $0 } ?? (foldedName == other.foldedName)
  }

  /// Whether it is made of ASCII letters, digits and `_`, and does not begin with a digit.
  var isPlainName: Bool {
    guard let first = utf8.first, !(48...57).contains(first) else { return false }
    return utf8.allSatisfy { (97...122).contains($0.foldedLetter) || (48...57).contains($0) || $0 == UInt8(ascii: "_") }
  }

  /// A name by which a table's rowid is reached beside columns of these names, which may hide some or all.
  static func rowidName(beside columns: some Sequence<String>) -> String? {
    ["rowid", "_rowid_", "oid"].first { name in !columns.contains { $0.isSameName(as: name) } }
  }
}

/// A name that is compared by its bytes, as SQLite tells names apart.
@propertyWrapper
@usableFromInline
struct ByBytes: Sendable, Hashable {
  @usableFromInline var wrappedValue: String?

  @usableFromInline
  init(wrappedValue: String?) { self.wrappedValue = wrappedValue }

  @usableFromInline
  static func == (left: ByBytes, right: ByBytes) -> Bool { left.wrappedValue.isExactly(right.wrappedValue) }

  // By characters: names of equal bytes have equal ones.
  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension String? {
  /// Whether both are the same bytes, or both are none.
  func isExactly(_ other: String?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.isExactly(other)
  }
}

extension UInt8 {
  /// A to Z as a to z, any other byte as it is.
  var foldedLetter: UInt8 { (65...90).contains(self) ? self + 32 : self }

  /// Whether SQLite passes it over between words: a space, or what is from tab to carriage return.
  var isBlank: Bool { self == UInt8(ascii: " ") || (9...13).contains(self) }
}

extension Substring.UTF8View {
  /// Without the blanks at both ends.
  var trimmed: Self {
    var rest = drop(while: \.isBlank)
    while rest.last?.isBlank == true { rest.removeLast() }
    return rest
  }
}
