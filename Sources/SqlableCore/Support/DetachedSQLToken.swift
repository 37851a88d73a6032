/// A token that does not reference the SQL text.
package struct DetachedSQLToken {
  package let kind: SQLToken.Kind
  /// The keyword, name or symbol; empty for a value or parameter.
  package let text: String
  /// The unquoted word in upper case; empty for other tokens.
  package let keyword: String

  init(_ token: SQLToken) {
    kind = token.kind
    keyword = token.keyword
    switch token.kind {
    case .word, .symbol: text = token.text
    case .name: text = String(decoding: token.name ?? [], as: UTF8.self)
    case .text, .number, .blob, .illegal, .parameter: text = ""
    }
  }

  package static func words(of text: String) -> [DetachedSQLToken] {
    var text = text
    return text.withUTF8 { SQLTokenizer($0).map(DetachedSQLToken.init) }
  }

  package func isKeyword(_ word: String) -> Bool { keyword == word }
  package func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }
  package var isName: Bool { kind == .name || kind == .word && !DetachedSQLToken.reserved.contains(keyword) }
  package var isBound: Bool { kind == .parameter || kind.isValue }

  static let reserved = Set(
    words: """
      AND AS BETWEEN CROSS DEFAULT DO ELSE END FROM FULL GLOB GROUP HAVING IN INDEXED INNER INTO IS JOIN LEFT LIKE
      LIMIT NATURAL NOT NULL ON OR ORDER OUTER RETURNING RIGHT SELECT SET THEN UNION UPDATE USING VALUES WHEN WHERE
      WINDOW
      """)
}
