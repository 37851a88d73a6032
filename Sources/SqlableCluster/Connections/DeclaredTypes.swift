import Sqlable

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

  /// The places of the names of columns that the statement declares; of constraints, too.
  private static func names(in tokens: SQLTokenList) -> [Int] {
    let start = (0..<tokens.count).first { !tokens.isSign($0, UInt8(ascii: ";")) } ?? 0
    if tokens.isWord(start, "alter"), tokens.isWord(start + 1, "table") {
      // The table's name may be ADD, in quotes or after that of its database.
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
    // Of a type that begins with quotes SQLite keeps only their content.
    guard tokens.isWord(index), index + 1 < tokens.count else { return true }
    return [UInt8(ascii: ","), UInt8(ascii: ")"), UInt8(ascii: ";")].contains { tokens.isSign(index + 1, $0) }
      || afterType.contains(tokens.keyword(index + 1))
  }
}
