/// A word, name, literal or sign of SQL text.
package struct SqlToken {
  package enum Kind: UInt8 {
    /// A keyword, or a name without quotes.
    case word
    /// A name in double quotes, backticks or brackets.
    case name
    /// A text in single quotes, which SQLite also accepts as a name.
    case text
    /// A number, a blob, a parameter, or a sign.
    case other
  }

  package let kind: Kind
  let range: Range<Int>
}

/// The tokens of SQL text, without blanks and comments, as SQLite's tokenizer separates them.
package struct SqlTokens {
  let bytes: [UInt8]
  package let tokens: [SqlToken]

  package init(_ sql: String) {
    bytes = Array(sql.utf8)
    tokens = bytes.withUnsafeBufferPointer(SqlTokens.tokens)
  }

  package var count: Int { tokens.count }

  private static func tokens(_ bytes: UnsafeBufferPointer<UInt8>) -> [SqlToken] {
    var tokens: [SqlToken] = []
    tokens.reserveCapacity(bytes.count / 4)
    var at = 0
    while at < bytes.count {
      let start = at
      let byte = bytes[at]
      let next = at + 1 < bytes.count ? bytes[at + 1] : 0
      var kind = SqlToken.Kind.other
      switch byte {
      case _ where byte.isBlank:
        at += 1
        continue
      case UInt8(ascii: "-") where next == byte:
        while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
        continue
      case UInt8(ascii: "/") where next == UInt8(ascii: "*"):
        at += 2
        while at + 1 < bytes.count, bytes[at] != UInt8(ascii: "*") || bytes[at + 1] != UInt8(ascii: "/") { at += 1 }
        at = min(at + 2, bytes.count)
        continue
      case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
        kind = byte == UInt8(ascii: "'") ? .text : .name
        at = end(ofQuotes: byte, from: at, bytes)
      case UInt8(ascii: "["):
        kind = .name
        while at < bytes.count, bytes[at] != UInt8(ascii: "]") { at += 1 }
        at = min(at + 1, bytes.count)
      case UInt8(ascii: "x") where next == UInt8(ascii: "'"), UInt8(ascii: "X") where next == UInt8(ascii: "'"):
        at = end(ofQuotes: next, from: at + 1, bytes)
      case _ where byte.isDigit, UInt8(ascii: ".") where next.isDigit:
        at = end(ofNumber: at, bytes)
      case _ where byte.isWordByte:
        kind = .word
        while at < bytes.count, bytes[at].isWordByte { at += 1 }
      default:
        at += isPair(byte, next) ? 2 : 1
      }
      tokens.append(SqlToken(kind: kind, range: start..<at))
    }
    return tokens
  }

  private static func end(ofQuotes quote: UInt8, from start: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var at = start + 1
    while at < bytes.count {
      if bytes[at] == quote {
        guard at + 1 < bytes.count, bytes[at + 1] == quote else { return at + 1 }
        at += 1
      }
      at += 1
    }
    return bytes.count
  }

  private static func end(ofNumber start: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var at = start
    while at < bytes.count {
      let byte = bytes[at]
      // The sign of an exponent belongs to the number; 0x1e+2 is a sum.
      let isSign = byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
      let isHexadecimal = start + 1 < bytes.count && bytes[start + 1].foldedLetter == UInt8(ascii: "x")
      guard
        byte.isWordByte || byte == UInt8(ascii: ".")
          || (isSign && !isHexadecimal && bytes[at - 1].foldedLetter == UInt8(ascii: "e"))
      else { break }
      at += 1
    }
    return at
  }

  private static func isPair(_ first: UInt8, _ second: UInt8) -> Bool {
    switch (first, second) {
    case (UInt8(ascii: "|"), UInt8(ascii: "|")), (UInt8(ascii: "<"), UInt8(ascii: "=")),
      (UInt8(ascii: "<"), UInt8(ascii: ">")), (UInt8(ascii: "<"), UInt8(ascii: "<")),
      (UInt8(ascii: ">"), UInt8(ascii: "=")), (UInt8(ascii: ">"), UInt8(ascii: ">")),
      (UInt8(ascii: "="), UInt8(ascii: "=")), (UInt8(ascii: "!"), UInt8(ascii: "=")),
      (UInt8(ascii: "-"), UInt8(ascii: ">")):
      true
    default: false
    }
  }

  // MARK: Reading

  /// Whether the token is this word, which must be in lower case.
  package func isWord(_ position: Int, _ word: StaticString) -> Bool {
    guard position < tokens.count, tokens[position].kind == .word else { return false }
    let range = tokens[position].range
    guard range.count == word.utf8CodeUnitCount else { return false }
    for offset in 0..<range.count where bytes[range.lowerBound + offset].foldedLetter != word.utf8Start[offset] {
      return false
    }
    return true
  }

  package func isSign(_ position: Int, _ sign: UInt8) -> Bool {
    guard position < tokens.count, tokens[position].kind == .other else { return false }
    let range = tokens[position].range
    return range.count == 1 && bytes[range.lowerBound] == sign
  }

  /// The token as it is written.
  package func text(_ position: Int) -> String { String(decoding: bytes[tokens[position].range], as: UTF8.self) }

  /// The text from the first to before the last of these tokens, as it is written.
  func text(_ range: Range<Int>) -> String {
    guard !range.isEmpty else { return "" }
    let last = tokens[range.upperBound - 1].range.upperBound
    return String(decoding: bytes[tokens[range.lowerBound].range.lowerBound..<last], as: UTF8.self)
  }

  /// The name that a token is, without quotes; nil for a number or sign.
  package func name(_ position: Int) -> String? {
    guard position < tokens.count else { return nil }
    let range = tokens[position].range
    switch tokens[position].kind {
    case .word: return text(position)
    case .other: return nil
    case .name, .text:
      let quote = bytes[range.lowerBound]
      let inner = bytes[range.lowerBound + 1..<max(range.lowerBound + 1, range.upperBound - 1)]
      guard quote != UInt8(ascii: "["), inner.contains(quote) else { return String(decoding: inner, as: UTF8.self) }
      var (plain, skips): ([UInt8], Bool) = ([], false)
      for byte in inner {
        if byte == quote, skips {
          skips = false
          continue
        }
        skips = byte == quote
        plain.append(byte)
      }
      return String(decoding: plain, as: UTF8.self)
    }
  }

  /// The tokens as they are compared: one blank between them, words and names without quotes and in lower case.
  func compared(_ range: Range<Int>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(range.count * 6)
    for position in range {
      if !result.isEmpty { result.append(UInt8(ascii: " ")) }
      switch tokens[position].kind {
      case .word: result += bytes[tokens[position].range].map(\.foldedLetter)
      case .name: result += (name(position) ?? "").utf8.map(\.foldedLetter)
      case .text: result += bytes[tokens[position].range]
      case .other:
        // SQLite reads both alike.
        if text(position) == "==" { result.append(UInt8(ascii: "=")) } else { result += bytes[tokens[position].range] }
      }
    }
    return result
  }
}

extension UInt8 {
  /// Whether it can be part of a word: a letter, a digit, `_`, `$`, or part of a character that is not ASCII.
  fileprivate var isWordByte: Bool {
    self >= 128 || isDigit || (97...122).contains(foldedLetter)
      || [UInt8(ascii: "_"), UInt8(ascii: "$")].contains(self)
  }

  fileprivate var isDigit: Bool { (48...57).contains(self) }
}
