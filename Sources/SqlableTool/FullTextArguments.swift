import Sqlable

/// What the text of a virtual table says of FTS5.
struct FullTextArguments {
  private(set) var columns: [String] = []
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

  /// Whether it is an index that a model of the table declares, with its triggers.
  ///
  /// - Parameter name: The name of the full-text table.
  func isIndex(named name: String, of table: DatabaseSchema.Table, _ source: ReadTable) -> Bool {
    guard let content, others.isEmpty, unindexed.isEmpty, SchemaText(content.quotedName).isName(table.name),
      source.keyIsRowid, let key = source.columns.first(where: { $0.row.key > 0 }),
      SchemaText(contentKey.quotedName).isName(key.name)
    else { return false }
    return columns.allSatisfy { name in
      source.columns.contains { $0.name.utf8.elementsEqual(name.utf8) && $0.type.sqlName == "TEXT" }
    } && table.triggers.count { FullTextArguments.isTrigger($0.name, of: name) } == 3
  }

  /// Whether a trigger has the name of one that keeps the index of a name up to date.
  static func isTrigger(_ trigger: String, of name: String) -> Bool {
    ["insert", "delete", "update"].contains { SchemaText(trigger.quotedName).isName("\(name)_\($0)") }
  }

  /// The arguments of `FullTextIndex` and `.fullText` that both have.
  var options: [String] {
    var options = tokenizerLiteral.map { ["tokenizer: \($0)"] } ?? []
    if !prefixes.isEmpty { options.append("prefixes: [\(prefixes.map(String.init).joined(separator: ", "))]") }
    return options
  }
}
