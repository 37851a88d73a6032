// What writing to a full-text table has that writing to another has not.

extension StatementWriter {
  /// Refuses what SQLite can't do with a full-text table, or does without a word and wrong.
  func checkFullText(_ query: InsertQuery) throws {
    guard let fullText = table.fullText, !fullText.isExternal else { return }
    try refuseOfFullText("returning", query.rest.value.returned != nil)
    try refuseOfFullText("columns to update on conflict", query.rest.value.upsert != nil)
    try refuseOfFullText("ignoring of conflicts", query.conflict == .ignore)
    guard fullText.content == .none else { return }
    let isInsert = query.form == .row || query.form == .rows
    try refuseOfFullText(StatementWriter.contentlessChange, !isInsert || query.conflict == .replace)
  }

  func checkFullText(changing returned: Returned?, _ conflict: ConflictPolicy?) throws {
    guard let fullText = table.fullText, !fullText.isExternal else { return }
    try refuseOfFullText("returning", returned != nil)
    try refuseOfFullText("ignoring of conflicts", conflict == .ignore)
    try refuseOfFullText(StatementWriter.contentlessChange, fullText.content == .none)
  }

  private static let contentlessChange = "such change of its rows when it does not store their texts"

  private func refuseOfFullText(_ what: String, _ isUsed: Bool) throws {
    if isUsed { throw SqlError.invalidStatement("a full-text table takes no \(what)").at(table: table.name) }
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
