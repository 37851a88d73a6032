/// Tracks the position in SQL text: among the words, or inside quotes or a comment, which hold no parameter.
struct SQLLexer {
  private enum State: Equatable {
    case words
    /// After the first byte of a possible comment.
    case dash, slash
    /// In quotes, up to this byte; a doubled one closes and reopens them.
    case quotes(UInt8)
    case line, block
    /// In a comment, after the first byte of its possible end.
    case blockStar
  }

  private var state = State.words

  /// Whether the next byte is neither in quotes nor in a comment.
  var isAmongWords: Bool { [.words, .dash, .slash].contains(state) }

  mutating func advance(over text: String.UTF8View) {
    for byte in text {
      // The common case: nothing begins or ends at such a byte.
      if state == .words, byte > 0x60 || SQLLexer.plain & (1 << UInt128(byte)) != 0 { continue }
      advance(over: byte)
    }
  }

  /// One bit per ASCII byte that begins neither quotes nor a comment among the words.
  private static let plain: UInt128 = "'\"`[-/".utf8.reduce(.max) { $0 & ~(1 << UInt128($1)) }

  // The rules of SQLite's tokenizer.
  mutating func advance(over byte: UInt8) {
    switch (state, byte) {
    case (.dash, UInt8(ascii: "-")): state = .line
    case (.slash, UInt8(ascii: "*")): state = .block
    case (.words, _), (.dash, _), (.slash, _):
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): state = .quotes(byte)
      case UInt8(ascii: "["): state = .quotes(UInt8(ascii: "]"))
      case UInt8(ascii: "-"): state = .dash
      case UInt8(ascii: "/"): state = .slash
      default: state = .words
      }
    case (.quotes(let end), _): if byte == end { state = .words }
    case (.line, _): if byte == UInt8(ascii: "\n") { state = .words }
    case (.blockStar, UInt8(ascii: "/")): state = .words
    case (.block, _), (.blockStar, _): state = byte == UInt8(ascii: "*") ? .blockStar : .block
    }
  }

  /// Moves past an interpolation: no byte before it begins a comment.
  mutating func passInterpolation() { if isAmongWords { state = .words } }

  /// Whether a byte right after an interpolation would join it: `?` and `1` are the parameter `?1`, `"a"` and `"b"` are
  /// one name.
  static func joins(_ byte: UInt8) -> Bool { isOfWord(byte) || byte == UInt8(ascii: "\"") }

  /// Whether a byte may stand in a name without quotes, a keyword or a number.
  static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }
}
