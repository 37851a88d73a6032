import SqlableCore

package struct FullTextArguments {
  package private(set) var columns: [String] = []
  package private(set) var unindexed: Set<String> = []
  /// The tokenizer and its arguments; nil for the default tokenizer.
  package private(set) var tokenizer: [String]?
  package private(set) var prefixes: [Int] = []
  /// The external content table; empty for a contentless table, nil for a table that stores its own text.
  package private(set) var content: String?
  package private(set) var contentKey = "rowid"
  /// The options that a model can't declare, such as `detail = none`.
  package private(set) var otherOptions: [String] = []

  /// - Parameter module: `fts5(title, body UNINDEXED, tokenize = 'porter')`; the result is nil for other modules.
  package init?(_ module: SchemaText?) {
    guard let module else { return nil }
    let tokens = SQLTokenList(module.text)
    guard tokens.isWord(0, "fts5") else { return nil }
    var start = 2
    for index in 2..<max(tokens.count, 2) where tokens.isSign(index, UInt8(ascii: ",")) || index == tokens.count - 1 {
      add(tokens, start..<index)
      start = index + 1
    }
  }

  private mutating func add(_ tokens: SQLTokenList, _ range: Range<Int>) {
    guard let first = range.first, let name = tokens.name(first) else { return }
    guard range.count > 1, tokens.isSign(first + 1, UInt8(ascii: "=")) else {
      columns.append(name)
      if range.count > 1, tokens.isWord(first + 1, "unindexed") { unindexed.insert(name) }
      return
    }
    let value = range.count > 2 ? tokens.name(first + 2) ?? tokens.text(first + 2) : ""
    switch name.lowercased() {
    case "content": content = value
    case "content_rowid": contentKey = value
    case "tokenize": tokenizer = FullTextArguments.words(of: value)
    case "prefix": prefixes = value.split { !("0"..."9").contains($0) }.compactMap { Int($0) }
    default: otherOptions.append("\(name) = \(value)")
    }
  }

  private static func words(of text: String) -> [String] {
    let tokens = SQLTokenList(text)
    return (0..<tokens.count).map { tokens.name($0) ?? tokens.text($0) }
  }
}
