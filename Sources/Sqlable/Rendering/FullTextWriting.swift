// What writing to a full-text table has that writing to another has not.

extension StatementWriter {
  /// Refuses what SQLite can't do with a full-text table, or does without a word and wrong.
  func checkFullText(_ query: Query) throws {
    guard let fullText = table.fullText, !fullText.isExternal else { return }
    func refuse(_ what: String, _ isUsed: Bool) throws {
      if isUsed { throw SqlError.invalidStatement("a full-text table takes no \(what)").at(table: table.name) }
    }
    try refuse("returning", query.returns)
    try refuse("columns to update on conflict", query.upsert != nil)
    try refuse("ignoring of conflicts", query.conflict == .ignore)
    guard fullText.content == .none, query.kind.changesRows else { return }
    let isInsert = query.kind == .insert || query.kind == .insertMany
    try refuse("such change of its rows when it does not store their texts", !isInsert || query.conflict == .replace)
  }

  /// Writes the `?` of a column of a new row.
  func writePlace(of position: Int, at index: Int) {
    guard let fullText = table.fullText, fullText.content == .none, table.key.contains(position) else {
      return sql.append("?")
    }
    // Such a table takes a second row of the same id, and finds neither of them right.
    let rows = "\(table.name)_docsize".quotedName
    let value = "?\(index + 1)"
    sql.append(text: "CASE WHEN EXISTS (SELECT 1 FROM \(rows) WHERE \"id\" = \(value)) THEN '' ELSE \(value) END")
  }

  /// Throws when a row that replaces another would forget what the struct leaves out: a full-text table has no upsert.
  func checkReplaces(_ positions: [Int]) throws {
    let others = table.columns.indices.filter { !positions.contains($0) && !table.key.contains($0) }
    guard let column = others.first.map({ table.columns[$0].name }) else { return }
    throw SqlError.invalidStatement("a save to a full-text table writes all columns; the struct leaves out \(column)")
      .at(table: table.name, column: column)
  }
}
