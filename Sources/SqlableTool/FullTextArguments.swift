import Sqlable

/// What the text of a virtual table says of FTS5.
struct FullTextArguments {
  /// The columns that are stored, but not searched.
  private(set) var unindexed: Set<String> = []
  /// The tokenizer with its arguments; nil for the default.
  private(set) var tokenizer: [String]?
  private(set) var prefixes: [Int] = []
  /// The table that has the text; empty for a table without text, nil for one that has it itself.
  private(set) var content: String?
  private(set) var contentKey = "rowid"
  /// What no model declares.
  private(set) var others: [String] = []

  /// - Parameter module: `fts5(title, body UNINDEXED, tokenize = 'porter')`; nil is returned for another module.
  init?(_ module: SchemaText?) {
    guard let module else { return nil }
    let tokens = SqlTokens(module.text)
    guard tokens.isWord(0, "fts5") else { return nil }
    var start = 2
    for place in 2..<max(tokens.count, 2) where tokens.isSign(place, UInt8(ascii: ",")) || place == tokens.count - 1 {
      add(tokens, start..<place)
      start = place + 1
    }
  }

  private mutating func add(_ tokens: SqlTokens, _ range: Range<Int>) {
    guard let first = range.first, let name = tokens.name(first) else { return }
    guard range.count > 1 else { return }
    guard tokens.isSign(first + 1, UInt8(ascii: "=")) else {
      if tokens.isWord(first + 1, "unindexed") { unindexed.insert(name) }
      return
    }
    let value = range.count > 2 ? tokens.name(first + 2) ?? tokens.text(first + 2) : ""
    switch name.lowercased() {
    case "content": content = value
    case "content_rowid": contentKey = value
    case "tokenize": tokenizer = FullTextArguments.words(of: value)
    case "prefix": prefixes = value.split { !("0"..."9").contains($0) }.compactMap { Int($0) }
    default: others.append("\(name) = \(value)")
    }
  }

  private static func words(of text: String) -> [String] {
    let tokens = SqlTokens(text)
    return (0..<tokens.count).map { tokens.name($0) ?? tokens.text($0) }
  }

  /// The tokenizer as a model declares it; nil for the default of models.
  private var tokenizerLiteral: String? {
    switch tokenizer ?? ["unicode61"] {
    case ["unicode61", "remove_diacritics", "2"]: nil
    case ["ascii"]: ".ascii"
    case ["porter", "unicode61", "remove_diacritics", "2"]: ".porter"
    case ["trigram", "case_sensitive", "0"]: ".trigram"
    case ["trigram", "case_sensitive", "1"]: ".trigram(caseSensitive: true)"
    case let words: ".named(\(words.map(\.swiftLiteral).joined(separator: ", ")))"
    }
  }

  /// The arguments of `FullTextIndex` and `.fullText` that both have.
  var options: [String] {
    var options = tokenizerLiteral.map { ["tokenizer: \($0)"] } ?? []
    if !prefixes.isEmpty { options.append("prefixes: [\(prefixes.map(String.init).joined(separator: ", "))]") }
    return options
  }
}
