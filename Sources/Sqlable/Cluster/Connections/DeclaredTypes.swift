#if Cluster
/// The types of columns to which dqlite gives a meaning of its own.
///
/// In a column that is declared as `BOOLEAN`, `DATE`, `DATETIME` or `TIMESTAMP` it reports NULL as 0 or an empty text,
/// and ends its process for values that it does not expect there, such as a real. To SQLite all four are `NUMERIC`, by
/// which they are replaced: nothing else is stored or compared then.
enum DeclaredTypes {
  private static let special: Set = ["BOOLEAN", "DATE", "DATETIME", "TIMESTAMP"]
  /// Words after the type of a column; after any other one the type is a longer one, which means nothing to dqlite.
  private static let afterType: Set = [
    "AS", "CHECK", "COLLATE", "CONSTRAINT", "DEFAULT", "GENERATED", "NOT", "NULL", "PRIMARY", "REFERENCES", "UNIQUE",
  ]

  /// A statement that declares columns, with `NUMERIC` instead of these types; nil if it has none of them.
  static func replaced(in sql: String) -> String? {
    var text = sql
    return text.withUTF8 { bytes in
      let tokens = Array(SQLTokens(bytes).drop { $0.isSymbol(";") })
      let places = names(in: tokens).filter { isSpecial(tokens, at: $0 + 1) }
      guard !places.isEmpty else { return nil }
      var (result, start) = ([UInt8](), 0)
      for type in places.map({ tokens[$0 + 1].bytes }) {
        result += bytes[start..<type.startIndex]
        result += Array("NUMERIC".utf8)
        start = type.endIndex
      }
      return String(decoding: result + bytes[start...], as: UTF8.self)
    }
  }

  /// The places of the names of columns that the statement declares; of constraints, too.
  private static func names(in tokens: [SQLToken]) -> [Int] {
    func isWord(_ place: Int, _ word: String) -> Bool {
      tokens.indices.contains(place) && tokens[place].kind == .word && tokens[place].text.uppercased() == word
    }
    if isWord(0, "ALTER"), isWord(1, "TABLE"), let add = tokens.indices.first(where: { isWord($0, "ADD") }) {
      return [isWord(add + 1, "COLUMN") ? add + 2 : add + 1]
    }
    guard isWord(0, "CREATE"), isWord(1, "TABLE") else { return [] }
    var (names, depth) = ([Int](), 0)
    for (place, token) in tokens.enumerated() where token.kind == .symbol {
      if token.isSymbol("(") { depth += 1 }
      if depth == 1, token.isSymbol("(") || token.isSymbol(",") { names.append(place + 1) }
      if token.isSymbol(")") { depth -= 1 }
    }
    return names
  }

  private static func isSpecial(_ tokens: [SQLToken], at place: Int) -> Bool {
    guard tokens.indices.contains(place), [.word, .name].contains(tokens[place].kind),
      special.contains(tokens[place].unquoted.uppercased())
    else { return false }
    guard tokens.indices.contains(place + 1) else { return true }
    let next = tokens[place + 1]
    return [",", ")", ";"].contains(where: next.isSymbol)
      || next.kind == .word && afterType.contains(next.text.uppercased())
  }
}
#endif
