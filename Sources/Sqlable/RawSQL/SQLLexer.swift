/// Where in SQL text one is, after so many of its bytes: among the words, or in something that holds no parameter.
struct SQLLexer {
  private enum State: Equatable {
    case words
    /// After the first byte of what may begin a comment.
    case dash, slash
    /// In quotes, up to this byte; a doubled one closes and opens them again.
    case quotes(UInt8)
    case line, block
    /// In a comment, after what may be the first byte of its end.
    case blockStar
  }

  private var state = State.words

  /// Whether what comes next is neither in quotes nor in a comment.
  var isAmongWords: Bool { [.words, .dash, .slash].contains(state) }

  mutating func advance(over text: String.UTF8View) {
    for byte in text {
      // Most of a text: nothing begins or ends at such a byte.
      if state == .words, byte > 0x60 || SQLLexer.plain & (1 << UInt128(byte)) != 0 { continue }
      advance(over: byte)
    }
  }

  /// A bit for each ASCII byte among the words that begins neither quotes nor a comment.
  private static let plain: UInt128 = "'\"`[-/".utf8.reduce(.max) { $0 & ~(1 << UInt128($1)) }

  // The rules of SQLite's tokenizer.
  private mutating func advance(over byte: UInt8) {
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

  /// What was interpolated is behind: no byte before it begins anything.
  mutating func passInterpolation() { if isAmongWords { state = .words } }

  /// Whether a byte right after an interpolation would become part of it: `?` and `1` are the parameter `?1`, `"a"` and
  /// `"b"` are one name.
  static func joins(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "\""), 0x80...:
      true
    default: false
    }
  }
}
