import Sqlable

extension FullTextArguments {
  /// The tokenizer as an argument of a model's declaration; nil for the default tokenizer of models.
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

  /// True if the FTS5 table `name` equals the full-text index that a model of `table` can declare.
  func isIndex(named name: String, of table: DatabaseSchema.Table, _ source: ReadTable) -> Bool {
    guard let content, otherOptions.isEmpty, unindexed.isEmpty, SchemaText(content.quotedName).isName(table.name),
      source.keyIsRowid, let key = source.columns.first(where: { $0.row.key > 0 }),
      SchemaText(contentKey.quotedName).isName(key.name)
    else { return false }
    return columns.allSatisfy { name in
      source.columns.contains { $0.name.utf8.elementsEqual(name.utf8) && $0.type.sqlName == "TEXT" }
    } && table.triggers.count { FullTextArguments.isTrigger($0.name, of: name) } == 3
  }

  static func isTrigger(_ trigger: String, of name: String) -> Bool {
    ["insert", "delete", "update"].contains { SchemaText(trigger.quotedName).isName("\(name)_\($0)") }
  }

  var options: [String] {
    var options = tokenizerLiteral.map { ["tokenizer: \($0)"] } ?? []
    if !prefixes.isEmpty { options.append("prefixes: [\(prefixes.map(String.init).joined(separator: ", "))]") }
    return options
  }
}
