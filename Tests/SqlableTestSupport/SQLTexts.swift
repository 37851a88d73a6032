/// Generated SQL texts.
enum SQLTexts {
  private static let pieces: [String] = {
    let words = ["a", "E", "x", "X", "e", "SELECT", "end", "é", "_a", "select1"]
    let signs = [
      "(", ")", ";", ",", ".", "+", "-", "*", "/", "%", "=", "<", ">", "|", "||", "&", "~", "!", "->", "->>", "^", "\\",
      "{", "<>", "==", "!=",
    ]
    let quotes = ["'", "\"", "`", "[", "]", "''", "'a'", "x'", "X'ab'", "x'1'", "\"b\"", "[c]"]
    let comments = ["--", "\n", "/*", "*/", "/", "*"]
    let blanks = [" ", "\t", "\u{0B}", "\u{0C}", "\r", "\u{FEFF}", "\u{A0}", "\u{1}", "  "]
    let numbers = ["1", "0", "0x", "0xF", "12", "e+", "e-1", ".5", "1e", "_", "_1"]
    let parameters = ["?", "?1", "$", "$a", ":", "::", "@", "#", "@a(", "$a(b)", ":a"]
    return words + signs + quotes + comments + blanks + numbers + parameters
  }()

  // Not regular expressions, which take most of the time of a text.

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  /// Returns whether letters follow the digits of a hexadecimal number. Only SQLite 3.46 and later refuse them.
  private static func hasJoinedHex(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    while let zero = rest.firstIndex(of: UInt8(ascii: "0")) {
      rest = rest[(zero + 1)...]
      guard let sign = rest.first, sign | 0x20 == UInt8(ascii: "x"), let digit = rest.dropFirst().first,
        isHexDigit(digit)
      else { continue }
      let next = rest.dropFirst().first { !isHexDigit($0) && $0 != UInt8(ascii: "_") }
      switch next ?? 0 {
      case UInt8(ascii: "g")...UInt8(ascii: "z"), UInt8(ascii: "G")...UInt8(ascii: "Z"), UInt8(ascii: "$"),
        0x80...0xFF:
        return true
      default: break
      }
    }
    return false
  }

  /// Returns whether a number has a digit separator. Only SQLite 3.46 and later accept it.
  private static func hasSeparatedDigits(_ text: String) -> Bool {
    var last: UInt8 = 0
    for byte in text.utf8 {
      if byte == UInt8(ascii: "_"), isHexDigit(last) || last == UInt8(ascii: ".") { return true }
      last = byte
    }
    return false
  }

  /// Pieces of tokens in any order.
  static func soup(_ generator: inout SeededGenerator) -> String {
    while true {
      let count = Int.random(in: 1...12, using: &generator)
      let text = (0..<count).map { _ in generator.pick(pieces) }.joined()
      // Versions of SQLite read these tokens differently.
      if !SQLiteLibrary.isAtLeast(38), text.contains("->") { continue }
      if SQLiteLibrary.isAtLeast(46) ? hasJoinedHex(text) : hasSeparatedDigits(text) { continue }
      return text
    }
  }

  private static let trigger = [
    "CREATE", "TRIGGER", "IF", "NOT", "EXISTS", "g", "AFTER", "INSERT", "ON", "t", "BEGIN", "SELECT", "1", ";",
    "SELECT",
    "CASE", "1", "WHEN", "2", "THEN", "3", "END", ";", "END",
  ]

  /// Statements that compile on a connection with the table t, as tokens, and whether `sqlite3_complete` knows their
  /// tokens.
  private static let statements: [(tokens: [String], isKnown: Bool)] = [
    (["CREATE", "TABLE", "IF", "NOT", "EXISTS", "t", "(", "a", ",", "b", ")"], true),
    (["CREATE", "TABLE", "IF", "NOT", "EXISTS", "trigger", "(", "a", ")"], true),
    (["CREATE", "INDEX", "IF", "NOT", "EXISTS", "trigger2", "ON", "t", "(", "a", ")"], true),
    (trigger, true),
    (["EXPLAIN"] + trigger, true),
    (["EXPLAIN", "QUERY", "PLAN"] + trigger, true),
    (
      [
        "CREATE", "TEMP", "TRIGGER", "IF", "NOT", "EXISTS", "h", "DELETE", "ON", "t", "BEGIN", "SELECT", "1", ";",
        "END",
      ], true
    ),
    (["CREATE", "VIRTUAL", "TABLE", "v", "USING", "nosuch", "(", "a", ";", "(", "b", ";", ")", ")"], false),
    (["SELECT", "CASE", "WHEN", "1", "THEN", "2", "END"], true),
    (["SELECT", "';'", ",", "\";a\"", "AS", "[;]"], true),
    (["SELECT", "$a(;)"], false),
    (["INSERT", "INTO", "t", "VALUES", "(", "1", ",", "x'00'", ")"], true),
    (["WITH", "trigger", "AS", "(", "SELECT", "1", ")", "SELECT", "*", "FROM", "trigger"], true),
    (["DROP", "TRIGGER", "IF", "EXISTS", "g"], true),
    (["PRAGMA", "user_version"], true),
    ([], true),
  ]

  private static let blanks = [" ", " ", " ", "\n", "\t\u{0B}", "\u{0C}", "/* ; */", "-- ;\n", " /*'*/ ", "\r"]

  private static func written(_ tokens: [String], _ generator: inout SeededGenerator) -> String {
    tokens.map { token in
      var blank = generator.pick(blanks)
      if generator.chance(5) { blank += "\u{FEFF}" }
      return blank + token
    }.joined()
  }

  /// Statements with semicolons between them, and whether `sqlite3_complete` reads them like SQLite. It takes U+FEFF
  /// and a vertical tab for letters.
  static func script(_ generator: inout SeededGenerator) -> (text: String, isKnownToComplete: Bool) {
    let first = statements[0].tokens
    let rest = (0..<Int.random(in: 1...5, using: &generator)).map { _ in generator.pick(statements) }
    let all = [first] + rest.map(\.tokens)
    let text = all.map { written($0, &generator) }.joined(separator: ";")
    return (text, rest.allSatisfy(\.isKnown) && text.utf8.allSatisfy { $0 != 0x0B && $0 != 0xEF })
  }

  private static let others: [[String]] = [
    ["COMMIT"], ["BEGIN"], ["SAVEPOINT", "a"], ["ATTACH", "':memory:'", "AS", "other"],
    ["PRAGMA", "foreign_keys", "=", "0"],
    ["PRAGMA", "main", ".", "page_size", "(", "512", ")"], ["PRAGMA", "user_version", "(", "10", ")"],
    ["PRAGMA", "'table_info'", "(", "t", ")"], ["EXPLAIN", "PRAGMA", "journal_mode"],
    ["CREATE", "TEMPORARY", "VIEW", "w", "AS", "SELECT", "1"],
    ["CREATE", "TABLE", "'temp'", ".", "made", "(", "a", ")"],
    [
      "CREATE", "TABLE", "made", "(", "a", "'DATETIME'", ",", "b", "\"DATE\"", "long", ",", "c", "BOOLEAN", "NOT",
      "NULL", ")",
    ],
    [
      "CREATE", "TABLE", "made", "(", "'a'", "[TIMESTAMP]", ",", "b", "DATE", "(", "3", ")", "CHECK", "(", "a", ",",
      "b", ")", ")",
    ],
    ["ALTER", "TABLE", "t", "ADD", "COLUMN", "c", "'DATE'"],
    ["ALTER", "TABLE", "main", ".", "t", "ADD", "c", "DATETIME"],
    ["WITH", "replace", "AS", "(", "SELECT", "1", ")", "SELECT", "*", "FROM", "replace"],
    ["WITH", "\"select\"", "(", "x", ")", "AS", "(", "SELECT", "1", ")", "DELETE", "FROM", "t"],
    [
      "WITH", "a", "AS", "(", "SELECT", "1", ")", ",", "b", "AS", "(", "SELECT", "2", ")", "INSERT", "INTO", "t",
      "SELECT", "1", ",", "2",
    ],
    ["UPDATE", "t", "SET", "a", "=", "1", "RETURNING", "a"], ["VALUES", "(", "1", ")"], ["DELETE", "FROM", "t"],
  ]

  private static let all = others + statements.map(\.tokens)

  /// One or two statements in which a token may be left out, doubled, or quoted.
  static func mutated(_ generator: inout SeededGenerator) -> String {
    var tokens = generator.pick(all)
    if generator.chance(40) { tokens += [";"] + generator.pick(others) }
    if generator.chance(30), !tokens.isEmpty {
      let place = Int.random(in: 0..<tokens.count, using: &generator)
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: tokens.remove(at: place)
      case 1: tokens.insert(tokens[place], at: place)
      case 2: tokens[place] = "'\(tokens[place])'"
      case 3: tokens[place] = "[\(tokens[place])]"
      default:
        tokens.insert(generator.pick(["\u{FEFF}", ";", "trigger", "temp", "(", ")", "$a(", "'", "/*"]), at: place)
      }
    }
    return written(tokens, &generator)
  }
}
