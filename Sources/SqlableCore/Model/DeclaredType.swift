/// The SQL type that CREATE TABLE states for the column, in place of that of its values.
///
/// ```swift
/// static let price = column("price", Double.self, DeclaredType("DECIMAL(10, 2)"))
/// // "price" DECIMAL(10, 2) NOT NULL
/// ```
///
/// For the tables of other programs. A model needs it only where SQLite treats the two types differently: `VARCHAR(20)`
/// and `TEXT` are the same to plans and `verify`. SQLite converts stored values as the declared type says: `'007'`
/// becomes 7 in a column declared `NUMERIC`. An integer key is the rowid only if it is declared `INTEGER`.
///
/// The type is words, with up to two numbers in parentheses; an empty text states none. Any other text throws `.misuse`
/// when the model is first used, as does a type on a column of a view.
public struct DeclaredType: ColumnOption, Hashable {
  package let sql: String

  public init(_ sql: String) { self.sql = sql }

  public func apply(to options: inout ColumnOptions) { options.set(\.declaredType, to: self, "DeclaredType") }

  /// True if a text is a type, and nothing else of a column's declaration.
  package static func isType(_ text: String) -> Bool {
    if text.isEmpty { return true }
    let parts = text.split(separator: "(", maxSplits: 1, omittingEmptySubsequences: false)
    let words = parts[0].split(separator: " ", omittingEmptySubsequences: false)
    let names = parts.count > 1 && words.last == "" ? words.dropLast() : words[...]
    guard !names.isEmpty, names.allSatisfy({ isWord($0.utf8) }) else { return false }
    guard parts.count > 1 else { return true }
    guard parts[1].last == ")" else { return false }
    let numbers = parts[1].dropLast().split(separator: ",", omittingEmptySubsequences: false)
    return numbers.count <= 2 && numbers.allSatisfy { isNumber($0.utf8) }
  }

  private static func isWord(_ word: Substring.UTF8View) -> Bool {
    guard let first = word.first, !(48...57).contains(first) else { return false }
    let isPlain = word.allSatisfy { (97...122).contains($0 | 0x20) && $0 >= 65 || (48...57).contains($0) || $0 == 95 }
    return isPlain && !endings.contains(Substring(word).lowercased())
  }

  private static func isNumber(_ text: Substring.UTF8View) -> Bool {
    let digits = text.drop { $0 == 32 }.reversed().drop { $0 == 32 }
    return !digits.isEmpty && digits.allSatisfy { (48...57).contains($0) }
  }

  /// The words that begin something else, as SQLite reads a column.
  private static let endings: Set<String> = [
    "constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references", "as", "generated",
    "deferrable", "on",
  ]
}
