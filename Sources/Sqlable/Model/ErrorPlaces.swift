extension SqlError {
  /// Returns the error with the model's table and column filled in.
  ///
  /// SQLite names them only in its message and without quotes, so the message of a name with a dot or comma is
  /// ambiguous and is compared with the model's columns. For a CHECK, SQLite names the condition; for a foreign key,
  /// nothing.
  func placed(in info: TableInfo) -> SqlError {
    var error = self
    switch kind {
    case _ where isTakenRowid(in: info):
      error.kind = .constraint(.primaryKey)
      error.message = "full-text table \(info.name) already has a row with this rowid"
      (error.table, error.column) = (info.name, FullTextTable.rowid)
    case .constraint(let constraint):
      switch constraint {
      case .unique, .primaryKey, .notNull, .rowId:
        guard let place = message.suffix(after: "constraint failed: \(info.name).") else { return self }
        let next = ", \(info.name)."
        let columns = info.columns.map(\.name).filter { place.isExactly($0) || place.begins(with: $0 + next) }
        guard let column = columns.max(by: { $0.utf8.count < $1.utf8.count }) else { return self }
        (error.table, error.column) = (info.name, column)
      case .dataType:
        guard let column = info.columns.first(where: { message.ends(with: " column \(info.name).\($0.name)") }) else {
          return at(table: info.name)
        }
        (error.table, error.column) = (info.name, column.name)
      case .check:
        guard let condition = message.suffix(after: "constraint failed: ") else { return self }
        func isSame(_ check: Check) -> Bool {
          // SQLite names the constraint, or else its condition.
          (check.clauses.name ?? check.sql).utf8[...].trimmed.elementsEqual(condition.utf8[...].trimmed)
        }
        if let column = info.columns.first(where: { $0.definition.options.checks.contains(where: isSame) }) {
          (error.table, error.column) = (info.name, column.name)
        } else if info.constraints.checks.contains(where: isSame) {
          error.table = info.name
        }
      case .foreignKey, .trigger, .other: return at(table: info.name)
      }
    case .schema(.missingColumn(let name)):
      error.table = table ?? info.name
      if name.begins(with: "excluded."), let column = name.suffix(after: ".") {
        error.kind = .schema(.missingColumn(column))
        error.column = column
      }
    default: return self
    }
    return error
  }

  /// Whether this is the code by which FTS5 reports an insert with an existing rowid. Without stored text, see
  /// `FullTextWriting.swift`.
  private func isTakenRowid(in info: TableInfo) -> Bool {
    switch info.fullText?.content {
    // SQLITE_CONSTRAINT: the rowid is the table's only constraint.
    case .stored: code == 19
    // SQLITE_MISMATCH
    case .none?: code == 20
    case .external, nil: false
    }
  }
}
