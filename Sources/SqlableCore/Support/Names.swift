import Glibc

// Quoting and comparison of table and column names by SQLite's rules.

extension String {
  /// The name in double quotes, with each inner quote doubled.
  package var quotedName: String { String(decoding: quotedBytes(), as: UTF8.self) }

  /// Returns the quoted name of a table, after the quoted name of its attached database: `"archive"."bicycle"`.
  @inline(never)
  package func quotedName(inDatabase database: String?) -> String {
    (database.map { $0.quotedName + "." } ?? "") + quotedName
  }

  /// The text as an SQL literal: in single quotes, with each inner quote doubled. The text must not contain a NUL byte.
  package var quotedText: String { String(decoding: quotedBytes(in: UInt8(ascii: "'")), as: UTF8.self) }

  /// Returns an identifier in double quotes, or a text in single quotes, with each inner quote doubled.
  ///
  /// Processes bytes like SQLite, because a quote before a combining accent is not a separate `Character`.
  package func quotedBytes(in quote: UInt8 = UInt8(ascii: "\"")) -> [UInt8] {
    var bytes: [UInt8] = [quote]
    for byte in utf8 {
      if byte == quote { bytes.append(quote) }
      bytes.append(byte)
    }
    bytes.append(quote)
    return bytes
  }

  /// The name as SQLite compares names: the letters A to Z in lower case, and all other bytes unchanged.
  package var foldedName: [UInt8] { utf8.map(\.foldedLetter) }

  /// True if both strings have the same bytes. Unlike SQLite, `==` treats the two encodings of an é as the same name.
  @inline(never)
  package func isExactly(_ other: String) -> Bool {
    // Copies of a string have identical storage. Identical storage means equal bytes.
    if MemoryLayout<String>.size == MemoryLayout<(UInt64, UInt64)>.size,
      unsafeBitCast(self, to: (UInt64, UInt64).self) == unsafeBitCast(other, to: (UInt64, UInt64).self)
    {
      return true
    }
    let isSame = utf8.withContiguousStorageIfAvailable { bytes in
      other.utf8.withContiguousStorageIfAvailable { other in
        guard bytes.count == other.count, let first = bytes.baseAddress, let second = other.baseAddress else {
          return bytes.count == other.count
        }
        return memcmp(first, second, bytes.count) == 0
      }
    }
    return isSame.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
  }

  /// True if SQLite treats both strings as the same name.
  @inline(never)
  package func isSameName(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return isExactly(other) || utf8.elementsEqual(other.utf8) { $0.foldedLetter == $1.foldedLetter }
  }

  /// True if the name consists of ASCII letters, digits and `_`, and does not begin with a digit.
  package var isPlainName: Bool {
    guard let first = utf8.first, !(48...57).contains(first) else { return false }
    return utf8.allSatisfy { (97...122).contains($0.foldedLetter) || (48...57).contains($0) || $0 == UInt8(ascii: "_") }
  }

  package static let rowidNames = ["rowid", "_rowid_", "oid"]

  /// Returns a name of the rowid that no column of the table hides; nil if the columns hide all names of the rowid.
  package static func rowidName(avoiding columns: some Sequence<String>) -> String? {
    rowidNames.first { name in !columns.contains { $0.isSameName(as: name) } }
  }
}

/// A name that is compared by its bytes, as in SQLite.
@propertyWrapper
@usableFromInline
package struct ByteComparedName: Sendable, Hashable {
  @usableFromInline package var wrappedValue: String?

  @usableFromInline
  package init(wrappedValue: String?) { self.wrappedValue = wrappedValue }

  @usableFromInline
  package static func == (left: ByteComparedName, right: ByteComparedName) -> Bool {
    left.wrappedValue.isExactly(right.wrappedValue)
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension String? {
  package func isExactly(_ other: String?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.isExactly(other)
  }
}

extension UInt8 {
  package var foldedLetter: UInt8 { (65...90).contains(self) ? self + 32 : self }

  /// True if SQLite's `isspace` accepts the byte: a space, or a byte from tab to carriage return.
  var isBlank: Bool { self == UInt8(ascii: " ") || (9...13).contains(self) }
}

extension Substring.UTF8View {
  var trimmed: Self {
    var rest = drop(while: \.isBlank)
    while rest.last?.isBlank == true { rest.removeLast() }
    return rest
  }
}

extension Set<String> {
  /// Makes the set of the words in a text. An array literal of many strings would compile to more code.
  @inline(never)
  package init(words text: String) {
    self.init(text.split { $0 == " " || $0 == "\n" }.map(String.init))
  }

  package init(lines text: String) {
    self.init(text.split(separator: "\n").map(String.init))
  }
}
