/// The SQL type that CREATE TABLE declares for the column instead of the default type.
///
/// ```swift
/// static let price = column("price", Double.self, DeclaredType("DECIMAL(10, 2)"))
/// // "price" DECIMAL(10, 2) NOT NULL
/// ```
///
/// Use this option for tables that other programs created. A model needs the option only if SQLite treats the declared
/// type and the default type differently. Plans and `verify` treat `VARCHAR(20)` and `TEXT` as equal.
///
/// SQLite converts stored values to the declared type: `'007'` becomes 7 in a column declared `NUMERIC`. An integer key
/// is the rowid only if the declared type is `INTEGER`.
///
/// The text consists of words, with up to two numbers in parentheses. An empty text declares no type. Every statement
/// of the model throws `.misuse` for any other text, and for a declared type in a view.
public struct DeclaredType: ColumnOption, AppliedOption, Hashable {
  package let sql: String

  public init(_ sql: String) { self.sql = sql }

  package func apply(to options: inout ColumnOptions) { options.set(\.declaredType, to: self, "DeclaredType") }

  /// True if a text consists only of a type, without other parts of a column's declaration.
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

  /// The keywords before which a column's declared type ends, by SQLite's grammar.
  private static let endings = Set(
    words: """
      constraint primary not null unique check default collate references as generated deferrable on
      """)
}
