package struct SQLToken {
  package enum Kind: UInt8, Sendable {
    /// A keyword, or a name without quotes.
    case word
    case name
    /// A text in single quotes, which SQLite also accepts as a name.
    case text
    case number
    case blob
    case parameter
    case symbol
    /// Bytes that SQLite refuses: an unclosed quote, a number followed by letters, or an unexpected byte.
    case illegal

    /// True if the token can contain a value, which must not appear in logs.
    var isValue: Bool {
      switch self {
      case .text, .number, .blob, .illegal: true
      case .word, .name, .parameter, .symbol: false
      }
    }
  }

  package let kind: Kind
  package let bytes: Slice<UnsafeBufferPointer<UInt8>>

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  var keyword: String { kind == .word ? bytes.uppercasedWord : "" }

  package func isSymbol(_ byte: Unicode.Scalar) -> Bool {
    kind == .symbol && bytes.count == 1 && bytes.first == UInt8(ascii: byte)
  }

  /// True if the token is this unquoted word. `word` must be in lower case.
  func isWord(_ word: StaticString) -> Bool {
    guard kind == .word, bytes.count == word.utf8CodeUnitCount else { return false }
    for (offset, byte) in bytes.enumerated() where byte.foldedLetter != word.utf8Start[offset] { return false }
    return true
  }

  /// The name without quotes; nil if the token can't be a name. SQLite also accepts a text in single quotes as a name.
  package var name: [UInt8]? {
    switch kind {
    case .word: Array(bytes)
    case .name, .text: bytes.withoutQuotes
    case .number, .blob, .parameter, .symbol, .illegal: nil
    }
  }
}

/// An iterator over the tokens of SQL text, without whitespace and comments.
///
/// The tokenizer matches SQLite's `sqlite3GetToken`, because a difference could hide a statement from a check. For
/// example, a vertical tab is whitespace only after other whitespace, and `$name(…)` is one parameter. After a token
/// that SQLite refuses, the tokenizer continues.
///
/// The tokenizer does not depend on SQLite's version. `1_000` and `0x1_F` are numbers, as in SQLite 3.46. An older
/// SQLite refuses `1_000`, and reads `0x1_F` as `0x1` with the alias `_F`. `0x1G` is the number `0x1` and a word, which
/// SQLite 3.46 refuses.
package struct SQLTokenizer: Sequence, IteratorProtocol {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position: Int
  /// True if the text ends inside quotes or a comment. Known only after the last token.
  private(set) var isOpen = false

  package init(_ bytes: UnsafeBufferPointer<UInt8>, from position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  // Not inlined, because many loops call this method, and no loop needs the speed.
  @inline(never)
  package mutating func next() -> SQLToken? {
    skipBlanks()
    guard position < bytes.count else { return nil }
    let start = position
    let kind = take()
    return SQLToken(kind: kind, bytes: bytes[start..<position])
  }

  static func endsOpen(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    // Most texts contain no byte of `opening`, so the check is fast.
    guard text.contains(where: { $0 < 0x80 && opening & (1 << UInt128($0)) != 0 }) else { return false }
    var tokens = SQLTokenizer(text)
    while tokens.next() != nil {}
    return tokens.isOpen
  }

  private static let opening: UInt128 = "'\"`[-/$@:#".utf8.reduce(0) { $0 | 1 << UInt128($1) }

  // Returns NUL after the end, like SQLite's text, which ends with a NUL byte.
  @inline(__always)
  private func byte(_ offset: Int = 0) -> UInt8 { position + offset < bytes.count ? bytes[position + offset] : 0 }

  private mutating func skipBlanks() {
    while position < bytes.count {
      switch byte() {
      case UInt8(ascii: " "), 9, 10, 12, 13:
        position += 1
        while byte().isBlank { position += 1 }
      case UInt8(ascii: "-") where byte(1) == UInt8(ascii: "-"):
        position += 2
        while position < bytes.count, byte() != UInt8(ascii: "\n") { position += 1 }
        isOpen = position == bytes.count
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
        // If the text ends with `/*`, SQLite reads two operators instead of a comment.
        guard position + 2 < bytes.count else {
          isOpen = true
          return
        }
        position += 3
        while position < bytes.count, byte(-1) != UInt8(ascii: "*") || byte() != UInt8(ascii: "/") { position += 1 }
        isOpen = position == bytes.count
        if !isOpen { position += 1 }
      case 0xEF where byte(1) == 0xBB && byte(2) == 0xBF:
        // SQLite skips a byte order mark anywhere between tokens.
        position += 3
      default: return
      }
    }
  }

  private mutating func take() -> SQLToken.Kind {
    let first = byte()
    switch first {
    case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): return takeQuotes(first)
    case UInt8(ascii: "["):
      while position < bytes.count, byte() != UInt8(ascii: "]") { position += 1 }
      return close(.name)
    case UInt8(ascii: "x") where byte(1) == UInt8(ascii: "'"), UInt8(ascii: "X") where byte(1) == UInt8(ascii: "'"):
      return takeBlob()
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return takeNumber()
    case UInt8(ascii: ".") where byte(1).isDigit: return takeNumber()
    case UInt8(ascii: "?"):
      position += 1
      while byte().isDigit { position += 1 }
      return .parameter
    case UInt8(ascii: "$"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "#"): return takeParameter()
    case let byte where byte.isWordByte:
      skipWord()
      return .word
    default: return takeSymbol(first)
    }
  }

  private mutating func skipWord() { while byte().isWordByte { position += 1 } }

  private mutating func close(_ kind: SQLToken.Kind) -> SQLToken.Kind {
    guard position < bytes.count else {
      isOpen = true
      return .illegal
    }
    position += 1
    return kind
  }

  private mutating func takeQuotes(_ quote: UInt8) -> SQLToken.Kind {
    position += 1
    while position < bytes.count {
      if byte() == quote {
        guard byte(1) == quote else { break }
        position += 1
      }
      position += 1
    }
    return close(quote == UInt8(ascii: "'") ? .text : .name)
  }

  private mutating func takeBlob() -> SQLToken.Kind {
    position += 2
    let start = position
    while byte().isHexDigit { position += 1 }
    let isBlob = byte() == UInt8(ascii: "'") && (position - start).isMultiple(of: 2)
    while position < bytes.count, byte() != UInt8(ascii: "'") { position += 1 }
    return close(isBlob ? .blob : .illegal)
  }

  private mutating func takeNumber() -> SQLToken.Kind {
    if byte() == UInt8(ascii: "0"), byte(1).foldedLetter == UInt8(ascii: "x"), byte(2).isHexDigit {
      position += 3
      while byte().isHexDigit || byte() == SQLTokenizer.digitSeparator { position += 1 }
      return .number
    }
    skipDigits()
    if byte() == UInt8(ascii: ".") {
      position += 1
      skipDigits()
    }
    if byte().foldedLetter == UInt8(ascii: "e") {
      let isSigned = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-")
      if byte(isSigned ? 2 : 1).isDigit {
        position += 2
        skipDigits()
      }
    }
    guard byte().isWordByte else { return .number }
    skipWord()
    return .illegal
  }

  /// Skips digits and digit separators. The parser of SQLite refuses a separator that is not between two digits.
  private mutating func skipDigits() {
    while byte().isDigit || byte() == SQLTokenizer.digitSeparator { position += 1 }
  }

  private static let digitSeparator = UInt8(ascii: "_")

  private mutating func takeParameter() -> SQLToken.Kind {
    position += 1
    var isNamed = false
    while position < bytes.count {
      if byte().isWordByte {
        isNamed = true
        position += 1
      } else if byte() == UInt8(ascii: "("), isNamed {
        repeat { position += 1 } while position < bytes.count && !byte().isBlank && byte() != UInt8(ascii: ")")
        guard byte() == UInt8(ascii: ")") else {
          isOpen = position == bytes.count
          return .illegal
        }
        position += 1
        break
      } else if byte() == UInt8(ascii: ":"), byte(1) == UInt8(ascii: ":") {
        position += 2
      } else {
        break
      }
    }
    return isNamed ? .parameter : .illegal
  }

  private mutating func takeSymbol(_ first: UInt8) -> SQLToken.Kind {
    let second = byte(1)
    position += 1
    switch (first, second) {
    case (UInt8(ascii: "-"), UInt8(ascii: ">")):
      position += byte(1) == UInt8(ascii: ">") ? 2 : 1
    case (UInt8(ascii: "|"), UInt8(ascii: "|")), (UInt8(ascii: "="), UInt8(ascii: "=")),
      (UInt8(ascii: "!"), UInt8(ascii: "=")), (UInt8(ascii: "<"), UInt8(ascii: "=")),
      (UInt8(ascii: "<"), UInt8(ascii: ">")), (UInt8(ascii: "<"), UInt8(ascii: "<")),
      (UInt8(ascii: ">"), UInt8(ascii: "=")), (UInt8(ascii: ">"), UInt8(ascii: ">")):
      position += 1
    default:
      return SQLTokenizer.symbols & (1 << UInt128(first & 0x7F)) != 0 ? .symbol : .illegal
    }
    return .symbol
  }

  private static let symbols: UInt128 = "-();+*/%=<>|,&~.".utf8.reduce(0) { $0 | 1 << UInt128($1) }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  /// The contents of quotes or brackets, with each doubled quote replaced by one quote.
  var withoutQuotes: [UInt8] {
    guard count >= 2, let quote = first else { return Array(self) }
    let inner = dropFirst().dropLast()
    guard quote != UInt8(ascii: "["), inner.contains(quote) else { return Array(inner) }
    var (name, isSecond) = ([UInt8](), false)
    for byte in inner {
      isSecond = byte == quote && !isSecond
      if !isSecond { name.append(byte) }
    }
    return name
  }

  /// The word in upper case. Only the letters a to z are converted, as in SQLite's keywords.
  var uppercasedWord: String {
    String(unsafeUninitializedCapacity: count) { target in
      for (offset, byte) in enumerated() { target[offset] = (97...122).contains(byte) ? byte - 32 : byte }
      return count
    }
  }
}

extension UInt8 {
  var isDigit: Bool { (48...57).contains(self) }

  fileprivate var isHexDigit: Bool { isDigit || (97...102).contains(foldedLetter) }

  /// True if the byte can be part of a name or keyword: a letter, a digit, `_`, `$`, or a non-ASCII byte.
  package var isWordByte: Bool {
    self >= 0x80 || (97...122).contains(foldedLetter) || isDigit || self == UInt8(ascii: "_")
      || self == UInt8(ascii: "$")
  }

  /// True if this byte would extend the interpolated token before it: `?` and `1` become `?1`, `"a"` and `"b"` become
  /// one name.
  var joinsInterpolation: Bool { isWordByte || self == UInt8(ascii: "\"") }
}
