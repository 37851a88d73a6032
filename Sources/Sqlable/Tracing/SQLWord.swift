/// A token, detached from its text.
struct SQLWord {
  let kind: SQLToken.Kind
  /// The keyword, name or symbol; empty for a value or parameter.
  let text: String
  /// The bare word in upper case; empty for anything else.
  let keyword: String

  init(_ token: SQLToken) {
    kind = token.kind
    switch token.kind {
    case .word: (text, keyword) = (token.text, token.text.uppercased())
    case .name: (text, keyword) = (token.unquoted, "")
    case .symbol: (text, keyword) = (token.text, "")
    case .value, .parameter: (text, keyword) = ("", "")
    }
  }

  static func words(of text: String) -> [SQLWord] {
    var text = text
    return text.withUTF8 { SQLTokens($0).map(SQLWord.init) }
  }

  func isKeyword(_ word: String) -> Bool { keyword == word }
  func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }
  var isName: Bool { kind == .name || kind == .word && !SQLWord.reserved.contains(keyword) }
  var isBound: Bool { kind == .parameter || kind == .value }

  /// Words that end a name's place.
  static let reserved: Set<String> = [
    "AND", "AS", "BETWEEN", "CROSS", "DEFAULT", "DO", "ELSE", "END", "FROM", "FULL", "GLOB", "GROUP", "HAVING", "IN",
    "INDEXED", "INNER", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "NATURAL", "NOT", "NULL", "ON", "OR", "ORDER",
    "OUTER", "RETURNING", "RIGHT", "SELECT", "SET", "THEN", "UNION", "UPDATE", "USING", "VALUES", "WHEN", "WHERE",
    "WINDOW",
  ]
}

extension String {
  /// The statements of SQL text, without the semicolons between them. Those in the body of a trigger are its own: it
  /// ends with `; END`.
  var statementTexts: [String] {
    var text = self
    return text.withUTF8 { bytes in
      var statements: [String] = []
      var words: [SQLWord] = []
      var (start, end) = (0, 0)
      func finish() {
        if !words.isEmpty { statements.append(String(decoding: bytes[start..<end], as: UTF8.self)) }
        words = []
      }
      for token in SQLTokens(bytes) {
        let isOfTrigger =
          words.first?.isKeyword("CREATE") == true && words.prefix(3).contains { $0.isKeyword("TRIGGER") }
        let isEnded = words.last?.isKeyword("END") == true && words.dropLast().last?.isSymbol(";") == true
        if token.isSymbol(";"), !isOfTrigger || isEnded {
          finish()
          continue
        }
        if words.isEmpty { start = token.bytes.startIndex }
        end = token.bytes.endIndex
        words.append(SQLWord(token))
      }
      finish()
      return statements
    }
  }
}
