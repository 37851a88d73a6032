import Sqlable

/// The declared types that dqlite treats specially: `BOOLEAN`, `DATE`, `DATETIME` and `TIMESTAMP`. In columns of these
/// types, NULL becomes 0 or an empty text, and unexpected values, such as a real, end the process. SQLite gives all
/// four types NUMERIC affinity. `NUMERIC` can therefore replace the four types without any effect on storage or
/// comparison.
enum DeclaredTypes {
  private static let special: Set = ["BOOLEAN", "DATE", "DATETIME", "TIMESTAMP"]
  /// Keywords that can follow a column's type. Any other word after the type belongs to a longer type, which dqlite
  /// does not treat specially.
  private static let afterType: Set = [
    "AS", "CHECK", "COLLATE", "CONSTRAINT", "DEFAULT", "GENERATED", "NOT", "NULL", "PRIMARY", "REFERENCES", "UNIQUE",
  ]

  /// Returns the statement with `NUMERIC` in place of the four declared types; nil if the statement has no such type.
  static func replaced(in sql: String) -> String? {
    let tokens = SQLTokenList(sql)
    let types = names(in: tokens).map { $0 + 1 }.filter { isSpecial(tokens, at: $0) }
    guard !types.isEmpty else { return nil }
    let bytes = Array(sql.utf8)
    var (result, start) = ([UInt8](), 0)
    for type in types.map(tokens.range) {
      result += bytes[start..<type.lowerBound]
      result += Array("NUMERIC".utf8)
      start = type.upperBound
    }
    return String(decoding: result + bytes[start...], as: UTF8.self)
  }

  /// Returns the positions in the statement where declarations of columns and constraints begin, as indexes of tokens.
  private static func names(in tokens: SQLTokenList) -> [Int] {
    let start = (0..<tokens.count).first { !tokens.isSign($0, UInt8(ascii: ";")) } ?? 0
    if tokens.isWord(start, "alter"), tokens.isWord(start + 1, "table") {
      // Find ADD by its position, because a quoted name of the table can also be ADD. The name can follow a schema's
      // name.
      let add = start + (tokens.isSign(start + 3, UInt8(ascii: ".")) ? 5 : 3)
      guard tokens.isWord(add, "add") else { return [] }
      return [tokens.isWord(add + 1, "column") ? add + 2 : add + 1]
    }
    guard tokens.isWord(start, "create"), tokens.isWord(start + 1, "table") else { return [] }
    var (names, depth) = ([Int](), 0)
    for index in start..<tokens.count {
      let isOpening = tokens.isSign(index, UInt8(ascii: "("))
      if isOpening { depth += 1 }
      if depth == 1, isOpening || tokens.isSign(index, UInt8(ascii: ",")) { names.append(index + 1) }
      if tokens.isSign(index, UInt8(ascii: ")")) { depth -= 1 }
    }
    return names
  }

  private static func isSpecial(_ tokens: SQLTokenList, at index: Int) -> Bool {
    guard let name = tokens.name(index), special.contains(name.uppercased()) else { return false }
    // If a type begins with a quoted word, SQLite stores only the content of the quotes as the type.
    guard tokens.isWord(index), index + 1 < tokens.count else { return true }
    return [UInt8(ascii: ","), UInt8(ascii: ")"), UInt8(ascii: ";")].contains { tokens.isSign(index + 1, $0) }
      || afterType.contains(tokens.keyword(index + 1))
  }
}
