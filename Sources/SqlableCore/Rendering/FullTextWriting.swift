extension StatementWriter {
  /// Throws for changes to a full-text table that SQLite can't make, or that SQLite makes incorrectly without an error.
  func checkFullText(_ query: InsertQuery) throws {
    guard let fullText = table.fullText, !fullText.isExternal else { return }
    try refuseForFullText("RETURNING", query.rest.value.returned != nil)
    try refuseForFullText("upserts", !query.rest.value.upserts.isEmpty)
    try refuseForFullText("ignoring conflicts", query.conflict == .ignore)
    guard fullText.content == .none else { return }
    let isInsert = query.form == .row || query.form == .rows
    try refuseForFullText(StatementWriter.contentlessChange, !isInsert || query.conflict == .replace)
  }

  func checkFullText(changing returned: Returned?, _ conflict: ConflictPolicy?) throws {
    guard let fullText = table.fullText, !fullText.isExternal else { return }
    try refuseForFullText("RETURNING", returned != nil)
    try refuseForFullText("ignoring conflicts", conflict == .ignore)
    try refuseForFullText(StatementWriter.contentlessChange, fullText.content == .none)
  }

  private static let contentlessChange =
    "changes except plain inserts of structs, because the table does not store the text"

  private func refuseForFullText(_ feature: String, _ isUsed: Bool) throws {
    if isUsed { throw SqlError.invalidStatement("a full-text table does not support \(feature)").at(table: table.name) }
  }

  func writePlaceholder(of position: Int, at index: Int) {
    guard let fullText = table.fullText, fullText.content == .none, table.key.contains(position) else {
      return sql.append("?")
    }
    // FTS5 would accept a second row with an existing rowid, and misread both rows. If the rowid exists, bind '' in its
    // place: SQLite then returns SQLITE_MISMATCH.
    let rows = "\(table.name)_docsize".quotedName(inDatabase: table.database)
    let value = "?\(index + 1)"
    sql.append(text: "CASE WHEN EXISTS (SELECT 1 FROM \(rows) WHERE \"id\" = \(value)) THEN '' ELSE \(value) END")
  }

  /// Throws if the struct leaves out a column. Full-text tables do not support upserts, so a save replaces the whole
  /// row, and the value of a column that is left out would be lost.
  func checkReplaces(_ positions: [Int]) throws {
    let unwritten = table.columns.indices.filter { !positions.contains($0) && !table.key.contains($0) }
    guard let column = unwritten.first.map({ table.columns[$0].name }) else { return }
    throw SqlError.invalidStatement("a save to a full-text table needs all columns; the struct leaves out \(column)")
      .at(table: table.name, column: column)
  }
}
