import SqlableCore

/// The CREATE statements of a full-text table and its triggers. If the full-text table is the index of another table,
/// the triggers update the index when that table changes.
struct FullTextDefinition {
  private let table: FullTextTable

  init(_ table: FullTextTable) { self.table = table }

  func createTable() -> String {
    var parts = table.columns.map { column in
      column.name.quotedName + (column.definition.options.isUnindexed ? " UNINDEXED" : "")
    }
    switch table.content {
    case .stored: break
    case .none: parts.append("content = ''")
    case .external(let content, let key):
      parts.append("content = \(content.quotedText)")
      parts.append("content_rowid = \(key.quotedText)")
    }
    parts.append("tokenize = \(table.tokenizer.sql.quotedText)")
    if !table.prefixes.isEmpty {
      parts.append("prefix = '\(table.prefixes.map(String.init).joined(separator: " "))'")
    }
    return "CREATE VIRTUAL TABLE \(table.quotedName) USING fts5(\(parts.joined(separator: ", ")))"
  }

  func triggers() -> [(name: String, sql: String)] {
    guard case .external(let content, let keyName) = table.content else { return [] }
    let names = table.columns.map(\.name.quotedName)
    let (key, tableName) = (keyName.quotedName, table.quotedName)
    func values(of row: String) -> String { ([key] + names).map { "\(row).\($0)" }.joined(separator: ", ") }
    let list = (["\"rowid\""] + names).joined(separator: ", ")
    let add = "INSERT INTO \(tableName) (\(list)) VALUES (\(values(of: "new")));"
    // FTS5 does not store the text, so the delete must pass the old values.
    let remove = "INSERT INTO \(tableName) (\(tableName), \(list)) VALUES ('delete', \(values(of: "old")));"
    // Compare byte by byte, because texts that a collation treats as equal can contain different words.
    let differs = ([key] + names).map { "old.\($0) COLLATE BINARY IS NOT new.\($0)" }.joined(separator: " OR ")
    let parts = [
      ("insert", "INSERT", "", add), ("delete", "DELETE", "", remove),
      ("update", "UPDATE", " WHEN \(differs)", "\(remove) \(add)"),
    ]
    return parts.map { suffix, event, condition, body in
      let name = "\(table.name)_\(suffix)"
      let head = "CREATE TRIGGER \(name.quotedName) AFTER \(event) ON \(content.quotedName)"
      return (name, "\(head)\(condition) BEGIN \(body) END")
    }
  }
}
