/// A list of the tokens of SQL text, together with the text, for access by position.
package struct SQLTokenList {
  private struct Token {
    let kind: SQLToken.Kind
    let range: Range<Int>
  }

  private let bytes: [UInt8]
  private let tokens: [Token]

  package init(_ sql: String) {
    bytes = Array(sql.utf8)
    tokens = bytes.withUnsafeBufferPointer { bytes in
      var tokens: [Token] = []
      tokens.reserveCapacity(bytes.count / 4)
      for token in SQLTokenizer(bytes) {
        tokens.append(Token(kind: token.kind, range: token.bytes.startIndex..<token.bytes.endIndex))
      }
      return tokens
    }
  }

  package var count: Int { tokens.count }

  package func kind(_ position: Int) -> SQLToken.Kind? {
    tokens.indices.contains(position) ? tokens[position].kind : nil
  }

  package func isQuotedName(_ position: Int) -> Bool { kind(position) == .name }

  package func isWord(_ position: Int) -> Bool { kind(position) == .word }

  /// True if the token is this unquoted word. `word` must be in lower case.
  package func isWord(_ position: Int, _ word: StaticString) -> Bool {
    guard isWord(position) else { return false }
    let range = tokens[position].range
    guard range.count == word.utf8CodeUnitCount else { return false }
    for offset in 0..<range.count where bytes[range.lowerBound + offset].foldedLetter != word.utf8Start[offset] {
      return false
    }
    return true
  }

  package func isSign(_ position: Int, _ sign: UInt8) -> Bool {
    guard kind(position) == .symbol else { return false }
    let range = tokens[position].range
    return range.count == 1 && bytes[range.lowerBound] == sign
  }

  package func keyword(_ position: Int) -> String {
    guard isWord(position) else { return "" }
    return bytes.withUnsafeBufferPointer { $0[tokens[position].range].uppercasedWord }
  }

  package func isIllegal(_ position: Int) -> Bool { kind(position) == .illegal }

  package func range(_ position: Int) -> Range<Int> { tokens[position].range }

  package func text(_ position: Int) -> String { String(decoding: bytes[tokens[position].range], as: UTF8.self) }

  package func text(_ range: Range<Int>) -> String {
    guard !range.isEmpty else { return "" }
    let last = tokens[range.upperBound - 1].range.upperBound
    return String(decoding: bytes[tokens[range.lowerBound].range.lowerBound..<last], as: UTF8.self)
  }

  /// Returns the token's name without quotes; nil if the token can't be a name, such as a number or symbol.
  package func name(_ position: Int) -> String? {
    guard tokens.indices.contains(position) else { return nil }
    return bytes.withUnsafeBufferPointer { bytes in
      SQLToken(kind: tokens[position].kind, bytes: bytes[tokens[position].range]).name
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Returns the tokens for a comparison: separated by spaces, words and names in lower case, names without quotes.
  package func compared(_ range: Range<Int>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(range.count * 6)
    for position in range {
      if !result.isEmpty { result.append(UInt8(ascii: " ")) }
      let text = bytes[tokens[position].range]
      switch tokens[position].kind {
      case .word: result += text.map(\.foldedLetter)
      case .name: result += (name(position) ?? "").utf8.map(\.foldedLetter)
      // SQLite treats `==` like `=`.
      case .symbol where text.elementsEqual("==".utf8): result.append(UInt8(ascii: "="))
      case .text, .number, .blob, .parameter, .symbol, .illegal: result += text
      }
    }
    return result
  }
}
