/// A token of SQL text, by the rules of SQLite's tokenizer.
struct SQLToken {
  enum Kind {
    /// A keyword or a bare name.
    case word
    /// A name in quotes.
    case name
    /// A number, a text or a blob.
    case value
    case parameter
    case symbol
  }

  let kind: Kind
  let bytes: Slice<UnsafeBufferPointer<UInt8>>

  var text: String { String(decoding: bytes, as: UTF8.self) }

  func isSymbol(_ byte: Unicode.Scalar) -> Bool {
    kind == .symbol && bytes.count == 1 && bytes.first == UInt8(ascii: byte)
  }

  /// The name without its quotes.
  var unquoted: String {
    guard kind == .name, let quote = bytes.first, bytes.count >= 2 else { return text }
    var name: [UInt8] = []
    var rest = bytes.dropFirst().dropLast()
    while let byte = rest.popFirst() {
      name.append(byte)
      if byte == quote, rest.first == quote { rest = rest.dropFirst() }
    }
    return String(decoding: name, as: UTF8.self)
  }
}

/// The tokens of SQL text, without blanks and comments. Quotes that are not closed reach to the end.
struct SQLTokens: Sequence, IteratorProtocol {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  mutating func next() -> SQLToken? {
    skipBlanks()
    guard position < bytes.count else { return nil }
    let start = position
    let kind = take()
    return SQLToken(kind: kind, bytes: bytes[start..<position])
  }

  private func byte(_ offset: Int = 0) -> UInt8 { position + offset < bytes.count ? bytes[position + offset] : 0 }

  private mutating func skipBlanks() {
    while position < bytes.count {
      switch (byte(), byte(1)) {
      case (UInt8(ascii: " "), _), (9...13, _): position += 1
      case (UInt8(ascii: "-"), UInt8(ascii: "-")): skip(past: [UInt8(ascii: "\n")])
      case (UInt8(ascii: "/"), UInt8(ascii: "*")):
        position += 2
        skip(past: Array("*/".utf8))
      default: return
      }
    }
  }

  private mutating func skip(past end: [UInt8]) {
    while position < bytes.count, !bytes[position...].starts(with: end) { position += 1 }
    position = Swift.min(position + end.count, bytes.count)
  }

  private mutating func take() -> SQLToken.Kind {
    switch byte() {
    case UInt8(ascii: "'"):
      skipQuotes(UInt8(ascii: "'"))
      return .value
    case UInt8(ascii: "\""), UInt8(ascii: "`"):
      skipQuotes(byte())
      return .name
    case UInt8(ascii: "["):
      skip(past: [UInt8(ascii: "]")])
      return .name
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      guard byte(1) == UInt8(ascii: "'") else { return takeWord() }
      position += 1
      skipQuotes(UInt8(ascii: "'"))
      return .value
    case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"), UInt8(ascii: "#"):
      position += 1
      while byte().isWordByte { position += 1 }
      return .parameter
    case let byte where byte.isDigit: return takeNumber()
    case UInt8(ascii: ".") where byte(1).isDigit: return takeNumber()
    case let byte where byte.isWordByte: return takeWord()
    default: return takeSymbol()
    }
  }

  private mutating func takeWord() -> SQLToken.Kind {
    while byte().isWordByte { position += 1 }
    return .word
  }

  private mutating func takeNumber() -> SQLToken.Kind {
    while true {
      let isSign = byte() == UInt8(ascii: "-") || byte() == UInt8(ascii: "+")
      let isExponent = position > 0 && bytes[position - 1] | 0x20 == UInt8(ascii: "e")
      guard byte().isWordByte || byte() == UInt8(ascii: ".") || isSign && isExponent && !isHexadecimal else {
        return .value
      }
      position += 1
    }
  }

  /// Whether the number before the position is a hexadecimal one, whose E is a digit.
  private var isHexadecimal: Bool {
    var start = position
    while start > 0, bytes[start - 1].isWordByte { start -= 1 }
    return start + 1 < bytes.count && bytes[start] == UInt8(ascii: "0") && bytes[start + 1] | 0x20 == UInt8(ascii: "x")
  }

  /// Moves past quotes; a doubled one does not end them.
  private mutating func skipQuotes(_ quote: UInt8) {
    position += 1
    while position < bytes.count {
      if byte() == quote {
        guard byte(1) == quote else { break }
        position += 1
      }
      position += 1
    }
    position = Swift.min(position + 1, bytes.count)
  }

  private static let operators = ["->>", "->", "||", "<=", ">=", "<>", "<<", ">>", "!=", "=="].map { Array($0.utf8) }

  private mutating func takeSymbol() -> SQLToken.Kind {
    let rest = bytes[position...]
    position += SQLTokens.operators.first { rest.starts(with: $0) }?.count ?? 1
    return .symbol
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

  /// Whether it may be part of a bare name.
  fileprivate var isWordByte: Bool {
    isDigit || UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 || self == UInt8(ascii: "_")
      || self == UInt8(ascii: "$") || self >= 0x80
  }
}
